package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
	"tidegate.io/autoscaler/snapshot"
)

// inputFlags are what every offline decision reads.
type inputFlags struct {
	cluster []string
	config  string
	at      string
	example bool
	verbose bool
}

func (f *inputFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.cluster, "cluster", nil, "cluster dump: `PATH` of a YAML or JSON file or of a directory of them, or - for standard input; may be repeated")
	c.Flags().StringVar(&f.config, "config", "", "configuration `FILE` (AutoscalerConfiguration), or - for standard input")
	c.Flags().StringVar(&f.at, "at", "", "decision `TIME`, RFC3339; back-offs, dates and ages are reckoned from it (default now)")
	c.Flags().BoolVar(&f.example, "example", false, "use the built-in example instead of --cluster and --config")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is read and how long it takes")
}

// question is the input of a decision.
type question struct {
	snap          *snapshot.Snapshot
	configuration *configv1alpha1.AutoscalerConfiguration
	now           time.Time
}

// load reads everything; warnings about the input go to standard error.
func (f *inputFlags) load(c *cobra.Command, s streams) (*question, error) {
	if err := f.check(c); err != nil {
		return nil, err
	}
	now, err := f.time()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	// Standard input may block for ever: an interrupt must not wait for it.
	q, err := await(c.Context(), s, "reading the input", func() (*question, error) { return f.read(s, now) })
	if err != nil {
		return nil, err
	}
	f.warn(q, s)
	if f.verbose {
		fmt.Fprintf(s.err, "read %s and %s in %s\n", plural(len(q.snap.Nodes()), "node"), plural(len(q.snap.Pods()), "pod"), time.Since(began).Round(time.Millisecond))
	}
	return q, nil
}

func (f *inputFlags) read(s streams, now time.Time) (*question, error) {
	q := &question{now: now}
	var err error
	if f.example {
		q.snap, q.configuration, err = exampleInput()
		return q, err
	}
	if q.configuration, err = f.loadConfig(s); err != nil {
		return nil, err
	}
	q.snap, err = readCluster(f.cluster, s.in)
	return q, err
}

// warn says what is doubtful about the input.
func (f *inputFlags) warn(q *question, s streams) {
	for _, w := range q.snap.Warnings() {
		fmt.Fprintf(s.err, "warning: %s\n", clean(w.String()))
	}
	if len(q.snap.Nodes()) == 0 && len(q.snap.Pods()) == 0 {
		fmt.Fprintln(s.err, "warning: --cluster holds no nodes and no pods")
	}
	if f.config == "" && !f.example {
		fmt.Fprintln(s.err, "warning: no --config: there are no node groups, so nothing can be bought")
	}
}

func (f *inputFlags) check(c *cobra.Command) error {
	switch {
	case f.example && (len(f.cluster) > 0 || f.config != ""):
		return fmt.Errorf("--example stands for --cluster and --config; give one or the other")
	case !f.example && len(f.cluster) == 0:
		return fmt.Errorf("--cluster is needed: a dump such as `kubectl get nodes,pods -A -o yaml` writes (or try --example)\nRun '%s --help' for the flags", c.CommandPath())
	}
	readers := 0
	for _, path := range append([]string{f.config}, f.cluster...) {
		if path == "-" {
			readers++
		}
	}
	if readers > 1 {
		return fmt.Errorf("standard input (-) can be read once, not %d times, by --cluster and --config", readers)
	}
	return nil
}

func (f *inputFlags) time() (time.Time, error) {
	if f.at == "" {
		if f.example {
			return exampleTime(), nil
		}
		return time.Now().UTC().Truncate(time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, f.at)
	if err != nil {
		return time.Time{}, fmt.Errorf("--at: %q is not an RFC3339 time such as 2026-12-01T12:00:00Z", f.at)
	}
	return at.UTC(), nil
}

func (f *inputFlags) loadConfig(s streams) (*configv1alpha1.AutoscalerConfiguration, error) {
	if f.config == "" {
		c := &configv1alpha1.AutoscalerConfiguration{}
		configv1alpha1.SetDefaults(c)
		return c, nil
	}
	data, err := readFile(f.config, s.in)
	if err != nil {
		return nil, fileError("--config", err)
	}
	return configv1alpha1.Load(data, sourceName(f.config))
}

// decided tells bad input from a bug in what a decision says. What is wrong with the
// configuration gets the file's name in front, since the decision does not know it.
func (f *inputFlags) decided(err error) error {
	if err == nil || errors.Is(err, errInterrupted) {
		return err
	}
	if _, ok := errors.AsType[internalError](err); ok {
		return err
	}
	input, ok := errors.AsType[*plan.InputError](err)
	if !ok {
		return internalError{err}
	}
	if _, ok := errors.AsType[*plan.SubjectError](err); ok {
		return err
	}
	// A list of problems has a line for each.
	problems := []error{input.Err}
	if all, ok := input.Err.(interface{ Errors() []error }); ok {
		problems = all.Errors()
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, cmp.Or(sourceName(f.config), "the built-in configuration")+": "+p.Error())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// sourceName is what messages call a path.
func sourceName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// readCluster reads files, directories and standard input into one snapshot.
func readCluster(paths []string, in io.Reader) (*snapshot.Snapshot, error) {
	b := snapshot.NewBuilder()
	for _, path := range paths {
		if path == "-" {
			if err := b.Read(in, sourceName(path)); err != nil {
				return nil, err
			}
			continue
		}
		files, err := manifests(path)
		if err != nil {
			return nil, fileError("--cluster", err)
		}
		for _, file := range files {
			if err := readInto(b, file); err != nil {
				return nil, err
			}
		}
	}
	return b.Build()
}

func readInto(b *snapshot.Builder, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fileError("--cluster", err)
	}
	return errors.Join(b.Read(f, file), f.Close())
}

// manifests are the YAML and JSON files below a directory in name order, or the file
// itself whatever its name.
func manifests(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	var out []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, strings.ToLower(filepath.Ext(p))) {
			out = append(out, p)
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s holds no .yaml or .json file", path)
	}
	return out, err
}
