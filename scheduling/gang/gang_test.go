package gang_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/snapshot"
)

// read is the snapshot of manifests as kubectl prints them.
func read(t *testing.T, manifests ...string) *snapshot.Snapshot {
	t.Helper()
	b := snapshot.NewBuilder()
	require.NoError(t, b.Read(strings.NewReader(strings.Join(manifests, "\n---\n")), "cluster.yaml"))
	s, err := b.Build()
	require.NoError(t, err)
	return s
}

// pod is a pod's manifest; more lines of its metadata and spec are added as they are.
type pod struct {
	name                  string
	created               int // seconds
	metadata, spec, phase string
}

func (p pod) String() string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  namespace: train
  name: %s
  creationTimestamp: %q
%s
spec:
  containers:
  - name: main
    image: registry.example.com/train:1
    resources: {limits: {nvidia.com/gpu: 8}}
%s
status: {phase: %s}`, p.name, time.Date(2030, 1, 1, 0, 0, p.created, 0, time.UTC).Format(time.RFC3339), p.metadata, p.spec, cmp.Or(p.phase, "Pending"))
}

// members are pods with the same lines, name-0, name-1 and so on.
func members(name string, n int, like pod) []string {
	var out []string
	for i := range n {
		p := like
		p.name = fmt.Sprintf("%s-%d", name, i)
		out = append(out, p.String())
	}
	return out
}

const inGroup = "  schedulingGroup: {podGroupName: llama}"

// group is a PodGroup; spec is indented below its policy.
func group(spec string) string {
	return `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {namespace: train, name: llama, creationTimestamp: "2030-01-01T00:00:05Z"}
spec:
` + spec
}

const (
	minFour = "  schedulingPolicy: {gang: {minCount: 4}}\n"
	basic   = "  schedulingPolicy: {basic: {}}\n"
	byRack  = "  schedulingConstraints: {topology: [{key: example.com/rack}]}\n"
)

const ofJob = `  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: bert, uid: u, controller: true}]
`

// job is an Indexed Job of 4 with the opt-in annotation and these lines on top.
func job(metadata, spec, status string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata:
  namespace: train
  name: bert
  creationTimestamp: "2030-01-01T00:00:02Z"
` + metadata + `
spec:
` + spec + `
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: i}]
status:
` + status
}

const (
	optIn   = `  annotations: {tidegate.io/gang: "true"}`
	indexed = `  completionMode: Indexed
  completions: 4
  parallelism: 4`
)

// row is a gang in short.
type row struct {
	Key, Source    string
	Pending, Bound []string
	Min, Need      int
	Required       string
	Priority       int32
	Created        int
	Held           *v1alpha1.Reason
}

