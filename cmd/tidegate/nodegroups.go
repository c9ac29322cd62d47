package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
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
dump show. Nodes that have registered without their accelerators, or without complete
ResourceSlices in a group with devices: dra, are upcoming, not ready; past their time-out
they are failed. READY is how many nodes are ready of how many were asked for; TOPOLOGY is
what new nodes promise. The YAML and JSON output hold the whole template of a new node,
with its ResourceSlices, and where each part of it is known from.`,
		Example: `  tidegate nodegroups --example
  tidegate nodegroups --cluster dump.yaml --config tidegate.yaml -o yaml`,
		Args: noArgs,
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
				return in.decided(err)
			}
			for _, w := range warnings {
				fmt.Fprintf(s.err, "warning: %s\n", clean(w))
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
	var rows []row
	for i := range groups {
		rows = append(rows, groupRow(&groups[i]))
	}
	v.table([]string{"name", "accelerator", "ready", "min..max", "price", "template", "topology", "health"}, rows)
}

func groupRow(g *plan.GroupInfo) row {
	accelerator := "-"
	if g.Accelerator != "" {
		accelerator = fmt.Sprintf("%d x %s", g.AcceleratorCount, g.Accelerator)
	}
	cost := price(g.PricePerHour)
	switch {
	case !g.PriceKnown && g.PricePerHour == 0:
		cost = "unknown"
	case !g.PriceKnown:
		cost = "about " + cost
	}
	if g.CapacityType != string(configv1alpha1.OnDemand) {
		cost += " " + g.CapacityType
	}
	var topology []string
	for _, l := range g.Topology {
		switch l.NodesPerDomain {
		case 0:
			topology = append(topology, "one "+short(l.Key))
		default:
			topology = append(topology, fmt.Sprintf("%s of %d", short(l.Key), l.NodesPerDomain))
		}
	}
	health := g.Health
	if len(g.Problems) > 0 {
		health += ": " + list(g.Problems, 2)
	}
	source := cmp.Or(g.InstanceType, "configuration")
	if len(g.Template.Sources) > 0 && strings.HasPrefix(g.Template.Sources[len(g.Template.Sources)-1], "learnt") {
		source += " + nodes"
	}
	return row{g.Name, accelerator, fmt.Sprintf("%d/%d", g.Ready, g.Size), fmt.Sprintf("%d..%d", g.Min, g.Max), cost, source,
		cmp.Or(strings.Join(topology, ", "), "-"), health}
}
