// Package topology counts the nodes in topology domains and says where the next node
// of a group may go: into a domain that is begun, as long as it is not full, or into a
// new one. What new nodes promise comes from the node groups; a key that a group does
// not promise is never made up.
//
// A domain is a label value of a key, as kube-scheduler sees it. Groups that carry the
// same value share the domain.
//
// Example: racks of 4, three nodes in rack r1:
//
//	l := topology.New([]topology.Group{{Name: "h100", Levels: []topology.Level{{Key: "rack", Size: 4}}}})
//	for range 3 {
//		l.Add(0, map[string]string{"rack": "r1"})
//	}
//	l.Joinable(0, "rack")          // r1, room for 1
//	l.Next(0, nil, "new")          // {"rack": "r1"}
package topology
