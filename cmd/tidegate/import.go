package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/trace/openb"
)

func newImport(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Turn a public trace into a cluster dump and a configuration",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportOpenb(s))
	return c
}

// openbFlags are the flags of `import openb`.
type openbFlags struct {
	pods, nodes, prices, dir, gpu string
	at                            int64
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

The trace has no prices. The defaults are made of a price for each vCPU, GiB and GPU model;
--prices FILE (YAML: GPU model or node group to dollars an hour) overrides them.`,
		Example: `  tidegate import openb --pods openb_pod_list_default.csv --nodes openb_node_list_all_node.csv -o openb
  tidegate plan --cluster openb/cluster.json --config openb/config.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var at *int64
			if c.Flags().Changed("at") {
				at = &f.at
			}
			return importOpenb(s, f, at)
		},
	}
	c.Flags().StringVar(&f.pods, "pods", "", "pod list of the trace (CSV), or - for standard input")
	c.Flags().StringVar(&f.nodes, "nodes", "", "node list of the trace (CSV)")
	c.Flags().StringVar(&f.prices, "prices", "", "YAML file: GPU model or node group to dollars an hour")
	c.Flags().StringVar(&f.gpu, "gpu", string(openb.Whole), "fractions of a GPU: whole (round up to one) or share (each device offered ten times)")
	c.Flags().Int64Var(&f.at, "at", 0, "second of the trace; absent: everything pending at once")
	c.Flags().StringVarP(&f.dir, "output", "o", "", "folder to write cluster.json and config.yaml to")
	for _, name := range []string{"pods", "nodes", "output"} {
		// The flags exist: marking them cannot fail.
		_ = c.MarkFlagRequired(name)
	}
	return c
}

func importOpenb(s streams, f openbFlags, at *int64) error {
	opts := openb.Options{At: at, GPU: openb.Mode(f.gpu)}
	if f.prices != "" {
		var err error
		if opts.Prices, err = readPrices(f.prices); err != nil {
			return err
		}
	}
	pods, err := readFile(f.pods, s.in)
	if err != nil {
		return fmt.Errorf("--pods: %w", err)
	}
	nodes, err := readFile(f.nodes, s.in)
	if err != nil {
		return fmt.Errorf("--nodes: %w", err)
	}
	r, err := openb.Import(strings.NewReader(string(pods)), strings.NewReader(string(nodes)), f.pods, f.nodes, opts)
	if err != nil {
		return err
	}
	if err := writeImport(f.dir, r); err != nil {
		return internalError{err}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(s.err, "warning: %s\n", w)
	}
	fmt.Fprintf(s.out, "%d pods (%d pending, %d running, %d that ask for a part of a GPU), %d machines of %d shapes\n",
		len(r.Pods), r.Counts.Pending, r.Counts.Running, r.Counts.Fractional, r.Counts.Machines, r.Counts.NodeGroups)
	when := ""
	if at != nil {
		when = " --at " + openb.DecisionTime(opts).Format(time.RFC3339)
	}
	fmt.Fprintf(s.out, "Next: tidegate plan --cluster %s --config %s%s\n", filepath.Join(f.dir, "cluster.json"), filepath.Join(f.dir, "config.yaml"), when)
	return nil
}

func readPrices(path string) (map[string]configv1alpha1.MicroDollars, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	var out map[string]configv1alpha1.MicroDollars
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("--prices: %s: %w", path, err)
	}
	return out, nil
}

// writeImport writes both files whole or not at all.
func writeImport(dir string, r *openb.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config, err := r.Configuration.Marshal()
	if err != nil {
		return err
	}
	var dump strings.Builder
	if err := openb.WriteDump(&dump, r.Objects()...); err != nil {
		return err
	}
	for name, data := range map[string]string{"cluster.json": dump.String(), "config.yaml": string(config)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".tmp", []byte(data), 0o644); err != nil {
			return err
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			return err
		}
	}
	return nil
}
