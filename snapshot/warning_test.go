package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/snapshot"
)

func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"unknown kinds": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: apps/v1\nkind: Deployment\n",
			[]string{
				"dump: apps/v1 Deployment: 1 object skipped, no decision reads this kind",
				"dump: v1 ConfigMap: 2 objects skipped, no decision reads this kind",
			},
		},
		"unknown kind with items": {
			`{"apiVersion":"a.io/v1","items":["a"],"kind":"Basket","metadata":{"name":"x"}}`,
			[]string{"dump: a.io/v1 Basket: 1 object skipped, no decision reads this kind"},
		},
		"unknown typed list": {
			`{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"EventList"}`,
			[]string{"dump: v1 Event: 2 objects skipped, no decision reads this kind"},
		},
		"other versions": {
			"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n---\napiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: a}\n",
			[]string{
				"dump: policy/v1beta1 PodDisruptionBudget: 1 object skipped, the version that is read is policy/v1",
				"dump: resource.k8s.io/v1beta1 ResourceSlice: 1 object skipped, the version that is read is resource.k8s.io/v1",
			},
		},
		"duplicates": {yamlA + "---\n" + jsonA + "\n---\n" + yamlA, []string{"dump: Pod x/a: given 3 times, all the same"}},
		"cluster-scoped in a namespace": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: n1, namespace: x}\n",
			[]string{`dump: Node n1: metadata.namespace: "x" dropped, the kind is cluster-scoped`},
		},
		"unknown field": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resource: {}}]}\n",
			[]string{"dump: Pod default/a: spec.containers[0].resource: unknown field, ignored"},
		},
		"references of a pod": {
			`apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x}
spec:
  nodeName: n1
  priorityClassName: low
  schedulingGroup: {podGroupName: g}
  volumes:
  - {name: v, emptyDir: {}}
  - {name: w, persistentVolumeClaim: {claimName: c}}
  resourceClaims:
  - {name: one, resourceClaimName: rc}
  - {name: two, resourceClaimTemplateName: rct}
  - {name: three, resourceClaimTemplateName: other}
status: {resourceClaimStatuses: [{name: three, resourceClaimName: made}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1
`,
			[]string{
				`dump: Pod x/a: spec.nodeName: Node "n1" is not in the dump`,
				`dump: Pod x/a: spec.priorityClassName: PriorityClass "low" is not in the dump`,
				`dump: Pod x/a: spec.resourceClaims[0].resourceClaimName: ResourceClaim "rc" is not in the dump`,
				`dump: Pod x/a: spec.resourceClaims[1].resourceClaimTemplateName: ResourceClaimTemplate "rct" is not in the dump`,
				`dump: Pod x/a: spec.schedulingGroup.podGroupName: PodGroup "g" is not in the dump`,
				`dump: Pod x/a: spec.volumes[1].persistentVolumeClaim.claimName: PersistentVolumeClaim "c" is not in the dump`,
				`dump: Pod x/a: status.resourceClaimStatuses[].resourceClaimName: ResourceClaim "made" is not in the dump`,
			},
		},
		"references of a PodGroup": {
			"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {workloadRef: {workloadName: w, templateName: t}, resourceClaims: [{name: a, resourceClaimName: c}]}\n",
			[]string{
				`dump: PodGroup default/g: spec.resourceClaims[0].resourceClaimName: ResourceClaim "c" is not in the dump`,
				`dump: PodGroup default/g: spec.workloadRef.workloadName: Workload "w" is not in the dump`,
			},
		},
		"finished pods and absent priority classes are quiet": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: n1}\nstatus: {phase: Failed}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {priorityClassName: low}\n",
			nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := read(tc.text)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, warnings(s)))
		})
	}
}

func TestWarningsOfOneSortAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 25 {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: Pod\nmetadata: {name: p%02d}\nspec: {nodeName: n1}\n---\n", i)
	}
	s, err := read(text.String())
	require.NoError(t, err)
	got := warnings(s)
	require.Len(t, got, 11)
	require.Equal(t, `dump: Pod default/p09: spec.nodeName: Node "n1" is not in the dump`, got[9])
	require.Equal(t, "Pod spec.nodeName: and 15 more like these", got[10])
}

func TestDuplicatesInTwoSources(t *testing.T) {
	var got [][]string
	for _, order := range [][]string{{"one", "two"}, {"two", "one"}} {
		b := snapshot.NewBuilder()
		for _, source := range order {
			require.NoError(t, b.Read(strings.NewReader(yamlA+"spec: {nodeName: n1}\n"), source))
		}
		s, err := b.Build()
		require.NoError(t, err)
		got = append(got, warnings(s))
	}
	require.Equal(t, []string{
		"Pod x/a: given 2 times, all the same (one, two)",
		`one: Pod x/a: spec.nodeName: Node "n1" is not in the dump`,
	}, got[0])
	require.Equal(t, got[0], got[1])

	b := snapshot.NewBuilder()
	require.NoError(t, b.Read(strings.NewReader(yamlA), "one"))
	err := b.Read(strings.NewReader("\n"+yamlA+"spec: {nodeName: n1}\n"), "two")
	require.EqualError(t, err, "two: document 1 (line 2): Pod x/a: differs from the object of that name in one: document 1 (line 1)")
}
