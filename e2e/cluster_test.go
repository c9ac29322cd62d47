//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
)

// cluster is what tests do with the API server. It serves one scenario after the other.
type cluster struct {
	*kubernetes.Clientset
	objects dynamic.Interface
	mapper  meta.RESTMapper
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	typed, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	groups, err := restmapper.GetAPIGroupResources(typed.Discovery())
	require.NoError(t, err)
	c := &cluster{Clientset: typed, objects: objects, mapper: restmapper.NewDiscoveryRESTMapper(groups)}
	c.namespace(t, fenceNamespace, nil)
	return c
}

// resource is the endpoint of an object's kind, in its namespace.
func (c *cluster) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.objects.Resource(m.Resource).Namespace(namespace), nil
	}
	return c.objects.Resource(m.Resource), nil
}

// create makes an object and, where the API server takes a status only afterwards, gives
// it the status that it has in the dump.
func (c *cluster) create(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	name := o.GetKind() + " " + nameOf(o)
	r, err := c.resource(o.GroupVersionKind(), o.GetNamespace())
	require.NoError(t, err, name)
	made, err := r.Create(t.Context(), o, metav1.CreateOptions{})
	require.NoError(t, err, name)
	status, ok := o.Object["status"]
	if !ok || o.GetKind() == "Node" {
		return made
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // Controllers write statuses, too.
		if made, err = r.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		made.Object["status"] = status
		made, err = r.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
		return err
	})
	require.NoError(t, err, "status of %s", name)
	return made
}

// createTyped makes an object of a Go type, which names its kind.
func (c *cluster) createTyped(t *testing.T, o runtime.Object, kind schema.GroupVersionKind) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	return c.create(t, u)
}

// namespace makes a namespace or gives the one that there is these labels: nothing here
// removes namespaces.
func (c *cluster) namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	namespaces := c.CoreV1().Namespaces()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := namespaces.Create(t.Context(), n, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = namespaces.Update(t.Context(), n, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}

func (c *cluster) patchPod(t *testing.T, namespace, name, patch string, subresources ...string) {
	t.Helper()
	_, err := c.CoreV1().Pods(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	require.NoError(t, err, "pod %s/%s", namespace, name)
}

func (c *cluster) pods(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	list, err := c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	out := map[string]*corev1.Pod{}
	for i := range list.Items {
		p := &list.Items[i]
		out[nameOf(p)] = p
	}
	return out
}

// fenceNamespace holds the pods of fence.
const fenceNamespace = "fence"

// fence waits until the scheduler knows exactly this many nodes. It asks with a pod that
// fits none: the scheduler's message about it begins with their number. The pod is gone
// from the scheduler's queue before any later change of a pod reaches it.
func (c *cluster) fence(t *testing.T, nodes int) {
	t.Helper()
	want := fmt.Sprintf("0/%d nodes are available", nodes)
	if nodes == 0 {
		want = "no nodes available"
	}
	pods := c.CoreV1().Pods(fenceNamespace)
	said := ""
	for i := range 50 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("fence-%d", i)}}
		p.Spec.NodeSelector = map[string]string{"no-node-has/this-label": ""}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "example/fence:1"}}
		_, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
		require.NoError(t, err)
		err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			p, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			said = scheduled(p).Message
			return said != "", nil
		})
		require.NoError(t, err, "the scheduler says nothing of a pod")
		none := int64(0)
		require.NoError(t, pods.Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}))
		if strings.Contains(said, want) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Failf(t, "the scheduler does not see the nodes", "want %q, it says: %s", want, said)
}

// scheduled is the condition PodScheduled, empty where the scheduler has said nothing.
func scheduled(p *corev1.Pod) corev1.PodCondition {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// wiped are the kinds that a scenario may leave behind; those whose controllers would
// make new objects come first.
func wiped() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Version: "v1", Resource: "pods"},
		{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "devicetaintrules"},
		{Version: "v1", Resource: "persistentvolumeclaims"},
		{Version: "v1", Resource: "persistentvolumes"},
		{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
		{Group: "storage.k8s.io", Version: "v1", Resource: "csinodes"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Version: "v1", Resource: "nodes"},
		{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	}
}

// wipe removes all that a scenario made, finalizers or not, until nothing is left and the
// scheduler has noticed.
func (c *cluster) wipe(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		left := 0
		for _, r := range wiped() {
			left += c.wipeKind(t, r)
		}
		if left == 0 {
			break
		}
		require.True(t, time.Now().Before(deadline), "%d objects cannot be removed", left)
	}
	c.fence(t, 0)
}

// wipeKind deletes all objects of a kind and returns how many there were.
func (c *cluster) wipeKind(t *testing.T, resource schema.GroupVersionResource) int {
	t.Helper()
	all, err := c.objects.Resource(resource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err, resource.Resource)
	count := 0
	for i := range all.Items {
		o := &all.Items[i]
		if strings.HasPrefix(o.GetName(), "system-") && resource.Resource == "priorityclasses" {
			continue // They belong to every cluster.
		}
		count++
		r := c.objects.Resource(resource).Namespace(o.GetNamespace())
		if len(o.GetFinalizers()) > 0 {
			_, err := r.Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			require.NoError(t, ignoreGone(err), "%s %s", resource.Resource, o.GetName())
		}
		none := int64(0)
		err := r.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &none})
		require.NoError(t, ignoreGone(err), "%s %s", resource.Resource, o.GetName())
	}
	return count
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
