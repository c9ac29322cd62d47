package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

const dollar = configv1alpha1.MicroDollars(1_000_000)

// explain asks about a subject of the world.
func (w *world) explain(t *testing.T, subject string) (*plan.Explanation, error) {
	t.Helper()
	configv1alpha1.SetDefaults(&w.config)
	return plan.Explain(w.snapshot(t), &w.config, now, subject)
}

// optionLines has a line for each option: the mark of what is chosen, who grows, the
// nodes and the message with its reason. That existing nodes do not serve goes without
// saying.
func optionLines(options []plan.ExplainedOption) []string {
	var out []string
	for _, o := range options {
		if o.NodeGroup == "" && !o.Serves && !o.Chosen {
			continue
		}
		mark, group, why := "-", o.NodeGroup, o.Message
		if o.Chosen {
			mark = "✓"
		}
		if group == "" {
			group = "existing"
		}
		if o.Reason != "" {
			why = fmt.Sprintf("%s: %s", o.Reason, o.Message)
		}
		out = append(out, fmt.Sprintf("%s %s %s+%d: %s", mark, group, o.Domain, o.Nodes, why))
	}
	return out
}

func TestExplainOptions(t *testing.T) {
	machine, small := size{cpu: 64_000, memory: 256, gpus: 8}, size{cpu: 8000, memory: 32, gpus: 1}
	whole, one := size{cpu: 1000, memory: 1, gpus: 8}, size{cpu: 1000, memory: 1, gpus: 1}
	for name, tc := range map[string]struct {
		build   func(*world)
		subject string
		outcome string
		message string
		want    []string
	}{
		"dearer": {
			func(w *world) {
				w.pods(1, "d/p", one, nil)
				w.group(makeGroup("a", small, 5*dollar, 2))
				w.group(makeGroup("b", small, 24_100_000, 2))
			},
			"d/p-0", "Placed", "on a/new-1, which the plan buys",
			[]string{
				"✓ a +1: in the plan",
				"- b +1: HigherCost: would serve it by itself with 1 new node for $24.10 an hour; the plan's way costs $5.00",
			},
		},
		"as dear": {
			func(w *world) {
				w.pods(1, "d/p", one, nil)
				w.group(makeGroup("a", small, 5*dollar, 2))
				w.group(makeGroup("b", small, 5*dollar, 2))
			},
			"d/p-0", "Placed", "on a/new-1, which the plan buys",
			[]string{
				"✓ a +1: in the plan",
				"- b +1: would serve it by itself with 1 new node for $5.00 an hour, no less than the plan's way",
			},
		},
		"existing room that another needs": {
			func(w *world) {
				w.add(makeNode("big-0", machine).Group("big").Obj())
				w.pods(1, "d/p", one, nil)
				w.pods(1, "d/whole", whole, nil)
				w.group(makeGroup("big", machine, 100*dollar, 4))
				w.group(makeGroup("small", small, 1*dollar, 4))
			},
			"d/p-0", "Placed", "on small/new-1, which the plan buys",
			[]string{
				"✓ small +1: in the plan",
				"- existing +0: would serve it by itself; in the plan that room goes to gangs that need it more",
			},
		},
		"existing": {
			func(w *world) {
				w.add(makeNode("big-0", machine).Group("big").Obj())
				w.pods(1, "d/p", one, nil)
				w.group(makeGroup("big", machine, 100*dollar, 4))
			},
			"d/p-0", "Placed", "on big-0, which exists",
			[]string{"✓ existing +0: in the plan"},
		},
		"some on existing nodes, some on new": {
			func(w *world) {
				w.add(makeNode("big-0", machine).Group("big").Obj())
				w.add(makeGang("d/g", 3, ""))
				w.pods(3, "d/g", whole, func(b podBuilder) podBuilder { return b.Gang("g") })
				w.group(makeGroup("big", machine, 100*dollar, 4))
			},
			"d/g", "Placed", "3 of 3 pods on 3 nodes",
			[]string{
				"✓ big +2: in the plan, for 2 of 3 pods",
				"✓ existing +0: in the plan, for 1 of 3 pods",
			},
		},
		"two groups together": {
			func(w *world) {
				w.add(makeGang("d/g", 3, ""))
				w.pods(3, "d/g", whole, func(b podBuilder) podBuilder { return b.Gang("g") })
				w.group(makeGroup("a", machine, 100*dollar, 1))
				w.group(makeGroup("b", machine, 101*dollar, 2))
			},
			"d/g", "Placed", "3 of 3 pods on 3 nodes",
			[]string{
				"✓ a +1: in the plan, for 1 of 3 pods; by itself: MaxSize: needs 3 nodes, 1 left (maximum 1, size 0)",
				"✓ b +2: in the plan, for 2 of 3 pods; by itself: MaxSize: needs 3 nodes, 2 left (maximum 2, size 0)",
			},
		},
		"room on what others make grow": {
			func(w *world) {
				w.pods(1, "d/train", whole, nil)
				w.pods(1, "d/web", size{cpu: 1000, memory: 1}, nil)
				w.group(makeGroup("big", machine, 100*dollar, 4))
			},
			"d/web-0", "Placed", "on big/new-1, which the plan buys",
			[]string{"✓ big +0: in the plan, with room that others leave; by itself: AcceleratorsOnly: grows only for pods that ask for an accelerator"},
		},
		"a limit that others use up": {
			func(w *world) {
				w.pods(2, "d/p", whole, nil)
				w.group(makeGroup("big", machine, 100*dollar, 1))
			},
			"d/p-1", "Unschedulable", "the pod gets no node: MaxSize (big)",
			[]string{
				"- big +1: MaxSize: would serve it by itself with 1 new node for $100.00 an hour; in the plan: needs 1 node, 0 left (maximum 1, size 0, 1 bought by this plan)",
			},
		},
		"gang that is not complete": {
			func(w *world) {
				w.add(makeGang("d/g", 3, ""))
				w.pods(2, "d/g", whole, func(b podBuilder) podBuilder { return b.Gang("g") })
				w.group(makeGroup("big", machine, 24_100_000, 4))
			},
			"d/g", "Waiting", "GangIncomplete: needs 3 pods to start, 2 exist",
			[]string{
				"- big +2: would serve the 2 pods that exist with 2 new nodes for $48.20 an hour once the gang is complete",
			},
		},
		"pod that is gated": {
			func(w *world) {
				w.add(makePod("d/p-0", one).Gate("example.com/quota").Obj())
				w.group(makeGroup("a", small, 5*dollar, 2))
			},
			"d/p-0", "Waiting", "",
			[]string{"- a +1: would serve with 1 new node for $5.00 an hour once the scheduling gates are gone"},
		},
		"racks": {
			func(w *world) {
				for _, n := range []string{"r1-0", "r2-0"} {
					w.add(makeNode(n, machine).Group("big").Label(rackKey, n[:2]).Obj())
				}
				w.add(makeGang("d/g", 1, rackKey))
				w.pods(1, "d/g", one, func(b podBuilder) podBuilder { return b.Gang("g") })
				w.group(makeGroup("big", machine, 100*dollar, 4).Level(rackKey, 2))
			},
			"d/g", "Placed", "1 of 1 pod on 1 node",
			[]string{
				"✓ existing r1+0: in the plan",
				"- existing r2+0: would serve it by itself without a new node, as the plan's way does",
				"- big new-1+1: HigherCost: would serve it by itself with 1 new node for $100.00 an hour; the plan's way costs $0.00",
			},
		},
		"a new rack after another": {
			func(w *world) {
				for _, g := range []string{"d/a", "d/b"} {
					w.add(makeGang(g, 2, rackKey))
					w.pods(2, g, whole, func(b podBuilder) podBuilder { return b.Gang(g[2:]) })
				}
				w.group(makeGroup("big", machine, 100*dollar, 4).Level(rackKey, 2))
			},
			"d/b", "Placed", "2 of 2 pods on 2 nodes",
			[]string{"✓ big new-1+2: in the plan"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			tc.build(w)
			x, err := w.explain(t, tc.subject)
			require.NoError(t, err)
			assert.Equal(t, tc.outcome, x.Outcome)
			if tc.message != "" {
				assert.Equal(t, tc.message, x.Message)
			}
			assert.Equal(t, tc.want, optionLines(x.Options))
		})
	}
}

