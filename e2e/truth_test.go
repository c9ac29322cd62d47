//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tidegate.io/autoscaler/plan"
)

// notExpressible are the scenarios that say nothing about a scheduler, and why.
func notExpressible() map[string]string {
	return map[string]string{
		"20-off-peak-waits":             "the policy is the autoscaler's own; no scheduler knows it",
		"21-off-peak-starts":            "the policy is the autoscaler's own; no scheduler knows it",
		"22-bad-configuration":          "there is no plan",
		"dra-capacity-gate-off":         "the scheduler here has the feature",
		"dra-podgroup-claim-gate-off":   "the scheduler here has the feature",
		"dra-selector-does-not-compile": "the API server refuses such a selector",
	}
}

// knownDisagreements are the scenarios in which the scheduler does not do as planned, by
// a limit of the model that docs/how-it-decides.md states.
func knownDisagreements() map[string]string {
	return map[string]string{
		"indexed-job-gets-no-part":       jobIsNoGang,
		"indexed-job-waits-for-its-pods": jobIsNoGang,
	}
}

const jobIsNoGang = "the scheduler knows no gang where only an annotation makes one"

// tally counts pods over scenarios.
type tally struct{ placed, bound, asPlanned int }

func (a *tally) add(b tally) {
	a.placed += b.placed
	a.bound += b.bound
	a.asPlanned += b.asPlanned
}

func (a *tally) String() string {
	return fmt.Sprintf("%d placed, %d bound, %d of them on the planned node", a.placed, a.bound, a.asPlanned)
}

// TestPlansComeTrue carries out the plan of every scenario on a real control plane. The
// scheduler has to bind every pod that the plan placed, gangs whole and inside one domain,
// and leave all others.
func TestPlansComeTrue(t *testing.T) {
	c := newCluster(t, startControlPlane(t))
	all := folders(t)
	var total tally
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			if why, ok := notExpressible()[name]; ok {
				t.Skip(why)
			}
			v := comesTrue(t, c, readScenario(t, folder, all[folder]))
			t.Log(v.String())
			total.add(v.tally)
			if why, ok := knownDisagreements()[name]; ok {
				assert.NotEmpty(t, v.problems, "no longer a disagreement: %s", why)
				assert.Equal(t, v.placed, v.bound, "more than was known: %q", v.problems)
				t.Logf("as documented (%s): %q", why, v.problems)
				return
			}
			for _, p := range v.problems {
				t.Error(p)
			}
			if t.Failed() && len(v.elsewhere) > 0 {
				t.Logf("bound, but elsewhere: %s", strings.Join(v.elsewhere, ", "))
			}
		})
	}
	t.Logf("accuracy: %s (%.2f %%)", total.String(), 100*float64(total.bound)/float64(max(total.placed, 1)))
}

// comesTrue carries a plan out and returns what went otherwise. The steps:
//  1. everything that the plan saw, and the nodes that it buys, ready; pending pods gated;
//  2. the pods of DaemonSets take their places;
//  3. each placed pod is nominated to its node, if the configuration leads the scheduler;
//  4. the gates are taken away in the order in which the plan serves the pods.
//
// A scheduler thus sees the nominations before the first pod may be bound: they reach it
// over the one watch of pods, in this order. And it sees the nodes before the pods.
func comesTrue(t *testing.T, c *cluster, s *scenario) verdict {
	t.Helper()
	c.wipe(t)
	w := &world{cluster: c, scenario: s}
	w.build(t)
	w.daemons(t)
	before := c.pods(t)
	if s.led() {
		for _, p := range s.queue {
			if place, ok := s.placed[nameOf(p)]; ok {
				c.patchPod(t, p.Namespace, p.Name, fmt.Sprintf(`{"status":{"nominatedNodeName":%q}}`, nodeName(place.Node)), "status")
			}
		}
	}
	for _, p := range s.queue {
		gates, err := json.Marshal(p.Spec.SchedulingGates)
		require.NoError(t, err)
		c.patchPod(t, p.Namespace, p.Name, fmt.Sprintf(`{"spec":{"schedulingGates":%s}}`, gates))
	}
	w.settle(t)
	return w.judge(t, before)
}

const (
	// patience is how long the scheduler may bind nothing while planned pods wait. It tries
	// each again after a second at most.
	patience = 15 * time.Second
	// quiet is how long nothing may change before the rest counts as refused.
	quiet = 2 * time.Second
	poll  = 100 * time.Millisecond
)