func names(pods []*corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

func rows(gangs []gang.Gang) []row {
	var out []row
	for i := range gangs {
		g := &gangs[i]
		out = append(out, row{Key: g.Key(), Source: g.Source, Pending: names(g.Pending), Bound: names(g.Bound), Min: g.Min, Need: g.Need(),
			Required: g.Required, Priority: g.Priority, Created: g.Created.Second(), Held: g.Held})
	}
	return out
}

func held(code v1alpha1.Code, text string) *v1alpha1.Reason {
	return &v1alpha1.Reason{Code: code, Object: "train/llama", Text: text}
}

func join(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestPodGroups(t *testing.T) {
	waiting := func(n int) []string { return members("w", n, pod{spec: inGroup, created: 10}) }
	four := []string{"w-0", "w-1", "w-2", "w-3"}
	tests := map[string]struct {
		manifests []string
		want      []row
	}{
		"complete": {
			manifests: join([]string{group(minFour)}, waiting(4)),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four, Min: 4, Need: 4, Created: 5}},
		},
		"more than the minimum": {
			manifests: join([]string{group(minFour)}, waiting(5)),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: append(four[:4:4], "w-4"), Min: 4, Need: 4, Created: 5}},
		},
		"one too few": {
			manifests: join([]string{group(minFour)}, waiting(3)),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:3], Min: 4, Need: 4, Created: 5,
				Held: held(v1alpha1.GangIncomplete, "needs 4 pods to start, 3 exist")}},
		},
		"bound members count": {
			manifests: join([]string{group(minFour)}, waiting(2), members("b", 2, pod{spec: inGroup + "\n  nodeName: n1", phase: "Running"})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:2], Bound: []string{"b-0", "b-1"}, Min: 4, Need: 2, Created: 5}},
		},
		"bound members are enough": {
			manifests: join([]string{group(minFour)}, waiting(1), members("b", 4, pod{spec: inGroup + "\n  nodeName: n1"})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:1], Bound: []string{"b-0", "b-1", "b-2", "b-3"}, Min: 4, Created: 5}},
		},
		"ended members do not": {
			manifests: join([]string{group(minFour)}, waiting(2), members("s", 1, pod{spec: inGroup + "\n  nodeName: n1", phase: "Succeeded"}), members("f", 1, pod{spec: inGroup + "\n  nodeName: n1", phase: "Failed"})),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:2], Min: 4, Need: 4, Created: 5,
				Held: held(v1alpha1.GangIncomplete, "needs 4 pods to start, 2 exist")}},
		},
		"terminating members that wait do not": {
			manifests: join([]string{group(minFour)}, waiting(3), members("t", 1, pod{spec: inGroup, metadata: `  deletionTimestamp: "2030-01-01T00:00:00Z"`})),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:3], Min: 4, Need: 4, Created: 5,
				Held: held(v1alpha1.GangIncomplete, "needs 4 pods to start, 3 exist")}},
		},
		"no pod waits": {manifests: join([]string{group(minFour)}, members("b", 4, pod{spec: inGroup + "\n  nodeName: n1"}))},
		"gated members hold a gang that needs them": {
			manifests: join([]string{group(minFour)}, waiting(3), members("x", 1, pod{spec: inGroup + "\n  schedulingGates: [{name: example.com/b}, {name: example.com/a}]", created: 11})),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: append(four[:3:3], "x-0"), Min: 4, Need: 4, Created: 5,
				Held: held(v1alpha1.SchedulingGated, "1 pod has scheduling gates: example.com/a, example.com/b")}},
		},
		"gated members past the minimum are left out": {
			manifests: join([]string{group(minFour)}, waiting(4), members("x", 1, pod{spec: inGroup + "\n  schedulingGates: [{name: example.com/a}]"})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four, Min: 4, Need: 4, Created: 5}},
		},
		"only gated members are left": {
			manifests: join([]string{group(minFour)}, members("b", 4, pod{spec: inGroup + "\n  nodeName: n1"}), members("x", 1, pod{spec: inGroup + "\n  schedulingGates: [{name: example.com/a}]"})),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: []string{"x-0"}, Bound: []string{"b-0", "b-1", "b-2", "b-3"}, Min: 4, Created: 5,
				Held: held(v1alpha1.SchedulingGated, "1 pod has scheduling gates: example.com/a")}},
		},
		"the group is missing": {
			manifests: waiting(2),
			want: []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:2], Min: 1, Need: 1, Created: 10,
				Held: held(v1alpha1.GangIncomplete, "PodGroup train/llama does not exist; the scheduler holds its pods back")}},
		},
		"a topology key": {
			manifests: join([]string{group(minFour + byRack)}, waiting(4)),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four, Min: 4, Need: 4, Required: "example.com/rack", Created: 5}},
		},
		"a basic group is no gang": {
			manifests: join([]string{group(basic)}, waiting(2)),
			want: []row{{Key: "train/w-0", Source: "Pod", Pending: four[:1], Min: 1, Need: 1, Created: 10},
				{Key: "train/w-1", Source: "Pod", Pending: four[1:2], Min: 1, Need: 1, Created: 10}},
		},
		"a basic group with a topology key starts with any pod": {
			manifests: join([]string{group(basic + byRack)}, waiting(2)),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four[:2], Min: 1, Need: 1, Required: "example.com/rack", Created: 5}},
		},
		"the group's priority overrides that of its pods": {
			manifests: join([]string{group(minFour + "  priority: 7\n")}, members("w", 4, pod{spec: inGroup + "\n  priority: 100", created: 10})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four, Min: 4, Need: 4, Priority: 7, Created: 5}},
		},
		"without one the highest of its pods is the gang's": {
			manifests: join([]string{group(minFour)}, waiting(3), members("x", 1, pod{spec: inGroup + "\n  priority: 3", created: 11})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: append(four[:3:3], "x-0"), Min: 4, Need: 4, Priority: 3, Created: 5}},
		},
		"the group wins over the Job": {
			manifests: join([]string{group(minFour), job(optIn, indexed, "  succeeded: 0")}, members("w", 4, pod{spec: inGroup, metadata: ofJob, created: 10})),
			want:      []row{{Key: "train/llama", Source: "PodGroup", Pending: four, Min: 4, Need: 4, Created: 5}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, warnings := gang.Pending(read(t, tc.manifests...))
			require.Empty(t, gocmp.Diff(tc.want, rows(got)))
			require.Empty(t, warnings)
		})
	}
}

