// Package nodegroups says what a node group is and what state it is in: its
// accelerator, limits, the template of a new node, which of its nodes are ready, on
// their way or failed, and by how many it may grow now. It does not decide whether it
// should grow.
//
// Four numbers are kept apart for each group: the size asked of the provider, the nodes
// registered, the nodes ready for their accelerators, and the nodes that failed. Capacity
// that was asked for and has not failed counts as if it were there, so that nothing is
// bought twice.
//
// Example:
//
//	groups, err := nodegroups.New(configuration)
//	statuses, warnings := nodegroups.Observe(groups, nodes, resourceSlices, now)
//	room := statuses[0].Room(now)   // how many nodes the group may still grow by
package nodegroups
