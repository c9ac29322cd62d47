package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

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

The commands here answer from a cluster dump; nothing is changed anywhere. Results go to
standard output, warnings and errors to standard error.

Exit codes: 0 done, even if some pods get no node; 1 internal error, or interrupted;
2 bad usage or bad input; 3 some pods get no node, with plan --fail-on-unschedulable.`,
		Example: `  # What would it buy for the built-in example, and why?
  tidegate plan --example

  # And for a cluster of yours?
  kubectl get -A -o yaml \
    nodes,pods,podgroups.scheduling.k8s.io,jobs,daemonsets,priorityclasses,pvc,pv,storageclasses,csinodes,namespaces \
    > dump.yaml
  tidegate plan --cluster dump.yaml --config tidegate.yaml`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetVersionTemplate("tidegate {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nRun '%s --help' for the flags", err, c.CommandPath())
	})
	// Flags wrap where everything else does.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", lineWidth)))
	root.AddCommand(newPlan(s), newNodeGroups(s), newExplain(s), newImport(s))
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if !c.Runnable() { // completion: without this a misspelt shell would print help and succeed.
			c.Args = noArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// newHelp is cobra's help command, but an unknown topic is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("there is no command %q\nRun '%s --help' for the commands", strings.Join(args, " "), c.Root().Name())
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}

// noArgs refuses arguments to commands that take flags alone, and commands that do not exist.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case c.HasSubCommands():
		return fmt.Errorf("there is no command %q\nRun '%s --help' for the commands", c.CommandPath()+" "+args[0], c.CommandPath())
	}
	return fmt.Errorf("%s takes no arguments, not %q\nRun '%s --help' for the flags", c.CommandPath(), args[0], c.CommandPath())
}

// fileError says what is wrong with a path in the order "path: problem".
func fileError(flag string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %s: %w", flag, cmp.Or(path.Path, `""`), path.Err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// readFile reads a file, or standard input for "-".
func readFile(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}
