package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidegate.io/autoscaler/api/v1alpha1"
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
would cost, and why it won or lost. For a pod in a gang the options are those of its gang.
For a node group it shows the group's state and what it has to do with each pending gang.`,
		Example: `  tidegate explain --example train/llama-70b
  tidegate explain --example h100-spot
  tidegate explain --cluster dump.yaml --config tidegate.yaml train/llama-0`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
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
			x, err := await(c.Context(), s, "deciding", func() (*plan.Explanation, error) {
				return plan.Explain(q.snap, q.configuration, q.now, args[0])
			})
			if err != nil {
				return in.decided(err)
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
		whom := "it"
		if x.Gang != "" {
			whom = "its gang"
		}
		v.section("%s for %s alone", plural(len(x.Options), "option"), whom)
		v.table([]string{"", "node group", "domain", "pods", "add", "cost", "why"}, optionRows(x.Options))
	}
	if len(x.Gangs) > 0 {
		v.section("What it does for each pending gang")
		v.table([]string{"gang", "pods on it", "why"}, limitRows(gangRows(x.Gangs), mostGangs))
	}
}

// mostGangs is how many lines about gangs the explanation of a node group has.
const mostGangs = 40

// optionRows has a row for each option; those that differ in nothing but the domain, or
// nothing but the node group, share one.
func optionRows(options []plan.ExplainedOption) []row {
	var rows []row
	for _, o := range options {
		domain, mark := o.Domain, ""
		if o.NewDomain {
			domain = "(new)"
		}
		if o.Chosen {
			mark = "✓"
		}
		add, cost := "-", "-"
		if o.Serves {
			add, cost = fmt.Sprintf("+%d", o.Nodes), sum(o.CostPerHour)
		}
		rows = append(rows, row{mark, cmp.Or(o.NodeGroup, "(existing nodes)"), domain, fmt.Sprint(o.Pods), add, cost, because(o.Reason, o.Message)})
	}
	return foldRows(foldRows(rows, 2), 1)
}

// gangRows has a row for each answer that a group has for gangs.
func gangRows(gangs []plan.ExplainedGang) []row {
	placed := map[string]int{}
	for _, g := range gangs {
		placed[because(g.Reason, g.Message)] += g.Placed
	}
	var rows []row
	for _, g := range gangs {
		why := because(g.Reason, g.Message)
		rows = append(rows, row{g.Gang, fmt.Sprint(placed[why]), why})
	}
	return foldRows(rows, 0)
}

func because(reason v1alpha1.Code, message string) string {
	if reason == "" {
		return message
	}
	return string(reason) + ": " + message
}

// foldRows makes one row of those that are equal but for one column, which then lists
// what they held.
func foldRows(rows []row, column int) []row {
	var out []row
	held := map[string][]string{}
	for _, r := range rows {
		rest := slices.Clone(r)
		rest[column] = ""
		key := strings.Join(rest, "\n")
		if held[key] == nil {
			out = append(out, rest)
		}
		if !slices.Contains(held[key], r[column]) {
			held[key] = append(held[key], r[column])
		}
	}
	for _, r := range out {
		r[column] = list(held[strings.Join(r, "\n")], 3)
	}
	return out
}
