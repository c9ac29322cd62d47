// Package scheduling says whether pods fit on real and imagined nodes, exactly as
// kube-scheduler would. A Session is one imagined cluster: nodes can be opened from the
// templates of node groups, pods bound to them, and all of it undone to a mark. It does
// not choose what to buy.
//
// Pods with the same scheduling-relevant content are one kind, and nodes with the same
// labels and taints, as far as any pod looks at them, one shape. For most kinds the
// answer for a node is the plugins' answer for kind and shape, asked once, and a
// comparison of integer vectors. Kinds whose answer depends on what runs where (ports,
// pod affinity, topology spread, volumes) are put before the plugins each time. A
// property test shows that both ways agree.
//
// Example:
//
//	s, err := scheduling.NewSession(scheduling.Input{Snapshot: snap, Groups: statuses, Gangs: gangs})
//	mark := s.Mark()
//	node := s.Open(0, nil)                    // a new node of the first group
//	fits, err := s.Fits(pod, node)
//	s.Rollback(mark)                          // the node was never there
package scheduling
