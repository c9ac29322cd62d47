package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
	"tidegate.io/autoscaler/snapshot"
)

// expectation is expect.json: what is right about the plan of a scenario. Every key is
// optional. A name is namespace/pod or namespace/gang.
type expectation struct {
	// At is the decision time.
	At time.Time `json:"at"`
	// ScaleUps are exactly the groups that grow, by exactly as many nodes.
	ScaleUps map[string]int64 `json:"scaleUps"`
	// ScaleUpTotal is the number of nodes added over all groups.
	ScaleUpTotal *int64 `json:"scaleUpTotal"`
	// Placed names have a place; "ns/gang=8" has that many members placed.
	Placed []string `json:"placed"`
	// NotPlaced names get nothing and are listed with at least these reasons by group.
	NotPlaced map[string]map[string]string `json:"notPlaced"`
	// NothingPlaced names get nothing, wherever else they are listed.
	NothingPlaced []string `json:"nothingPlaced"`
	// Waiting names are held back with this reason.
	Waiting map[string]string `json:"waiting"`
	// SameDomain: all placements of the name share one domain of the key.
	SameDomain map[string]string `json:"sameDomain"`
	// Domains: the placements of the name span exactly as many domains of the key.
	Domains map[string]map[string]int `json:"domains"`
	// OnlyExisting names are placed without any new node.
	OnlyExisting []string `json:"onlyExisting"`
	// OnGroups: all placements of the name are on nodes of these groups.
	OnGroups map[string][]string `json:"onGroups"`
	// DevicesPer is the number of devices listed for a pod.
	DevicesPer map[string]int `json:"devicesPer"`
	// DistinctDevices: no device is given twice.
	DistinctDevices bool `json:"distinctDevices"`
	// ScaleDowns are exactly the nodes removed, by group.
	ScaleDowns map[string][]string `json:"scaleDowns"`
	// MaxCostAfter is in dollars an hour.
	MaxCostAfter *configv1alpha1.MicroDollars `json:"maxCostAfter"`
	// Wake is the next instant at which to decide.
	Wake *time.Time `json:"wake"`
	// Warnings each occur in some warning of the plan.
	Warnings []string `json:"warnings"`
	// Fails: the input is refused with a message that contains each of Stderr.
	Fails  bool     `json:"fails"`
	Stderr []string `json:"stderr"`
}

// TestScenarios decides every folder of testdata/scenarios: cluster.yaml and config.yaml
// are the input, expect.json is what is right, and README.md says why.
func TestScenarios(t *testing.T) {
	folders, err := filepath.Glob("testdata/scenarios/*/expect.json")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, path := range folders {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			require.FileExists(t, filepath.Join(folder, "README.md"))
			runScenario(t, folder)
		})
	}
}

func runScenario(t *testing.T, folder string) {
	t.Helper()
	want := expectation{At: now}
	decoder := json.NewDecoder(bytes.NewReader(readFile(t, folder, "expect.json")))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&want))

	p, err := decideScenario(t, folder, want.At)
	if want.Fails {
		require.Error(t, err)
		for _, s := range want.Stderr {
			require.ErrorContains(t, err, s)
		}
		return
	}
	require.NoError(t, err)
	if bad := want.compare(p); len(bad) > 0 {
		text, err := json.MarshalIndent(p, "", " ")
		require.NoError(t, err)
		require.Empty(t, bad, string(text))
	}
}

func readFile(t *testing.T, folder, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return data
}

// decideScenario plans, twice from the same input and with the same bytes, and checks
// what holds for every plan.
func decideScenario(t *testing.T, folder string, at time.Time) (*plan.Plan, error) {
	t.Helper()
	snap, config, err := readScenario(t, folder)
	if err != nil {
		return nil, err
	}
	require.Empty(t, snap.Warnings())
	p, err := plan.Decide(snap, config, at, plan.Options{})
	if err != nil {
		return nil, err
	}
	checkPlan(t, snap, config, p)
	again, err := plan.Decide(snap, config, at, plan.Options{})
	require.NoError(t, err)
	require.Equal(t, p, again)
	return p, nil
}

// members are the placements of a pod or a gang.
func members(p *plan.Plan, name string) []plan.Placement {
	var out []plan.Placement
	for _, x := range p.Placements {
		if x.Gang == name || x.Pod == name || strings.HasPrefix(x.Pod, name+"-") {
			out = append(out, x)
		}
	}
	return out
}

// compare says in which points the plan falls short.
func (e *expectation) compare(p *plan.Plan) []string {
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	e.compareScaleUps(p, fail)
	e.comparePlaced(p, fail)
	e.compareRefused(p, fail)
	e.compareWhere(p, fail)
	e.compareDevices(p, fail)
	if e.MaxCostAfter != nil && p.Cost.After > *e.MaxCostAfter {
		fail("costs %s, want at most %s", p.Cost.After, *e.MaxCostAfter)
	}
	if e.Wake != nil && (p.Wake == nil || !p.Wake.Equal(*e.Wake)) {
		fail("wake %v, want %s", p.Wake, e.Wake)
	}
	for _, s := range e.Warnings {
		if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, s) }) {
			fail("no warning about %q in %q", s, p.Warnings)
		}
	}
	return bad
}

type failure func(format string, args ...any)

