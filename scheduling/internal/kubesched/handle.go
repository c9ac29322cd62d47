package kubesched

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
)

// handle is what plugins get to see of their scheduler. The embedded nil interface
// answers for methods that the filter and score plugins never call.
type handle struct {
	fwk.Handle
	nodes   *nodeList
	factory informers.SharedInformerFactory
	csi     csiNodes
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.nodes }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *handle) SharedDRAManager() fwk.SharedDRAManager                 { return noDevices{} }
func (h *handle) SharedCSIManager() fwk.CSIManager                       { return h.csi }
func (h *handle) ClientSet() kubernetes.Interface                        { return nil }
func (h *handle) Parallelizer() fwk.Parallelizer                         { return inOrder{} }
func (h *handle) ProfileName() string                                    { return corev1.DefaultSchedulerName }

// inOrder does the pieces of parallel work one after the other, so that plugins start
// no goroutine.
type inOrder struct{}

func (inOrder) Until(ctx context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		if ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// noDevices says that no extended resource is backed by a DeviceClass: devices of
// plugin groups are counted as extended resources.
type noDevices struct{ fwk.SharedDRAManager }

func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver { return noDevices{} }

func (noDevices) GetDeviceClass(corev1.ResourceName) *resourcev1.DeviceClass { return nil }
