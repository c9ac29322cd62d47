package drawn

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Now is the instant at which all drawn clusters are seen.
func Now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// Cluster is a random cluster. Values come from small sets, so that things collide.
type Cluster struct {
	Nodes          []*corev1.Node
	Bound, Pending []*corev1.Pod
	Namespaces     []*corev1.Namespace
	Volumes        []*corev1.PersistentVolume
	Claims         []*corev1.PersistentVolumeClaim
	Classes        []*storagev1.StorageClass
	CSINodes       []*storagev1.CSINode

	daemonSets []*appsv1.DaemonSet // Seen among the Objects only.
}

// New draws a cluster of a few nodes and pods; equal seeds give equal clusters.
func New(seed uint64) *Cluster {
	d := newDrawer(seed, 1)
	c := &Cluster{}
	for i := range 3 + d.IntN(6) {
		name := fmt.Sprintf("n%d", i)
		if i > 0 && d.oneIn(12) {
			name = "u" + d.nodes[i-1]
		}
		d.nodes = append(d.nodes, name)
		c.Nodes = append(c.Nodes, d.node(name))
	}
	for _, name := range []string{"a", "b"} {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Labels = map[string]string{"kubernetes.io/metadata.name": name, "team": pick(d, "red", "blue")}
		c.Namespaces = append(c.Namespaces, n)
		d.storage(c, name)
	}
	for i := range d.IntN(3 * len(c.Nodes)) {
		p := d.pod(fmt.Sprintf("bound-%d", i))
		p.Spec.NodeName = pick(d, d.nodes...)
		p.Status.Phase = pick(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded)
		if d.oneIn(8) {
			now := metav1.NewTime(Now())
			p.DeletionTimestamp = &now
		}
		d.resize(p)
		c.Bound = append(c.Bound, p)
	}
	for i := range 6 + d.IntN(8) {
		name := fmt.Sprintf("pending-%d", i)
		p := d.pod(name)
		if i > 0 && d.oneIn(3) { // A replica of an earlier one, perhaps with other labels.
			p = pick(d, c.Pending...).DeepCopy()
			p.Name, p.UID = name, types.UID(p.Namespace+"/"+name)
			if d.oneIn(2) {
				p.Labels = d.podLabels()
			}
		}
		c.Pending = append(c.Pending, p)
	}
	d.ephemeralClaims(c)
	for i := range d.IntN(3) {
		c.daemonSets = append(c.daemonSets, d.daemonSet(fmt.Sprintf("daemon-%d", i)))
	}
	return c
}

// Objects lists everything that was drawn.
func (c *Cluster) Objects() []runtime.Object {
	var out []runtime.Object
	out = appendObjects(out, c.Nodes)
	out = appendObjects(out, c.Bound)
	out = appendObjects(out, c.Pending)
	out = appendObjects(out, c.Namespaces)
	out = appendObjects(out, c.Volumes)
	out = appendObjects(out, c.Claims)
	out = appendObjects(out, c.Classes)
	out = appendObjects(out, c.CSINodes)
	return appendObjects(out, c.daemonSets)
}

func appendObjects[T runtime.Object](out []runtime.Object, objects []T) []runtime.Object {
	for _, o := range objects {
		out = append(out, o)
	}
	return out
}
