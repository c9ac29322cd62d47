package drawn

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const driver = "csi.example.com"

// storage draws the claims of a namespace, one of each sort that the volume plugins tell
// apart, with the volumes and classes behind them.
func (d *drawer) storage(c *Cluster, namespace string) {
	if namespace == "a" {
		d.classes(c)
		d.limits(c)
	}
	claim := func(name, class string, volume *corev1.PersistentVolume, mode corev1.PersistentVolumeAccessMode) {
		p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
		p.Spec.StorageClassName = &class
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		p.Status.Phase = corev1.ClaimPending
		if volume != nil {
			volume.Name = namespace + "-" + name
			volume.Spec.AccessModes = p.Spec.AccessModes
			volume.Spec.Capacity = p.Spec.Resources.Requests
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: name, UID: p.UID}
			volume.Status.Phase = corev1.VolumeBound
			p.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			p.Spec.VolumeName, p.Status.Phase = volume.Name, corev1.ClaimBound
			c.Volumes = append(c.Volumes, volume)
		}
		c.Claims = append(c.Claims, p)
	}
	claim("bound-host", "now", volumeOn(corev1.LabelHostname, pick(d, d.nodes...)), corev1.ReadWriteOnce)
	claim("bound-zone", "now", volumeOn(corev1.LabelTopologyZone, pick(d, "z1", "z2")), corev1.ReadWriteOnce)
	labelled := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: pick(d, "z1", "z2", "z1__z2")}}}
	claim("label-zone", "now", labelled, corev1.ReadWriteOnce)
	claim("alone", "now", &corev1.PersistentVolume{}, corev1.ReadWriteOncePod)
	claim("unbound", "now", nil, corev1.ReadWriteOnce)
	claim("dynamic", "dynamic", nil, corev1.ReadWriteOnce)
	claim("local-1", "local", nil, corev1.ReadWriteOnce)
	claim("local-2", "local", nil, corev1.ReadWriteOnce)
	for i := range 3 {
		v := &corev1.PersistentVolume{}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: fmt.Sprintf("%s-%d", namespace, i)}
		claim(fmt.Sprintf("csi-%d", i), "now", v, corev1.ReadWriteMany)
	}
}

func volumeOn(key, value string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
	}}}}
	return v
}

// classes draws the storage classes, and local volumes that claims can take.
func (d *drawer) classes(c *Cluster) {
	wait, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	dynamic := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "dynamic"}, Provisioner: driver, VolumeBindingMode: &wait}
	if d.oneIn(2) {
		dynamic.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"z1"}}}}}
	}
	c.Classes = append(c.Classes, dynamic,
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Provisioner: driver, VolumeBindingMode: &now})
	for i := range d.IntN(4) {
		v := volumeOn(corev1.LabelHostname, pick(d, d.nodes...))
		v.Name = fmt.Sprintf("local-%d", i)
		v.Spec.StorageClassName = "local"
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: d.quantity("500Mi", "1Gi", "2Gi")}
		v.Status.Phase = corev1.VolumeAvailable
		c.Volumes = append(c.Volumes, v)
	}
}

// limits draws how many CSI volumes a node holds.
func (d *drawer) limits(c *Cluster) {
	for _, n := range d.nodes {
		if d.oneIn(2) {
			most := int32(1 + d.IntN(2))
			x := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n}}
			x.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, NodeID: n, Allocatable: &storagev1.VolumeNodeResources{Count: &most}}}
			c.CSINodes = append(c.CSINodes, x)
		}
	}
}

func (d *drawer) podVolumes(s *corev1.PodSpec) {
	if !d.oneIn(4) {
		return
	}
	v := corev1.Volume{Name: "v"}
	switch d.IntN(8) {
	case 0:
		v.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: "disk", ReadOnly: d.oneIn(2)}
	case 1:
		v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "disk", ReadOnly: d.oneIn(2)}
	case 2:
		v.ISCSI = &corev1.ISCSIVolumeSource{IQN: pick(d, "one", "two"), ReadOnly: d.oneIn(2)}
	case 3:
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
	case 4:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	default:
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(d, "bound-host", "bound-zone", "label-zone", "label-zone", "alone", "alone",
			"unbound", "dynamic", "local-1", "local-2", "csi-0", "csi-1", "csi-2", "csi-0", "csi-1", "csi-2", "missing")}
	}
	s.Volumes = append(s.Volumes, v)
}

// ephemeralClaims draws the claims of the pods' generic ephemeral volumes; some are not
// made yet, and some belong to another pod.
func (d *drawer) ephemeralClaims(c *Cluster) {
	wait, yes := "dynamic", true
	for _, p := range append(append([]*corev1.Pod{}, c.Bound...), c.Pending...) {
		if len(p.Spec.Volumes) == 0 || p.Spec.Volumes[0].Ephemeral == nil || d.oneIn(4) {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "-v", UID: types.UID(p.Namespace + "/" + p.Name + "-v")}}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: &yes}}
		if d.oneIn(6) {
			claim.OwnerReferences = nil
		}
		claim.Spec.StorageClassName = &wait
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Status.Phase = corev1.ClaimPending
		c.Claims = append(c.Claims, claim)
	}
}
