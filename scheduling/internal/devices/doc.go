// Package devices remembers which devices the claims of pods get. The answers are those
// of the scheduler's allocator (see kubesched.Devices); here they are kept by what they
// depend on, so that the allocator is asked once for each case and not for each pod and
// node.
//
// A View is what a node sees of devices, written so that nodes of the same build have the
// same view: names of nodes and pools, and attributes that no selector or constraint
// reads, are left out. A State is a view with what is taken of it, a Demand is the list of
// claims of one pod. Allocating a demand in a state gives an Outcome, always the same one.
//
// Example:
//
//	view, names := store.View(node, slices)
//	outcome := store.Allocate(store.Fresh(view), store.Network(), store.DemandOf(claims))
//	outcome.Fits                               // and outcome.State is what is taken then
//	names.Real(outcome.Results[0])             // with the node's own pool names
package devices
