package kubesched

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Objects are what the plugins look up beside pods and nodes.
type Objects struct {
	Namespaces             []*corev1.Namespace
	PersistentVolumes      []*corev1.PersistentVolume
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	// Devices knows the device classes behind extended resources; nil for none.
	Devices *Devices
}

// fixedInformer is an informer over objects that never change: handlers are called at
// once, in the caller's goroutine, for each object.
type fixedInformer struct {
	cache.SharedIndexInformer // nil: calling a method that is not below is a bug of ours
	indexer                   cache.Indexer
}

func (i *fixedInformer) GetIndexer() cache.Indexer          { return i.indexer }
func (i *fixedInformer) GetStore() cache.Store              { return i.indexer }
func (i *fixedInformer) HasSynced() bool                    { return true }
func (i *fixedInformer) AddIndexers(x cache.Indexers) error { return i.indexer.AddIndexers(x) }

func (i *fixedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, key := range i.indexer.ListKeys() {
		if o, ok, err := i.indexer.GetByKey(key); ok && err == nil {
			h.OnAdd(o, true)
		}
	}
	return nil, nil
}

func (i *fixedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// fix makes the factory hand out an informer over exactly these objects for their kind.
func fix[T runtime.Object](factory informers.SharedInformerFactory, kind T, objects []T) error {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	for _, o := range objects {
		if err := indexer.Add(o); err != nil {
			return fmt.Errorf("index %T: %w", o, err)
		}
	}
	factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return &fixedInformer{indexer: indexer}
	})
	return nil
}

// newFactory serves the objects of a dump. Kinds that a dump does not hold (Services
// and the like) come from the real factory, which is never started: empty.
func newFactory(o Objects) (informers.SharedInformerFactory, error) {
	f := informers.NewSharedInformerFactory(nil, 0)
	for _, err := range []error{
		fix(f, &corev1.Namespace{}, o.Namespaces),
		fix(f, &corev1.PersistentVolume{}, o.PersistentVolumes),
		fix(f, &corev1.PersistentVolumeClaim{}, o.PersistentVolumeClaims),
		fix(f, &storagev1.StorageClass{}, o.StorageClasses),
		fix(f, &storagev1.CSINode{}, o.CSINodes),
	} {
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}
