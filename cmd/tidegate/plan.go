package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tidegate.io/autoscaler/plan"
)

func newPlan(s streams) *cobra.Command {
	var in inputFlags
	var out outputFlags
	var noStats, fail bool
	c := &cobra.Command{
		Use:   "plan --cluster PATH... --config FILE",
		Short: "Decide once, offline: what to buy now, where every pending pod goes, and why not",
		Long: `plan reads a cluster dump and a configuration and prints what the autoscaler would do
now: the groups that grow, the node of every pending pod, and for each gang that gets
nothing the reason of every node group.

The same input and the same --at give the same bytes, but for stats.duration (--no-stats).`,
		Example: `  # The built-in example: gangs, racks, two accelerators, one gang that cannot be placed
  tidegate plan --example

  # A dump of your cluster
  tidegate plan --cluster dump.yaml --config tidegate.yaml

  # Straight from kubectl, for a script
  kubectl get nodes,pods,jobs,daemonsets -A -o json | tidegate plan --cluster - --config tidegate.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			q, err := in.load(c, s)
			if err != nil {
				return err
			}
			began := time.Now()
			p, err := decide(c.Context(), s, func() (*plan.Plan, error) {
				return plan.Decide(q.snap, q.configuration, q.now, plan.Options{})
			})
			if err != nil {
				return err
			}
			p.Stats.Duration = time.Since(began).Round(10 * time.Microsecond).String()
			if noStats {
				p.Stats = nil
			}
			for _, w := range p.Warnings {
				fmt.Fprintf(s.err, "warning: %s\n", w)
			}
			if err := out.write(s, p, func(v *view) { v.plan(p) }); err != nil {
				return err
			}
			if in.example && out.format == formatTable {
				fmt.Fprint(s.out, exampleNext)
			}
			if fail && len(p.Unschedulable) > 0 {
				return errUnschedulable
			}
			return nil
		},
	}
	in.register(c)
	out.register(c)
	c.Flags().BoolVar(&noStats, "no-stats", false, "leave stats out, so that two runs print the same bytes")
	c.Flags().BoolVar(&fail, "fail-on-unschedulable", false, "exit with 3 when some pod gets no node")
	return c
}
