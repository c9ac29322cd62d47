package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/trace/openb"
)

func newImport(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "import",
		Short:   "Turn a public trace into a cluster dump and a configuration",
		Example: `  tidegate import openb --pods openb_pod_list_default.csv --nodes openb_node_list_all_node.csv -o openb`,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportOpenb(s))
	return c
}

// openbFlags are the flags of `import openb`.
type openbFlags struct {
	pods, nodes, prices, dir, gpu, devices string
	at                                     int64
}

func newImportOpenb(s streams) *cobra.Command {
	var f openbFlags
	c := &cobra.Command{
		Use:   "openb --pods CSV --nodes CSV -o DIR",
		Short: "Import Alibaba's cluster-trace-gpu-v2023 (openb)",
		Long: `openb reads the pod and node lists of Alibaba's cluster-trace-gpu-v2023 and writes
DIR/cluster.json and DIR/config.yaml. Each machine shape of the trace becomes a node group.

Without --at all pods of the trace are pending at once and no node exists. With --at
SECONDS the pods that live at that second of the trace are pending or run on the fleet.

With --devices dra GPUs are devices of the driver gpu.nvidia.com and pods claim them.
--gpu share then lets pods share a device by thousandths, with consumable capacity.

The trace has no prices. The defaults are made of a price for each vCPU, GiB and GPU model;
--prices FILE (YAML: GPU model or node group to dollars an hour) overrides them.`,
		Example: `  tidegate import openb --pods openb_pod_list_default.csv --nodes openb_node_list_all_node.csv -o openb
  tidegate plan --cluster openb/cluster.json --config openb/config.yaml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.pods == "" || f.nodes == "" || f.dir == "" {
				return fmt.Errorf("--pods, --nodes and -o are needed\nRun '%s --help' for the flags", c.CommandPath())
			}
			var at *int64
			if c.Flags().Changed("at") {
				at = &f.at
			}
			return importOpenb(c.Context(), s, f, at)
		},
	}
	c.Flags().StringVar(&f.pods, "pods", "", "pod list of the trace, a CSV `FILE` or - for standard input")
	c.Flags().StringVar(&f.nodes, "nodes", "", "node list of the trace, a CSV `FILE` or - for standard input")
	c.Flags().StringVar(&f.prices, "prices", "", "YAML `FILE`: GPU model or node group to dollars an hour")
	c.Flags().StringVar(&f.gpu, "gpu", string(openb.Whole), "`MODE` of fractions of a GPU: whole (round up to one) or share (tenths with a plugin, exact with dra)")
	c.Flags().StringVar(&f.devices, "devices", string(configv1alpha1.DevicesPlugin), "`MODE` of asking for GPUs: plugin (nvidia.com/gpu) or dra (ResourceClaims and ResourceSlices)")
	c.Flags().Int64Var(&f.at, "at", 0, "`SECOND` of the trace; absent: everything pending at once")
	c.Flags().StringVarP(&f.dir, "output", "o", "", "`DIR` to write cluster.json and config.yaml to")
	return c
}

func importOpenb(ctx context.Context, s streams, f openbFlags, at *int64) error {
	if f.pods == "-" && f.nodes == "-" {
		return fmt.Errorf("standard input (-) can be read once, not by both --pods and --nodes")
	}
	opts := openb.Options{At: at, GPU: openb.Mode(f.gpu), Devices: configv1alpha1.Devices(f.devices)}
	r, err := await(ctx, s, "reading the trace", func() (*openb.Result, error) { return readOpenb(s, f, opts) })
	if err != nil {
		return err
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(s.err, "warning: %s\n", clean(w))
	}
	if err := writeImport(f.dir, r); err != nil {
		return err
	}
	when := ""
	if at != nil {
		when = " --at " + moment(openb.DecisionTime(opts))
	}
	_, err = fmt.Fprintf(s.out, "Wrote %s (%d pending, %d running; %d ask for a part of a GPU) and %s of %s.\nNext: tidegate plan --cluster %s --config %s%s\n",
		plural(len(r.Pods), "pod"), r.Counts.Pending, r.Counts.Running, r.Counts.Fractional, plural(r.Counts.Machines, "machine"), plural(r.Counts.NodeGroups, "shape"),
		quote(filepath.Join(f.dir, clusterFile)), quote(filepath.Join(f.dir, configFile)), when)
	if err != nil {
		return internalError{fmt.Errorf("write the result: %w", err)}
	}
	return nil
}

// readOpenb reads the trace and the prices.
func readOpenb(s streams, f openbFlags, opts openb.Options) (*openb.Result, error) {
	var err error
	if f.prices != "" {
		if opts.Prices, err = readPrices(f.prices); err != nil {
			return nil, err
		}
	}
	pods, err := readFile(f.pods, s.in)
	if err != nil {
		return nil, fileError("--pods", err)
	}
	nodes, err := readFile(f.nodes, s.in)
	if err != nil {
		return nil, fileError("--nodes", err)
	}
	return openb.Import(bytes.NewReader(pods), bytes.NewReader(nodes), sourceName(f.pods), sourceName(f.nodes), opts)
}

// quote makes one word of a path for the shell.
func quote(path string) string {
	safe := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+=:,@%", r)
	}
	if strings.IndexFunc(path, func(r rune) bool { return !safe(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func readPrices(path string) (map[string]configv1alpha1.MicroDollars, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError("--prices", err)
	}
	var out map[string]configv1alpha1.MicroDollars
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("--prices: %s: %w", path, err)
	}
	return out, nil
}

// The files that an import writes.
const (
	clusterFile = "cluster.json"
	configFile  = "config.yaml"
)

// writeImport writes each file whole or not at all.
func writeImport(dir string, r *openb.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError("-o", err)
	}
	config, err := r.Configuration.Marshal()
	if err != nil {
		return internalError{err}
	}
	var dump bytes.Buffer
	if err := openb.WriteDump(&dump, r.Objects()...); err != nil {
		return internalError{err}
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{clusterFile, dump.Bytes()}, {configFile, config}} {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path+".tmp", file.data, 0o644); err != nil {
			return internalError{err}
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			return internalError{errors.Join(err, os.Remove(path+".tmp"))}
		}
	}
	return nil
}
