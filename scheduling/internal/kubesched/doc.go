// Package kubesched runs kube-scheduler's own plugins on imagined clusters. It is the
// only package that imports k8s.io/kubernetes: whatever it answers is what the default
// profile of kube-scheduler 1.37 would answer for the same objects.
//
// It is not a scheduler: it has no queue, binds nothing and talks to nobody. Plugins
// want a context and informers; they get context.Background and listers filled by
// hand, so that a call is a pure function of the objects that were added.
//
// Example:
//
//	cluster, err := kubesched.New(kubesched.Objects{}, kubesched.LeastAllocated)
//	cluster.AddNode(node, nil)
//	cycle, refusal, err := cluster.Begin(pod)   // the PreFilter plugins
//	refusal, err = cycle.Filter("node-1")       // nil: the pod fits
//	cycle.Reserve("node-1")                     // the pod is there from now on
package kubesched
