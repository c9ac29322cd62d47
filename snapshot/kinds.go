package snapshot

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type object interface {
	metav1.Object
	runtime.Object
}

// kind is one row of the table of kinds that a snapshot holds.
type kind struct {
	group    string
	name     string
	versions []string // First the one that typed objects are kept in; the others are read too.
	cluster  bool     // Cluster-scoped: has no namespace.
	blank    func() object
}

func (k *kind) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.group, Kind: k.name} }

// typed tells whether objects of the kind are Go structs; the others stay unstructured.
func (k *kind) typed() bool { return k.blank != nil }

// title names the kind in messages. Kinds that share their name with another carry the group.
func (k *kind) title() string {
	if k.typed() {
		return k.name
	}
	return k.name + "." + k.group
}

// registry finds the kinds of the table. It is never changed after newRegistry.
type registry struct {
	byGroupKind map[schema.GroupKind]*kind
	byType      map[reflect.Type]*kind
}

func newRegistry() registry {
	r := registry{byGroupKind: map[schema.GroupKind]*kind{}, byType: map[reflect.Type]*kind{}}
	for _, k := range append(typedKinds(), customKinds()...) {
		r.byGroupKind[k.groupKind()] = &k
		if k.typed() {
			r.byType[reflect.TypeOf(k.blank())] = &k
		}
	}
	return r
}

func typedKinds() []kind {
	v1 := []string{"v1"}
	// The alpha versions differ from v1beta1 in two fields, which alphaGroup rewrites.
	gang := []string{"v1beta1", "v1alpha3", "v1alpha2"}
	const (
		scheduling = "scheduling.k8s.io"
		resource   = "resource.k8s.io"
		storage    = "storage.k8s.io"
	)
	return []kind{
		{"", "Node", v1, true, func() object { return &corev1.Node{} }},
		{"", "Pod", v1, false, func() object { return &corev1.Pod{} }},
		{"", "Namespace", v1, true, func() object { return &corev1.Namespace{} }},
		{"", "PersistentVolume", v1, true, func() object { return &corev1.PersistentVolume{} }},
		{"", "PersistentVolumeClaim", v1, false, func() object { return &corev1.PersistentVolumeClaim{} }},
		{"apps", "DaemonSet", v1, false, func() object { return &appsv1.DaemonSet{} }},
		{"batch", "Job", v1, false, func() object { return &batchv1.Job{} }},
		{"policy", "PodDisruptionBudget", v1, false, func() object { return &policyv1.PodDisruptionBudget{} }},
		{scheduling, "PriorityClass", v1, true, func() object { return &schedulingv1.PriorityClass{} }},
		{scheduling, "PodGroup", gang, false, func() object { return &schedulingv1beta1.PodGroup{} }},
		{scheduling, "Workload", gang, false, func() object { return &schedulingv1beta1.Workload{} }},
		{storage, "StorageClass", v1, true, func() object { return &storagev1.StorageClass{} }},
		{storage, "CSINode", v1, true, func() object { return &storagev1.CSINode{} }},
		{resource, "ResourceSlice", v1, true, func() object { return &resourcev1.ResourceSlice{} }},
		{resource, "ResourceClaim", v1, false, func() object { return &resourcev1.ResourceClaim{} }},
		{resource, "ResourceClaimTemplate", v1, false, func() object { return &resourcev1.ResourceClaimTemplate{} }},
		{resource, "DeviceClass", v1, true, func() object { return &resourcev1.DeviceClass{} }},
		{resource, "DeviceTaintRule", v1, true, func() object { return &resourcev1.DeviceTaintRule{} }},
	}
}

// customKinds keep the version that they were read in.
func customKinds() []kind {
	return []kind{
		{"jobset.x-k8s.io", "JobSet", []string{"v1alpha2", "v1beta1", "v1"}, false, nil},
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", []string{"v1"}, false, nil},
		{"kueue.x-k8s.io", "Workload", []string{"v1beta2", "v1beta1"}, false, nil},
		{"kueue.x-k8s.io", "Topology", []string{"v1beta2", "v1beta1", "v1alpha1"}, true, nil},
		{"scheduling.volcano.sh", "PodGroup", []string{"v1beta1"}, false, nil},
		{"scheduling.x-k8s.io", "PodGroup", []string{"v1alpha1"}, false, nil},
		{"scheduling.run.ai", "PodGroup", []string{"v2alpha2"}, false, nil},
		{"autoscaling.x-k8s.io", "ProvisioningRequest", []string{"v1", "v1beta1"}, false, nil},
		{"tidegate.io", "CapacityPolicy", []string{"v1alpha1"}, true, nil},
		{"tidegate.io", "CheckpointRequest", []string{"v1alpha1"}, false, nil},
	}
}
