package main

import (
	"cmp"
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
	c.Flags().StringArrayVar(&f.cluster, "cluster", nil, "cluster dump: a YAML or JSON file, a directory of them, or - for standard input; may be repeated")
	c.Flags().StringVar(&f.config, "config", "", "configuration file (AutoscalerConfiguration)")
	c.Flags().StringVar(&f.at, "at", "", "decision time, RFC3339; back-offs, dates and ages are reckoned from it (default now)")
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
	q := &question{}
	var err error
	if q.now, err = f.time(); err != nil {
		return nil, err
	}
	began := time.Now()
	if f.example {
		q.snap, q.configuration, err = exampleInput()
		return q, err
	}
	if q.configuration, err = f.loadConfig(s); err != nil {
		return nil, err
	}
	if q.snap, err = readCluster(f.cluster, s.in); err != nil {
		return nil, err
	}
	for _, w := range q.snap.Warnings() {
		fmt.Fprintf(s.err, "warning: %s\n", w)
	}
	if f.verbose {
		fmt.Fprintf(s.err, "read %d nodes and %d pods in %s\n", len(q.snap.Nodes()), len(q.snap.Pods()), time.Since(began).Round(time.Millisecond))
	}
	return q, nil
}

func (f *inputFlags) check(c *cobra.Command) error {
	switch {
	case f.example && (len(f.cluster) > 0 || f.config != ""):
		return fmt.Errorf("--example stands for --cluster and --config; give one or the other")
	case !f.example && len(f.cluster) == 0:
		return fmt.Errorf("--cluster is needed: a dump such as `kubectl get nodes,pods -A -o yaml` writes (or try --example)\nRun '%s --help' for the flags", c.CommandPath())
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
		fmt.Fprintln(s.err, "warning: no --config: there are no node groups, so nothing can be bought")
		return c, nil
	}
	if f.config == "-" && slices.Contains(f.cluster, "-") {
		return nil, fmt.Errorf("--config and --cluster cannot both be standard input")
	}
	data, err := readFile(f.config, s.in)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return configv1alpha1.Load(data, cmp.Or(f.config, "-"))
}

// readCluster reads files, directories and standard input into one snapshot.
func readCluster(paths []string, in io.Reader) (*snapshot.Snapshot, error) {
	b := snapshot.NewBuilder()
	for _, path := range paths {
		if path == "-" {
			if err := b.Read(in, "standard input"); err != nil {
				return nil, err
			}
			continue
		}
		files, err := manifests(path)
		if err != nil {
			return nil, fmt.Errorf("--cluster: %w", err)
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
		return fmt.Errorf("--cluster: %w", err)
	}
	defer f.Close()
	return b.Read(f, file)
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
