package main

import (
	"fmt"
	"strings"

	"tidegate.io/autoscaler/api/v1alpha1"
)

const reasonsPreface = `# Reasons

Why a node group, or the whole plan, gives a gang nothing, or why a gang is not to be
placed now. The set is closed: scripts may branch on the codes, which never change their
meaning. The text beside a code is for people and carries the numbers.

Where several reasons hold for one group, the first in the order of this page is given
and the others follow in the message, after "also". The rank is that order.

Windows and checkpoints are not built yet, and neither is a group that disables itself:
` + "`OffPeak`, `DeadlineTooClose` and `NotReady`" + ` are reserved for them, and no plan
contains them today.
`

// reasons is the page of all codes, scope by scope.
func reasons() string {
	var b strings.Builder
	b.WriteString(header + reasonsPreface)
	scopes := []struct{ scope, title, text string }{
		{"node group", "Of a node group", "In `unschedulable[].nodeGroups[]` of a plan, and in `explain`."},
		{"plan", "Of the whole plan", "A limit of the configuration that no group's growth may pass. They stand beside\nthe node group whose growth was cut off."},
		{"gang", "Of a gang", "Whatever the node groups offer. In `waiting[]`, but for `InvalidPod`, which node groups\ngive."},
	}
	for _, s := range scopes {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| rank | code | meaning | what to do |\n| --- | --- | --- | --- |\n", s.title, s.text)
		for _, d := range v1alpha1.CodeDocs() {
			if d.Scope == s.scope {
				fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", d.Code.Rank()+1, d.Code, cell(d.Meaning), cell(d.Remedy))
			}
		}
	}
	return b.String()
}

// cell keeps text inside one cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text) }