// daemons waits until every DaemonSet has its pods where they can run.
func (w *world) daemons(t *testing.T) {
	t.Helper()
	sets := func() (pods int32, settled bool) {
		list, err := w.AppsV1().DaemonSets("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		settled = true
		for i := range list.Items {
			d := &list.Items[i]
			pods += d.Status.DesiredNumberScheduled
			settled = settled && d.Status.ObservedGeneration == d.Generation && d.Status.CurrentNumberScheduled == d.Status.DesiredNumberScheduled
		}
		return pods, settled || len(list.Items) == 0
	}
	if pods, settled := sets(); pods == 0 && settled {
		return
	}
	since, last := time.Now(), int32(-1)
	for time.Since(since) < quiet {
		pods, settled := sets()
		for _, p := range w.pods(t) {
			settled = settled && (p.Spec.NodeName != "" || scheduled(p).Reason != "")
		}
		if !settled || pods != last {
			since, last = time.Now(), pods
		}
		time.Sleep(poll)
	}
}

// settle waits until all planned pods are bound and the scheduler has said of every other
// pod why it is not, or until nothing happens any more. Of gangs that are incomplete the
// scheduler says nothing.
func (w *world) settle(t *testing.T) {
	t.Helper()
	changed, last := time.Now(), ""
	for {
		pods := w.pods(t)
		state, left, silent, refused := "", 0, 0, 0
		for _, p := range w.queue {
			now := pods[nameOf(p)]
			if now == nil {
				continue // It was preempted; judge reports it.
			}
			state += now.Spec.NodeName + ","
			_, wanted := w.placed[nameOf(p)]
			switch {
			case now.Spec.NodeName != "":
			case wanted:
				left++
			case !w.held[nameOf(p)] && !judged(now):
				silent++
			default:
				refused++
			}
		}
		if state != last {
			changed, last = time.Now(), state
		}
		idle := time.Since(changed)
		if left == 0 && silent == 0 && (refused == 0 || idle > quiet) || idle > patience {
			return
		}
		time.Sleep(poll)
	}
}

// judged says whether the scheduler has looked at a pod: the API server itself writes the
// condition of one that is gated.
func judged(p *corev1.Pod) bool {
	reason := scheduled(p).Reason
	return reason != "" && reason != corev1.PodReasonSchedulingGated
}

// verdict is what the scheduler made of a plan.
type verdict struct {
	tally
	// problems are where it went otherwise.
	problems []string
	// elsewhere are planned pods that it bound to other nodes than the planned ones: what
	// may have led to the problems.
	elsewhere []string
}

// judge compares what the scheduler did with the plan.
func (w *world) judge(t *testing.T, before map[string]*corev1.Pod) verdict {
	t.Helper()
	var v verdict
	pods := w.pods(t)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		place, wanted := w.placed[name]
		if wanted {
			v.placed++
		}
		v.pod(name, before[name], pods[name], place, wanted)
	}
	v.problems = append(v.problems, w.judgeGangs(t, pods)...)
	return v
}

// pod judges one pod as it was when the gates were taken away and as it is now.
func (v *verdict) pod(name string, before, now *corev1.Pod, place plan.Placement, wanted bool) {
	problem := func(format string, args ...any) {
		v.problems = append(v.problems, name+": "+fmt.Sprintf(format, args...))
	}
	if now == nil || now.DeletionTimestamp != nil && before.DeletionTimestamp == nil {
		problem("was preempted")
		return
	}
	switch {
	case wanted && now.Spec.NodeName == "":
		problem("planned on %s, not bound: %s: %s", place.Node, scheduled(now).Reason, scheduled(now).Message)
	case wanted:
		v.bound++
		if now.Spec.NodeName == nodeName(place.Node) {
			v.asPlanned++
		} else {
			v.elsewhere = append(v.elsewhere, fmt.Sprintf("%s on %s instead of %s", name, now.Spec.NodeName, place.Node))
		}
	case now.Spec.NodeName != "" && before.Spec.NodeName == "":
		problem("not planned, bound to %s", now.Spec.NodeName)
	}
}

// judgeGangs requires that each gang runs with its minimum or not at all, and inside one
// domain of its required key.
func (w *world) judgeGangs(t *testing.T, pods map[string]*corev1.Pod) []string {
	t.Helper()
	list, err := w.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	labels := map[string]map[string]string{}
	for _, n := range list.Items {
		labels[n.Name] = n.Labels
	}
	var problems []string
	for i := range w.gangs {
		g := &w.gangs[i]
		bound, fresh, domains := len(g.Bound), 0, map[string]bool{}
		for _, p := range g.Pending {
			if now := pods[nameOf(p)]; now != nil && now.Spec.NodeName != "" {
				fresh++
				domains[labels[now.Spec.NodeName][g.Required]] = true
			}
		}
		for _, p := range g.Bound {
			domains[labels[p.Spec.NodeName][g.Required]] = true
		}
		if fresh > 0 && bound+fresh < g.Min {
			problems = append(problems, fmt.Sprintf("gang %s: %d bound, fewer than its minimum of %d", g.Key(), bound+fresh, g.Min))
		}
		if fresh > 0 && g.Required != "" && len(domains) != 1 {
			problems = append(problems, fmt.Sprintf("gang %s: in domains %v of %s", g.Key(), slices.Sorted(maps.Keys(domains)), g.Required))
		}
	}
	return problems
}
