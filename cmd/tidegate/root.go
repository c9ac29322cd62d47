package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "tidegate",
		Short: "An accelerator-aware cluster autoscaler for Kubernetes",
		Long: `Tidegate decides which accelerator nodes a Kubernetes cluster needs: whole gangs or
nothing, inside the topology domains they ask for, at the least cost.

The commands here answer from a cluster dump; nothing is changed anywhere.`,
		Example: `  # What would it buy for the built-in example, and why?
  tidegate plan --example

  # And for a cluster of yours?
  kubectl get nodes,pods,podgroups.scheduling.k8s.io,jobs,daemonsets,priorityclasses,pvc,pv,storageclasses -A -o yaml > dump.yaml
  tidegate plan --cluster dump.yaml --config tidegate.yaml`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("tidegate {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nRun '%s --help' for the flags", err, c.CommandPath())
	})
	root.AddCommand(newPlan(s), newNodeGroups(s), newExplain(s), newImport(s))
	return root
}

// readFile reads a file, or standard input for "-".
func readFile(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}
