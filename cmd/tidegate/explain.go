package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidegate.io/autoscaler/plan"
)

func newExplain(s streams) *cobra.Command {
	var in inputFlags
	var out outputFlags
	c := &cobra.Command{
		Use:   "explain NAMESPACE/NAME | NODEGROUP",
		Short: "Show every option that was looked at for one gang, pod or node group, and its cost",
		Long: `explain decides as plan does and then looks at one gang or pod: the ways of serving it
by itself (nodes that exist, each group alone, with a topology key each domain), what each
would cost, and why it won or lost. For a node group it shows the group's state and what it
has to do with each pending gang.`,
		Example: `  tidegate explain --example train/llama-70b
  tidegate explain --example h100-spot
  tidegate explain --cluster dump.yaml --config tidegate.yaml train/llama-0`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("explain takes one name: NAMESPACE/NAME of a gang or pod, or a node group\nRun '%s --help' for examples", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			q, err := in.load(c, s)
			if err != nil {
				return err
			}
			x, err := decide(c.Context(), s, func() (*plan.Explanation, error) {
				return plan.Explain(q.snap, q.configuration, q.now, args[0])
			})
			if err != nil {
				return err
			}
			return out.write(s, x, func(v *view) { v.explanation(x) })
		},
	}
	in.register(c)
	out.register(c)
	return c
}

func (v *view) explanation(x *plan.Explanation) {
	v.title("%s %s: %s", x.What, x.Subject, x.Outcome)
	v.wrapped("  ", x.Message)
	v.facts(x.Facts)
	if len(x.Options) > 0 {
		fmt.Fprintln(v.w)
		v.title("%d options for it alone", len(x.Options))
		var rows [][]string
		for _, o := range x.Options {
			name, domain, mark := o.NodeGroup, o.Domain, ""
			if name == "" {
				name = "(existing nodes)"
			}
			if o.NewDomain {
				domain += " (new)"
			}
			if o.Chosen {
				mark = "✓"
			}
			why := o.Message
			if o.Reason != "" {
				why = string(o.Reason) + ": " + why
			}
			buys, cost := "-", "-"
			if o.Serves {
				buys, cost = fmt.Sprintf("+%d", o.Nodes), dollars(o.CostPerHour)
			}
			rows = append(rows, []string{mark, name, domain, fmt.Sprint(o.Pods), buys, cost, why})
		}
		v.table([]string{"", "node group", "domain", "pods", "nodes", "cost/h", "why"}, rows)
	}
	if len(x.Gangs) > 0 {
		fmt.Fprintln(v.w)
		v.title("What it has to do with what waits")
		var rows [][]string
		for _, g := range x.Gangs {
			why := g.Message
			if g.Reason != "" {
				why = string(g.Reason) + ": " + why
			}
			rows = append(rows, []string{g.Gang, fmt.Sprint(g.Placed), why})
		}
		v.table([]string{"gang", "pods here", "why"}, limitRows(rows, 40))
	}
}