func TestIndexedJobs(t *testing.T) {
	waiting := func(n int) []string { return members("bert", n, pod{metadata: ofJob, created: 10}) }
	single := func(i int) row {
		n := fmt.Sprintf("bert-%d", i)
		return row{Key: "train/" + n, Source: "Pod", Pending: []string{n}, Min: 1, Need: 1, Created: 10}
	}
	all := []string{"bert-0", "bert-1", "bert-2", "bert-3"}
	tests := map[string]struct {
		manifests []string
		want      []row
		warnings  []string
	}{
		"opted in": {
			manifests: join([]string{job(optIn, indexed, "  active: 4")}, waiting(4)),
			want:      []row{{Key: "train/bert", Source: "Job", Pending: all, Min: 4, Need: 4, Created: 2}},
		},
		"opted in by the pods": {
			manifests: join([]string{job("", indexed, "  active: 4")}, members("bert", 4, pod{metadata: ofJob + optIn, created: 10})),
			want:      []row{{Key: "train/bert", Source: "Job", Pending: all, Min: 4, Need: 4, Created: 2}},
		},
		"not opted in": {
			manifests: join([]string{job("", indexed, "  active: 2")}, waiting(2)),
			want:      []row{single(0), single(1)},
		},
		"opted in with another value": {
			manifests: join([]string{job(`  annotations: {tidegate.io/gang: "false"}`, indexed, "  active: 2")}, waiting(2)),
			want:      []row{single(0), single(1)},
		},
		"indexes that succeeded are not wanted again": {
			manifests: join([]string{job(optIn, indexed, "  succeeded: 3\n  completedIndexes: 1-3")}, waiting(1), members("done", 3, pod{metadata: ofJob, spec: "  nodeName: n1", phase: "Succeeded"})),
			want:      []row{{Key: "train/bert", Source: "Job", Pending: all[:1], Min: 1, Need: 1, Created: 2}},
		},
		"its controller has not made all pods yet": {
			manifests: join([]string{job(optIn, indexed, "  active: 3")}, waiting(3)),
			want: []row{{Key: "train/bert", Source: "Job", Pending: all[:3], Min: 4, Need: 4, Created: 2,
				Held: &v1alpha1.Reason{Code: v1alpha1.GangIncomplete, Object: "train/bert", Text: "needs 4 pods to start, 3 exist"}}},
		},
		"parallelism and completions differ": {
			manifests: join([]string{job(optIn, "  completionMode: Indexed\n  completions: 8\n  parallelism: 4", "  active: 2")}, waiting(2)),
			want:      []row{single(0), single(1)},
			warnings:  []string{"Job train/bert: annotation tidegate.io/gang has no effect: parallelism and completions differ"},
		},
		"no completions": {
			manifests: join([]string{job(optIn, "  completionMode: Indexed\n  parallelism: 4", "  active: 1")}, waiting(1)),
			want:      []row{single(0)},
			warnings:  []string{"Job train/bert: annotation tidegate.io/gang has no effect: parallelism and completions differ"},
		},
		"not indexed": {
			manifests: join([]string{job(optIn, "  completions: 4\n  parallelism: 4", "  active: 1")}, waiting(1)),
			want:      []row{single(0)},
			warnings:  []string{"Job train/bert: annotation tidegate.io/gang has no effect: completionMode is not Indexed"},
		},
		"the Job is not in the input": {
			manifests: members("bert", 2, pod{metadata: ofJob + optIn, created: 10}),
			want: []row{{Key: "train/bert", Source: "Job", Pending: all[:2], Created: 10,
				Held: &v1alpha1.Reason{Code: v1alpha1.GangIncomplete, Object: "train/bert", Text: "Job train/bert is not in the input, so the gang's size is unknown"}}},
		},
		"pods of another owner with the annotation are ordinary": {
			manifests: []string{pod{name: "bert-0", metadata: optIn, created: 10}.String()},
			want:      []row{single(0)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, warnings := gang.Pending(read(t, tc.manifests...))
			require.Empty(t, gocmp.Diff(tc.want, rows(got)))
			require.Empty(t, gocmp.Diff(tc.warnings, warnings))
		})
	}
}

