package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tidegate.io/autoscaler/plan"
)

// planFlags are the flags of `plan`.
type planFlags struct {
	in                     inputFlags
	out                    outputFlags
	noStats, unschedulable bool
}

func newPlan(s streams) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan --cluster PATH... --config FILE",
		Short: "Decide once, offline: what to buy now, where every pending pod goes, and why not",
		Long: `plan reads a cluster dump and a configuration and prints what the autoscaler would do
now: the groups that grow, the node of every pending pod, and for each gang that gets
nothing the reason of every node group. A pod is pending if it has no node, does not
terminate and has no scheduling gate.

Tables are for people and leave some of a long answer out; -o json has all of it.

The same input and the same --at give the same bytes, but for stats.duration (--no-stats).`,
		Example: `  # The built-in example: gangs, racks, two accelerators, one gang that cannot be placed
  tidegate plan --example

  # A dump of your cluster
  tidegate plan --cluster dump.yaml --config tidegate.yaml

  # Straight from kubectl, for a script
  kubectl get nodes,pods,jobs,daemonsets -A -o json | tidegate plan --cluster - --config tidegate.yaml -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, s) },
	}
	f.in.register(c)
	f.out.register(c)
	c.Flags().BoolVar(&f.noStats, "no-stats", false, "leave stats out, so that two runs print the same bytes")
	c.Flags().BoolVar(&f.unschedulable, "fail-on-unschedulable", false, "exit with 3 when some pod gets no node; pods that wait do not count")
	return c
}

func (f *planFlags) run(c *cobra.Command, s streams) error {
	// 1. Read.
	if err := f.out.check(); err != nil {
		return err
	}
	q, err := f.in.load(c, s)
	if err != nil {
		return err
	}
	// 2. Decide.
	began := time.Now()
	p, err := await(c.Context(), s, "deciding", func() (*plan.Plan, error) {
		return plan.Decide(q.snap, q.configuration, q.now, plan.Options{})
	})
	if err != nil {
		return f.in.decided(err)
	}
	p.Stats.Duration = time.Since(began).Round(10 * time.Microsecond).String()
	if f.noStats {
		p.Stats = nil
	}
	// 3. Write.
	for _, w := range p.Warnings {
		fmt.Fprintf(s.err, "warning: %s\n", clean(w))
	}
	err = f.out.write(s, p, func(v *view) {
		v.plan(p)
		if f.in.example {
			fmt.Fprint(v.w, exampleNext)
		}
	})
	if err != nil {
		return err
	}
	if f.unschedulable && len(p.Unschedulable) > 0 {
		return errUnschedulable
	}
	return nil
}
