//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/plan"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/snapshot"
)

// scenario is a cluster and a configuration, and what was planned for them.
type scenario struct {
	at            time.Time
	configuration *configv1alpha1.AutoscalerConfiguration
	// written are the objects of the dump, as they stand there.
	written []*unstructured.Unstructured
	plan    *plan.Plan
	groups  []nodegroups.Status
	// upcoming are the plan's nodes on their way that have not registered.
	upcoming []scheduling.Node
	// gangs wait, in the order in which they are served.
	gangs []gang.Gang
	// queue are their pods that wait, in the same order.
	queue []*corev1.Pod
	// held says of each of them, by name, whether its gang is not to start now.
	held map[string]bool
	// placed are the placements by pod.
	placed map[string]plan.Placement
}

// readScenario reads a folder and plans it.
func readScenario(t *testing.T, folder string, at time.Time) *scenario {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return text
	}
	var expected struct {
		At *time.Time `json:"at"`
	}
	require.NoError(t, json.Unmarshal(read("expect.json"), &expected))
	if expected.At != nil {
		at = *expected.At
	}
	configuration, err := configv1alpha1.Load(read("config.yaml"), "config.yaml")
	require.NoError(t, err)
	return newScenario(t, read("cluster.yaml"), configuration, at)
}

// newScenario plans for a cluster dump.
func newScenario(t *testing.T, dump []byte, configuration *configv1alpha1.AutoscalerConfiguration, at time.Time) *scenario {
	t.Helper()
	b := snapshot.NewBuilder()
	require.NoError(t, b.Read(bytes.NewReader(dump), "cluster"))
	snap, err := b.Build()
	require.NoError(t, err)
	s := &scenario{at: at, configuration: configuration, written: parse(t, dump)}
	s.decide(t, snap)
	return s
}

// decide plans, and takes the state of the groups and gangs as the plan saw it.
func (s *scenario) decide(t *testing.T, snap *snapshot.Snapshot) {
	t.Helper()
	var err error
	s.plan, err = plan.Decide(snap, s.configuration, s.at, plan.Options{})
	require.NoError(t, err)
	groups, err := nodegroups.New(s.configuration)
	require.NoError(t, err)
	s.groups, _ = nodegroups.Observe(groups, snap.Nodes(), snap.ResourceSlices(), s.at)
	s.gangs, _ = gang.Pending(snap)
	s.index()
	session, err := scheduling.NewSession(scheduling.Input{
		Snapshot: snap, Groups: s.groups, Scoring: s.configuration.Scheduler.Scoring, FeatureGates: s.configuration.Scheduler.FeatureGates,
	})
	require.NoError(t, err)
	registered := map[string]bool{}
	for _, n := range snap.Nodes() {
		registered[n.Name] = true
	}
	for _, n := range session.Nodes {
		if !registered[n.Name] {
			s.upcoming = append(s.upcoming, n)
		}
	}
}

// parse reads objects and lists of them without touching them.
func parse(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		o := &unstructured.Unstructured{}
		require.NoError(t, o.UnmarshalJSON(document.Raw))
		if !o.IsList() {
			out = append(out, o)
			continue
		}
		require.NoError(t, o.EachListItem(func(item runtime.Object) error {
			out = append(out, item.(*unstructured.Unstructured))
			return nil
		}))
	}
}

// led says whether the scheduler is told where the plan wants each pod.
func (s *scenario) led() bool {
	return s.configuration.Scheduler.Hints != configv1alpha1.HintsNone
}

// index fills what is looked up by pod.
func (s *scenario) index() {
	s.held, s.placed = map[string]bool{}, map[string]plan.Placement{}
	for i := range s.gangs {
		g := &s.gangs[i]
		for _, p := range g.Pending {
			s.queue = append(s.queue, p)
			s.held[nameOf(p)] = g.Held != nil
		}
	}
	for _, p := range s.plan.Placements {
		s.placed[p.Pod] = p
	}
}

// nameOf is namespace/name, as plans write it.
func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// nodeName is the API server's form of a name in a plan: h100/new-1 becomes h100-new-1.
func nodeName(planned string) string {
	return strings.ReplaceAll(planned, "/", "-")
}

// folders are the scenarios to try: ours, and those beside the repository where they are.
// Each sort has its own time of decision for scenarios that state none.
func folders(t *testing.T) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	for pattern, at := range map[string]time.Time{
		"../plan/testdata/scenarios/*/expect.json":         time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		os.Getenv("TIDEGATE_SCENARIOS") + "/*/expect.json": time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			out[filepath.Dir(file)] = at
		}
	}
	return out
}

// domainsLeft are the topology values of a group's new nodes that no placement names, for
// nodes that only raise the group to its minimum.
func domainsLeft(up plan.ScaleUp, known map[string]map[string]string) map[string][]string {
	out := map[string][]string{}
	for _, d := range up.Domains {
		used := 0
		for _, domains := range known {
			if domains[d.Key] == d.Domain {
				used++
			}
		}
		out[d.Key] = append(out[d.Key], slices.Repeat([]string{d.Domain}, d.Nodes-used)...)
	}
	return out
}

// newNodes are the nodes that the plan buys, with their topology values, by name.
func (s *scenario) newNodes(up plan.ScaleUp) map[string]map[string]string {
	known := map[string]map[string]string{}
	for _, p := range s.plan.Placements {
		if p.New && p.NodeGroup == up.NodeGroup {
			known[p.Node] = p.Domains
		}
	}
	left := domainsLeft(up, known)
	for i := range up.Add {
		name := fmt.Sprintf("%s/new-%d", up.NodeGroup, i+1)
		if _, ok := known[name]; ok {
			continue
		}
		domains := map[string]string{}
		for key, values := range left {
			domains[key], left[key] = values[0], values[1:]
		}
		known[name] = domains
	}
	return known
}