func (e *expectation) compareScaleUps(p *plan.Plan, fail failure) {
	ups, total := map[string]int64{}, int64(0)
	for _, u := range p.ScaleUps {
		ups[u.NodeGroup] += u.Add
		total += u.Add
	}
	if e.ScaleUps != nil && !maps.Equal(ups, e.ScaleUps) {
		fail("scale-ups %v, want %v", ups, e.ScaleUps)
	}
	if e.ScaleUpTotal != nil && total != *e.ScaleUpTotal {
		fail("adds %d nodes, want %d", total, *e.ScaleUpTotal)
	}
	if e.ScaleDowns == nil {
		return
	}
	downs := map[string][]string{}
	for _, d := range p.ScaleDowns {
		downs[d.NodeGroup] = append(downs[d.NodeGroup], d.Nodes...)
		slices.Sort(downs[d.NodeGroup])
	}
	if !maps.EqualFunc(downs, e.ScaleDowns, func(a, b []string) bool { return slices.Equal(a, slices.Sorted(slices.Values(b))) }) {
		fail("scale-downs %v, want %v", downs, e.ScaleDowns)
	}
}

func (e *expectation) comparePlaced(p *plan.Plan, fail failure) {
	for _, name := range e.Placed {
		name, number, exact := strings.Cut(name, "=")
		got := len(members(p, name))
		if want, err := strconv.Atoi(number); exact && (err != nil || got != want) || got == 0 {
			fail("%s: %d members placed, want %s", name, got, number)
		}
	}
	for _, name := range e.NothingPlaced {
		if got := len(members(p, name)); got > 0 {
			fail("%s: %d members placed, want none", name, got)
		}
	}
	for _, name := range e.OnlyExisting {
		m := members(p, name)
		if len(m) == 0 || slices.ContainsFunc(m, func(x plan.Placement) bool { return x.New }) {
			fail("%s: not wholly on existing nodes", name)
		}
	}
}

func (e *expectation) compareRefused(p *plan.Plan, fail failure) {
	for name, reasons := range e.NotPlaced {
		if got := len(members(p, name)); got > 0 {
			fail("%s: %d members placed, want none", name, got)
		}
		i := slices.IndexFunc(p.Unschedulable, func(u plan.Unschedulable) bool { return u.Gang == name })
		if i < 0 {
			fail("%s: not listed as unschedulable", name)
			continue
		}
		got := map[string]string{}
		for _, r := range p.Unschedulable[i].NodeGroups {
			got[r.NodeGroup] = string(r.Reason)
		}
		for group, want := range reasons {
			if got[group] != want {
				fail("%s: %s says %q, want %q", name, group, got[group], want)
			}
		}
	}
	for name, want := range e.Waiting {
		i := slices.IndexFunc(p.Waiting, func(w plan.Waiting) bool { return w.Gang == name })
		if i < 0 || string(p.Waiting[i].Reason) != want {
			fail("%s: waiting %v, want %s", name, p.Waiting, want)
		}
	}
}

func (e *expectation) compareWhere(p *plan.Plan, fail failure) {
	span := func(name, key string) map[string]bool {
		out := map[string]bool{}
		for _, x := range members(p, name) {
			out[x.Domains[key]] = true
		}
		return out
	}
	for name, key := range e.SameDomain {
		if s := span(name, key); len(s) != 1 || s[""] {
			fail("%s: domains %v of %s, want one", name, slices.Sorted(maps.Keys(s)), key)
		}
	}
	for name, keys := range e.Domains {
		for key, want := range keys {
			if s := span(name, key); len(s) != want || s[""] {
				fail("%s: domains %v of %s, want %d", name, slices.Sorted(maps.Keys(s)), key, want)
			}
		}
	}
	for name, groups := range e.OnGroups {
		m := members(p, name)
		if len(m) == 0 || slices.ContainsFunc(m, func(x plan.Placement) bool { return !slices.Contains(groups, x.NodeGroup) }) {
			fail("%s: on %v, want %v", name, m, groups)
		}
	}
}

func (e *expectation) compareDevices(p *plan.Plan, fail failure) {
	for pod, want := range e.DevicesPer {
		got := 0
		for _, x := range members(p, pod) {
			got += len(x.Devices)
		}
		if got != want {
			fail("%s: %d devices, want %d", pod, got, want)
		}
	}
	seen := map[string]bool{}
	for _, x := range p.Placements {
		for _, d := range x.Devices {
			key := fmt.Sprint(x.Node, d.Driver, d.Pool, d.Device)
			if e.DistinctDevices && seen[key] {
				fail("device %s given twice", key)
			}
			seen[key] = true
		}
	}
}

func readScenario(t *testing.T, folder string) (*snapshot.Snapshot, *configv1alpha1.AutoscalerConfiguration, error) {
	t.Helper()
	config, err := configv1alpha1.Load(readFile(t, folder, "config.yaml"), "config.yaml")
	if err != nil {
		return nil, nil, err
	}
	b := snapshot.NewBuilder()
	if err := b.Read(bytes.NewReader(readFile(t, folder, "cluster.yaml")), "cluster.yaml"); err != nil {
		return nil, nil, err
	}
	snap, err := b.Build()
	return snap, config, err
}

// goodPlan is the plan of a scenario, to be broken.
func goodPlan(t *testing.T, folder string) (*snapshot.Snapshot, *configv1alpha1.AutoscalerConfiguration, *plan.Plan) {
	t.Helper()
	snap, config, err := readScenario(t, folder)
	require.NoError(t, err)
	p, err := plan.Decide(snap, config, now, plan.Options{})
	require.NoError(t, err)
	checkPlan(t, snap, config, p)
	return snap, config, p
}
