package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tidegate.io/autoscaler/plan"
)

func newNodeGroups(s streams) *cobra.Command {
	var in inputFlags
	var out outputFlags
	c := &cobra.Command{
		Use:     "nodegroups --cluster PATH... --config FILE",
		Aliases: []string{"ng"},
		Short:   "List node groups as they are discovered: accelerator, sizes, price, template, topology, health",
		Long: `nodegroups lists the groups of the configuration with the state that the nodes of the
dump show. Nodes that have registered without their accelerators are upcoming, not ready;
past their time-out they are failed. The YAML and JSON output hold the whole template of a
new node and where each part of it is known from.`,
		Example: `  tidegate nodegroups --example
  tidegate nodegroups --cluster dump.yaml --config tidegate.yaml -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			q, err := in.load(c, s)
			if err != nil {
				return err
			}
			groups, warnings, err := plan.Inspect(q.snap, q.configuration, q.now)
			if err != nil {
				return err
			}
			for _, w := range warnings {
				fmt.Fprintf(s.err, "warning: %s\n", w)
			}
			return out.write(s, map[string]any{"apiVersion": plan.APIVersion, "kind": "NodeGroupList", "nodeGroups": groups}, func(v *view) { v.nodeGroups(groups) })
		},
	}
	in.register(c)
	out.register(c)
	return c
}

func (v *view) nodeGroups(groups []plan.GroupInfo) {
	if len(groups) == 0 {
		v.title("No node groups are configured")
		return
	}
	var rows [][]string
	for _, g := range groups {
		accelerator := "-"
		if g.Accelerator != "" {
			accelerator = fmt.Sprintf("%d x %s", g.AcceleratorCount, g.Accelerator)
		}
		price := dollars(g.PricePerHour)
		if !g.PriceKnown {
			price += "?"
		}
		ready := fmt.Sprintf("%d/%d", g.Ready, g.Size)
		var topology []string
		for _, l := range g.Topology {
			topology = append(topology, fmt.Sprintf("%s of %d", short(l.Key), l.NodesPerDomain))
		}
		health := g.Health
		if len(g.Problems) > 0 {
			health += ": " + list(g.Problems, 2)
		}
		source := g.InstanceType
		if source == "" {
			source = "configuration"
		}
		if len(g.Template.Sources) > 0 && strings.HasPrefix(g.Template.Sources[len(g.Template.Sources)-1], "learnt") {
			source += " + nodes"
		}
		rows = append(rows, []string{g.Name, accelerator, ready, fmt.Sprintf("%d..%d", g.Min, g.Max), price, source, strings.Join(topology, ", "), health})
	}
	v.table([]string{"name", "accelerator", "ready", "min..max", "each/h", "template", "topology", "health"}, rows)
}
