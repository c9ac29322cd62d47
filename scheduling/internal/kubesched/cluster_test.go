package kubesched

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func node(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods: resource.MustParse("10"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	if change != nil {
		change(n)
	}
	return n
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"app": "a"}}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	if change != nil {
		change(p)
	}
	return p
}

func spread(key string, anti bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		term := corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}
		if anti {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
			return
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: term.LabelSelector}}
	}
}

func claim(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

// TestPluginsAnswer shows one refusal of each rule, and the plugin that says it, with a
// pod of the same kind already on node a.
func TestPluginsAnswer(t *testing.T) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	objects := Objects{
		StorageClasses: []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, Provisioner: "p", VolumeBindingMode: &wait}},
		PersistentVolumes: []*corev1.PersistentVolume{{
			ObjectMeta: metav1.ObjectMeta{Name: "pv"},
			Spec: corev1.PersistentVolumeSpec{
				Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
				ClaimRef:    &corev1.ObjectReference{Namespace: "ns", Name: "data", UID: "u"},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
				}}}},
			},
		}},
		PersistentVolumeClaims: []*corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "ns", UID: "u", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}},
	}
	tests := map[string]struct {
		change     func(*corev1.Pod)
		wantA      string
		wantB      string
		wantAnyRef string
	}{
		"fits":     {},
		"too much": {change: func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("8") }, wantA: NodeResourcesFit},
		"selector": {change: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "b"} }, wantA: NodeAffinity},
		"port": {change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
		}, wantA: NodePorts},
		"anti-affinity":        {change: spread("kubernetes.io/hostname", true), wantA: InterPodAffinity},
		"spread":               {change: spread("kubernetes.io/hostname", false), wantA: PodTopologySpread},
		"volume on other node": {change: claim, wantA: VolumeBinding},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := New(objects, LeastAllocated)
			require.NoError(t, err)
			c.AddNode(node("a", nil), nil)
			c.AddNode(node("b", nil), nil)
			first := pod("first", func(p *corev1.Pod) {
				if tc.change != nil && name != "too much" && name != "volume on other node" {
					tc.change(p)
				}
			})
			require.NoError(t, c.AddPod(first, "a"))
			y, r, err := c.Begin(pod("second", tc.change))
			require.NoError(t, err)
			require.Nil(t, r)
			for n, want := range map[string]string{"a": tc.wantA, "b": tc.wantB} {
				r, err := y.Filter(n)
				require.NoError(t, err)
				if want == "" {
					require.Nil(t, r, "node %s", n)
					continue
				}
				require.NotNil(t, r, "node %s", n)
				require.Equal(t, want, r.Plugin, "node %s", n)
			}
			scores, err := y.Score([]string{"b"})
			require.NoError(t, err)
			require.Len(t, scores, 1)
		})
	}
}

// TestReserveTakesTheVolume shows that two pods cannot count on the same unbound volume.
func TestReserveTakesTheVolume(t *testing.T) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := "local"
	pv := func(n string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: n}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, StorageClassName: class,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
			}}}},
		}}
	}
	pvc := func(n string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: "ns"}, Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	}
	c, err := New(Objects{
		StorageClasses:         []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait}},
		PersistentVolumes:      []*corev1.PersistentVolume{pv("pv-1")},
		PersistentVolumeClaims: []*corev1.PersistentVolumeClaim{pvc("one"), pvc("two")},
	}, LeastAllocated)
	require.NoError(t, err)
	c.AddNode(node("a", nil), nil)
	with := func(n string) *corev1.Pod {
		return pod(n, func(p *corev1.Pod) {
			claim(p)
			p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = n
		})
	}
	fits := func(n string) (*Cycle, bool) {
		y, r, err := c.Begin(with(n))
		require.NoError(t, err)
		require.Nil(t, r)
		r, err = y.Filter("a")
		require.NoError(t, err)
		return y, r == nil
	}
	y, ok := fits("one")
	require.True(t, ok)
	require.NoError(t, y.Reserve("a"))
	_, ok = fits("two")
	require.False(t, ok, "the only volume is taken")
	require.NoError(t, c.RemovePod(with("one"), "a"))
	_, ok = fits("two")
	require.True(t, ok, "the volume was given back")
}