func TestOrdinaryPods(t *testing.T) {
	tests := map[string]struct {
		pod  pod
		want []row
	}{
		"waits":          {pod: pod{name: "p", created: 1}, want: []row{{Key: "train/p", Source: "Pod", Pending: []string{"p"}, Min: 1, Need: 1, Created: 1}}},
		"bound":          {pod: pod{name: "p", spec: "  nodeName: n1"}},
		"succeeded":      {pod: pod{name: "p", phase: "Succeeded"}},
		"failed":         {pod: pod{name: "p", phase: "Failed"}},
		"terminating":    {pod: pod{name: "p", metadata: `  deletionTimestamp: "2030-01-01T00:00:00Z"`}},
		"of a DaemonSet": {pod: pod{name: "p", metadata: "  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u, controller: true}]"}},
		"gated": {pod: pod{name: "p", spec: "  schedulingGates: [{name: example.com/a}]"}, want: []row{{Key: "train/p", Source: "Pod", Pending: []string{"p"}, Min: 1, Need: 1,
			Held: &v1alpha1.Reason{Code: v1alpha1.SchedulingGated, Object: "train/p", Text: "1 pod has scheduling gates: example.com/a"}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, warnings := gang.Pending(read(t, tc.pod.String()))
			require.Empty(t, gocmp.Diff(tc.want, rows(got)))
			require.Empty(t, warnings)
		})
	}
}

// TestOrder serves priority, then age, then size, then names with their numbers, whatever
// the order in which the objects were read.
func TestOrder(t *testing.T) {
	named := func(name string, least int) string {
		return strings.NewReplacer("llama", name, "minCount: 4", fmt.Sprintf("minCount: %d", least)).Replace(group(minFour))
	}
	of := func(name string) string { return strings.Replace(inGroup, "llama", name, 1) }
	manifests := join(
		[]string{named("small", 1), named("large", 2)},
		members("small", 1, pod{spec: of("small"), created: 30}),
		members("large", 2, pod{spec: of("large"), created: 30}),
		[]string{
			pod{name: "urgent", created: 50, spec: "  priority: 10"}.String(),
			pod{name: "lazy", created: 0, spec: "  priority: -10"}.String(),
			pod{name: "old", created: 1}.String(),
			pod{name: "worker-10", created: 9}.String(),
			pod{name: "worker-9", created: 9}.String(),
			pod{name: "worker-09", created: 9}.String(),
			pod{name: "worker", created: 9}.String(),
			pod{name: "worker-9-a", created: 9}.String(),
		})
	want := []string{"train/urgent", "train/old", "train/large", "train/small", "train/worker", "train/worker-09", "train/worker-9", "train/worker-9-a", "train/worker-10", "train/lazy"}
	reversed := make([]string, len(manifests))
	for i, m := range manifests {
		reversed[len(manifests)-1-i] = m
	}
	for name, in := range map[string][]string{"as written": manifests, "reversed": reversed} {
		t.Run(name, func(t *testing.T) {
			got, _ := gang.Pending(read(t, in...))
			var keys []string
			for i := range got {
				keys = append(keys, got[i].Key())
			}
			require.Equal(t, want, keys)
		})
	}
}

// TestMembersInOrder lists the members of a gang by creation, then by name with numbers.
func TestMembersInOrder(t *testing.T) {
	got, _ := gang.Pending(read(t, join([]string{group(minFour)}, members("w", 12, pod{spec: inGroup, created: 10}), members("first", 1, pod{spec: inGroup, created: 1}))...))
	require.Len(t, got, 1)
	require.Equal(t, []string{"first-0", "w-0", "w-1", "w-2", "w-3", "w-4", "w-5", "w-6", "w-7", "w-8", "w-9", "w-10", "w-11"}, names(got[0].Pending))
}

// TestTerminatingMembersAreGone: a gang that is being stopped must not start its
// replacements one by one, as if the pods on their way out still counted.
func TestTerminatingMembersAreGone(t *testing.T) {
	leaving := pod{spec: inGroup + "\n  nodeName: n1", metadata: `  deletionTimestamp: "2030-01-01T00:00:00Z"`}
	got, _ := gang.Pending(read(t, join([]string{group(minFour)}, members("old", 4, leaving), members("w", 2, pod{spec: inGroup, created: 10}))...))
	require.Len(t, got, 1)
	require.Equal(t, 4, got[0].Need())
	require.Equal(t, held(v1alpha1.GangIncomplete, "needs 4 pods to start, 2 exist"), got[0].Held)
}
