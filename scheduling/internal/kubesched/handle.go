package kubesched

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	fwk "k8s.io/kube-scheduler/framework"
)

// handle is what plugins get to see of their scheduler. The embedded nil interface
// answers for methods that the filter and score plugins never call.
type handle struct {
	fwk.Handle
	nodes   *nodeList
	factory informers.SharedInformerFactory
	csi     csiNodes
	// resolver knows the device classes behind extended resources; nil for none.
	resolver *extendedresourcecache.ExtendedResourceCache
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.nodes }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *handle) SharedDRAManager() fwk.SharedDRAManager                 { return classesOnly{resolver: h.resolver} }
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

// classesOnly says which extended resources are backed by a DeviceClass, so that
// NodeResourcesFit leaves those to the allocation of devices, which is done beside the
// plugins.
type classesOnly struct {
	fwk.SharedDRAManager
	resolver *extendedresourcecache.ExtendedResourceCache // nil: none is
}

func (c classesOnly) DeviceClassResolver() fwk.DeviceClassResolver { return c.resolver }
