package snapshot

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot is the input of one decision. It never changes: callers must not modify the
// slices and objects that it hands out, some of which may be shared with a watch cache. Each
// accessor returns its objects sorted by namespace and name.
type Snapshot struct {
	// groups holds every object once: sorted by group and kind, and each by namespace and
	// name. The typed slices below hold the same pointers in the same order.
	groups []group

	nodes             []*corev1.Node
	pods              []*corev1.Pod
	namespaces        []*corev1.Namespace
	volumes           []*corev1.PersistentVolume
	volumeClaims      []*corev1.PersistentVolumeClaim
	daemonSets        []*appsv1.DaemonSet
	jobs              []*batchv1.Job
	disruptionBudgets []*policyv1.PodDisruptionBudget
	priorityClasses   []*schedulingv1.PriorityClass
	podGroups         []*schedulingv1beta1.PodGroup
	workloads         []*schedulingv1beta1.Workload
	storageClasses    []*storagev1.StorageClass
	csiNodes          []*storagev1.CSINode
	resourceSlices    []*resourcev1.ResourceSlice
	claims            []*resourcev1.ResourceClaim
	claimTemplates    []*resourcev1.ResourceClaimTemplate
	deviceClasses     []*resourcev1.DeviceClass
	deviceTaintRules  []*resourcev1.DeviceTaintRule
	custom            map[schema.GroupKind][]*unstructured.Unstructured
	warnings          []Warning
}

type group struct {
	kind    *kind
	objects []object
}

// New is a Builder in one call.
func New(objs ...runtime.Object) (*Snapshot, error) {
	b := NewBuilder()
	if err := b.Add(objs...); err != nil {
		return nil, err
	}
	return b.Build()
}

// Nodes returns the nodes.
func (s *Snapshot) Nodes() []*corev1.Node { return s.nodes }

// Pods returns the pods, finished and terminating ones too.
func (s *Snapshot) Pods() []*corev1.Pod { return s.pods }

// Namespaces returns the namespaces.
func (s *Snapshot) Namespaces() []*corev1.Namespace { return s.namespaces }

// PersistentVolumes returns the persistent volumes.
func (s *Snapshot) PersistentVolumes() []*corev1.PersistentVolume { return s.volumes }

// PersistentVolumeClaims returns the persistent volume claims.
func (s *Snapshot) PersistentVolumeClaims() []*corev1.PersistentVolumeClaim { return s.volumeClaims }

// DaemonSets returns the DaemonSets.
func (s *Snapshot) DaemonSets() []*appsv1.DaemonSet { return s.daemonSets }

// Jobs returns the Jobs of batch/v1.
func (s *Snapshot) Jobs() []*batchv1.Job { return s.jobs }

// PodDisruptionBudgets returns the disruption budgets.
func (s *Snapshot) PodDisruptionBudgets() []*policyv1.PodDisruptionBudget { return s.disruptionBudgets }

// PriorityClasses returns the priority classes.
func (s *Snapshot) PriorityClasses() []*schedulingv1.PriorityClass { return s.priorityClasses }

// PodGroups returns the PodGroups of scheduling.k8s.io; for those of others see Custom.
func (s *Snapshot) PodGroups() []*schedulingv1beta1.PodGroup { return s.podGroups }

// Workloads returns the Workloads of scheduling.k8s.io; for Kueue's see Custom.
func (s *Snapshot) Workloads() []*schedulingv1beta1.Workload { return s.workloads }

// StorageClasses returns the storage classes.
func (s *Snapshot) StorageClasses() []*storagev1.StorageClass { return s.storageClasses }

// CSINodes returns the CSI nodes.
func (s *Snapshot) CSINodes() []*storagev1.CSINode { return s.csiNodes }

// ResourceSlices returns the devices that drivers offer.
func (s *Snapshot) ResourceSlices() []*resourcev1.ResourceSlice { return s.resourceSlices }

// ResourceClaims returns the claims for devices.
func (s *Snapshot) ResourceClaims() []*resourcev1.ResourceClaim { return s.claims }

// ResourceClaimTemplates returns the templates of claims.
func (s *Snapshot) ResourceClaimTemplates() []*resourcev1.ResourceClaimTemplate {
	return s.claimTemplates
}

// DeviceClasses returns the device classes.
func (s *Snapshot) DeviceClasses() []*resourcev1.DeviceClass { return s.deviceClasses }

// DeviceTaintRules returns the rules that taint devices.
func (s *Snapshot) DeviceTaintRules() []*resourcev1.DeviceTaintRule { return s.deviceTaintRules }

// Custom returns the objects of a kind that has no Go type here, such as Kueue's Workload.
func (s *Snapshot) Custom(gk schema.GroupKind) []*unstructured.Unstructured { return s.custom[gk] }

// Warnings returns what is doubtful about the input, in a fixed order.
func (s *Snapshot) Warnings() []Warning { return s.warnings }

// fill sets the typed slices from the groups.
func (s *Snapshot) fill() {
	s.nodes = pick[*corev1.Node](s)
	s.pods = pick[*corev1.Pod](s)
	s.namespaces = pick[*corev1.Namespace](s)
	s.volumes = pick[*corev1.PersistentVolume](s)
	s.volumeClaims = pick[*corev1.PersistentVolumeClaim](s)
	s.daemonSets = pick[*appsv1.DaemonSet](s)
	s.jobs = pick[*batchv1.Job](s)
	s.disruptionBudgets = pick[*policyv1.PodDisruptionBudget](s)
	s.priorityClasses = pick[*schedulingv1.PriorityClass](s)
	s.podGroups = pick[*schedulingv1beta1.PodGroup](s)
	s.workloads = pick[*schedulingv1beta1.Workload](s)
	s.storageClasses = pick[*storagev1.StorageClass](s)
	s.csiNodes = pick[*storagev1.CSINode](s)
	s.resourceSlices = pick[*resourcev1.ResourceSlice](s)
	s.claims = pick[*resourcev1.ResourceClaim](s)
	s.claimTemplates = pick[*resourcev1.ResourceClaimTemplate](s)
	s.deviceClasses = pick[*resourcev1.DeviceClass](s)
	s.deviceTaintRules = pick[*resourcev1.DeviceTaintRule](s)
	s.custom = map[schema.GroupKind][]*unstructured.Unstructured{}
	for _, g := range s.groups {
		if g.kind.typed() {
			continue
		}
		for _, o := range g.objects {
			s.custom[g.kind.groupKind()] = append(s.custom[g.kind.groupKind()], o.(*unstructured.Unstructured))
		}
	}
}

func pick[T object](s *Snapshot) []T {
	for _, g := range s.groups {
		if _, ok := g.objects[0].(T); !ok { // Groups are never empty.
			continue
		}
		out := make([]T, len(g.objects))
		for i, o := range g.objects {
			out[i] = o.(T)
		}
		return out
	}
	return nil
}

// compareGroups orders by 1. API group, 2. kind; together they are unique.
func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(a.kind.group, b.kind.group), cmp.Compare(a.kind.name, b.kind.name))
}

// compareObjects orders objects of one kind by 1. namespace, 2. name; together they are unique.
func compareObjects(a, b object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

func sortGroups(groups []group) {
	slices.SortFunc(groups, compareGroups)
	for _, g := range groups {
		slices.SortFunc(g.objects, compareObjects)
	}
}

// Ended says whether the pod has run to its end, well or not: it takes no room any more.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