// TestExplainPodOfGang: the subject is the pod, and its gang is named.
func TestExplainPodOfGang(t *testing.T) {
	w := &world{}
	w.add(makeGang("d/g", 2, ""))
	w.pods(2, "d/w", size{cpu: 1000, memory: 1, gpus: 8}, func(b podBuilder) podBuilder { return b.Gang("g") })
	w.group(makeGroup("big", size{cpu: 64_000, memory: 256, gpus: 8}, 100*dollar, 4))
	x, err := w.explain(t, "d/w-1")
	require.NoError(t, err)
	assert.Equal(t, "Pod", x.What)
	assert.Equal(t, "d/g", x.Gang)
	assert.Equal(t, "on big/new-2, which the plan buys; of its gang, 2 of 2 pods on 2 nodes", x.Message)
	assert.Contains(t, x.Facts, plan.Fact{Name: "gang", Value: "d/g (PodGroup): 2 pending pods, 0 bound; starts with 2"})

	x, err = w.explain(t, "d/g")
	require.NoError(t, err)
	assert.Equal(t, "Gang", x.What)
	assert.Empty(t, x.Gang)
}

// TestInputErrors: what the user can mend is told from bugs.
func TestInputErrors(t *testing.T) {
	w := &world{}
	w.pods(1, "d/p", size{cpu: 1000}, nil)
	_, err := w.explain(t, "d/nobody")
	var input *plan.InputError
	var subject *plan.SubjectError
	require.ErrorAs(t, err, &input)
	require.ErrorAs(t, err, &subject)
	assert.Equal(t, "d/nobody", subject.Subject)

	w.config.NodeGroups = []configv1alpha1.NodeGroup{{Name: "a", InstanceType: "p5.48xlrage", MaxSize: 1}}
	configv1alpha1.SetDefaults(&w.config)
	_, decide := plan.Decide(w.snapshot(t), &w.config, now, plan.Options{})
	_, _, inspect := plan.Inspect(w.snapshot(t), &w.config, now)
	_, explain := w.explain(t, "a")
	for _, err := range []error{decide, inspect, explain} {
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, "nodeGroups[0].instanceType")
		assert.NotErrorAs(t, err, &subject)
	}
}

// TestInspectWarns: the same as a plan does.
func TestInspectWarns(t *testing.T) {
	w := &world{}
	w.add(makeNode("n", size{cpu: 1000, memory: 1}).Group("nobody").Obj())
	machine := size{cpu: 1000, memory: 1}
	w.group(makeGroup("a", machine, 1*dollar, 1))
	w.group(makeGroup("b", machine, 1*dollar, 1))
	w.config.NodeGroups[1].PricePerHour = nil
	w.config.Limits.Accelerators = map[string]int64{"nvidia-nothing": 8}
	p := w.decide(t)
	_, warnings, err := plan.Inspect(w.snapshot(t), &w.config, now)
	require.NoError(t, err)
	assert.Len(t, warnings, 3)
	assert.Equal(t, p.Warnings, warnings)
}
