package topology_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/scheduling/topology"
)

type labels = map[string]string

// at is a node of a group in a place.
type at struct {
	group  int
	labels labels
}

// racks are racks of 4 in blocks of 8.
func racks(name string) topology.Group {
	return topology.Group{Name: name, Levels: []topology.Level{{Key: "block", Size: 8}, {Key: "rack", Size: 4}}}
}

func in(block, rack string) labels { return labels{"block": block, "rack": rack, "unrelated": "x"} }

func times(n int, x at) []at { return slices.Repeat([]at{x}, n) }

func ledger(groups []topology.Group, nodes ...[]at) *topology.Ledger {
	l := topology.New(groups)
	for _, n := range slices.Concat(nodes...) {
		l.Add(n.group, n.labels)
	}
	return l
}

func TestJoinable(t *testing.T) {
	tests := map[string]struct {
		groups []topology.Group
		nodes  [][]at
		key    string
		want   []topology.Domain
	}{
		"a key that the group does not promise": {groups: []topology.Group{racks("g")}, key: "zone"},
		"no nodes":                              {groups: []topology.Group{racks("g")}, key: "rack"},
		"a rack that is begun": {
			groups: []topology.Group{racks("g")}, nodes: [][]at{times(3, at{0, in("b1", "r1")})}, key: "rack",
			want: []topology.Domain{{Value: "r1", Labels: labels{"block": "b1", "rack": "r1"}, Room: 1}},
		},
		"a full rack in a block with room": {
			groups: []topology.Group{racks("g")}, nodes: [][]at{times(4, at{0, in("b1", "r1")})}, key: "block",
			want: []topology.Domain{{Value: "b1", Labels: labels{"block": "b1"}, Room: 4}},
		},
		"a full rack":      {groups: []topology.Group{racks("g")}, nodes: [][]at{times(4, at{0, in("b1", "r1")})}, key: "rack"},
		"an overfull rack": {groups: []topology.Group{racks("g")}, nodes: [][]at{times(5, at{0, in("b1", "r1")})}, key: "rack"},
		"the block bounds its racks": {
			groups: []topology.Group{racks("g")},
			nodes:  [][]at{times(4, at{0, in("b1", "r1")}), times(2, at{0, in("b1", "r2")}), times(1, at{0, in("b1", "r3")})}, key: "rack",
			want: []topology.Domain{{Value: "r2", Labels: labels{"block": "b1", "rack": "r2"}, Room: 1}, {Value: "r3", Labels: labels{"block": "b1", "rack": "r3"}, Room: 1}},
		},
		"a full block closes its racks": {
			groups: []topology.Group{racks("g")},
			nodes:  [][]at{times(4, at{0, in("b1", "r1")}), times(3, at{0, in("b1", "r2")}), times(1, at{0, in("b1", "r3")})}, key: "rack",
		},
		"nodes of another group fill a shared rack": {
			groups: []topology.Group{racks("g"), racks("h")},
			nodes:  [][]at{times(1, at{0, in("b1", "r1")}), times(2, at{1, in("b1", "r1")}), times(2, at{1, in("b1", "r2")})}, key: "rack",
			want: []topology.Domain{{Value: "r1", Labels: labels{"block": "b1", "rack": "r1"}, Room: 1}},
		},
		"nodes of no group fill it, too": {
			groups: []topology.Group{racks("g")}, nodes: [][]at{times(1, at{0, in("b1", "r1")}), times(3, at{-1, in("b1", "r1")})}, key: "rack",
		},
		"groups of different sizes share a rack": {
			groups: []topology.Group{{Name: "g", Levels: []topology.Level{{Key: "rack", Size: 4}}}, {Name: "h", Levels: []topology.Level{{Key: "rack", Size: 2}}}},
			nodes:  [][]at{times(1, at{0, labels{"rack": "r1"}}), times(2, at{1, labels{"rack": "r1"}})}, key: "rack",
			want: []topology.Domain{{Value: "r1", Labels: labels{"rack": "r1"}, Room: 1}},
		},
		"a node without the label is in no domain": {
			groups: []topology.Group{racks("g")}, nodes: [][]at{times(1, at{0, labels{"block": "b1"}})}, key: "rack",
		},
		"size 0 is one domain without end, named after the group": {
			groups: []topology.Group{{Name: "g", Levels: []topology.Level{{Key: "zone"}}}}, key: "zone",
			want: []topology.Domain{{Value: "g", Labels: labels{"zone": "g"}, Room: topology.Unbounded}},
		},
		"size 0 is named by the group's own label": {
			groups: []topology.Group{{Name: "g", Labels: labels{"zone": "z1"}, Levels: []topology.Level{{Key: "zone"}}}}, key: "zone",
			nodes: [][]at{times(20, at{0, labels{"zone": "z1"}})},
			want:  []topology.Domain{{Value: "z1", Labels: labels{"zone": "z1"}, Room: topology.Unbounded}},
		},
		"racks inside a zone of size 0": {
			groups: []topology.Group{{Name: "g", Labels: labels{"zone": "z1"}, Levels: []topology.Level{{Key: "zone"}, {Key: "rack", Size: 2}}}}, key: "rack",
			nodes: [][]at{times(1, at{0, labels{"zone": "z1", "rack": "r1"}})},
			want:  []topology.Domain{{Value: "r1", Labels: labels{"zone": "z1", "rack": "r1"}, Room: 1}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.want, ledger(tc.groups, tc.nodes...).Joinable(0, tc.key)))
		})
	}
}

func TestNext(t *testing.T) {
	zoned := topology.Group{Name: "g", Labels: labels{"zone": "z1"}, Levels: []topology.Level{{Key: "zone"}, {Key: "rack", Size: 2}}}
	tests := map[string]struct {
		group topology.Group
		nodes [][]at
		given labels
		want  labels
	}{
		"no promise, no place":             {group: topology.Group{Name: "g"}},
		"all new":                          {group: racks("g"), want: labels{"block": "new-1", "rack": "new-1"}},
		"names that are taken are skipped": {group: racks("g"), nodes: [][]at{times(8, at{0, in("new-1", "x")}), times(4, at{-1, in("y", "new-1")})}, want: labels{"block": "new-2", "rack": "new-2"}},
		"joins a begun rack":               {group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")})}, want: labels{"block": "b1", "rack": "r1"}},
		"opens a rack in a begun block":    {group: racks("g"), nodes: [][]at{times(4, at{0, in("b1", "r1")})}, want: labels{"block": "b1", "rack": "new-1"}},
		"joins the fullest rack": {
			group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")}), times(3, at{0, in("b2", "r2")}), times(2, at{0, in("b3", "r3")})},
			want: labels{"block": "b2", "rack": "r2"},
		},
		"equally full racks go by name": {
			group: racks("g"), nodes: [][]at{times(2, at{0, in("b2", "r2")}), times(2, at{0, in("b1", "r1")})}, want: labels{"block": "b1", "rack": "r1"},
		},
		"opens a block beside a full one": {
			group: racks("g"), nodes: [][]at{times(4, at{0, in("b1", "r1")}), times(4, at{0, in("b1", "r2")})}, want: labels{"block": "new-1", "rack": "new-1"},
		},
		"a given block with a begun rack": {
			group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")}), times(3, at{0, in("b2", "r2")})}, given: labels{"block": "b1"},
			want: labels{"block": "b1", "rack": "r1"},
		},
		"a given block without one": {
			group: racks("g"), nodes: [][]at{times(4, at{0, in("b1", "r1")}), times(3, at{0, in("b2", "r2")})}, given: labels{"block": "b1"},
			want: labels{"block": "b1", "rack": "new-1"},
		},
		"a given rack lies in its own block": {
			group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")}), times(4, at{0, in("b2", "r2")}), times(2, at{0, in("b2", "r3")})}, given: labels{"rack": "r1"},
			want: labels{"block": "b1", "rack": "r1"},
		},
		"a given place is kept": {group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")})}, given: labels{"block": "b7", "rack": "r7"}, want: labels{"block": "b7", "rack": "r7"}},
		"the whole group":       {group: zoned, want: labels{"zone": "z1", "rack": "new-1"}},
		"a rack in the whole":   {group: zoned, nodes: [][]at{times(1, at{0, labels{"zone": "z1", "rack": "r1"}})}, want: labels{"zone": "z1", "rack": "r1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger([]topology.Group{tc.group}, tc.nodes...)
			given := maps.Clone(tc.given)
			require.Empty(t, cmp.Diff(tc.want, l.Next(0, tc.given, "new")))
			require.Equal(t, given, tc.given, "the given map is the caller's")
			require.Empty(t, cmp.Diff(tc.want, l.Next(0, tc.given, "new")), "asking changes nothing")
		})
	}
}

func TestFresh(t *testing.T) {
	zoned := topology.Group{Name: "g", Levels: []topology.Level{{Key: "zone"}, {Key: "rack", Size: 2}}}
	tests := map[string]struct {
		group topology.Group
		nodes [][]at
		key   string
		room  int64
		want  labels
	}{
		"all new":                         {group: racks("g"), key: "rack", room: 4, want: labels{"block": "new-1", "rack": "new-1"}},
		"only the levels down to the key": {group: racks("g"), key: "block", room: 4, want: labels{"block": "new-1"}},
		"new although one is begun": {
			group: racks("g"), nodes: [][]at{times(1, at{0, in("b1", "r1")})}, key: "rack", room: 4, want: labels{"block": "b1", "rack": "new-1"},
		},
		"inside the fullest block with room": {
			group: racks("g"), nodes: [][]at{times(3, at{0, in("b1", "r1")}), times(4, at{0, in("b2", "r2")}), times(4, at{0, in("b3", "r3")}), times(1, at{0, in("b3", "r4")})},
			key: "rack", room: 4, want: labels{"block": "b2", "rack": "new-1"},
		},
		"in a new block where none has room": {
			group: racks("g"), nodes: [][]at{times(4, at{0, in("b1", "r1")}), times(1, at{0, in("b1", "r2")})}, key: "rack", room: 4, want: labels{"block": "new-1", "rack": "new-1"},
		},
		"in the whole group":   {group: zoned, key: "rack", room: 2, want: labels{"zone": "g", "rack": "new-1"}},
		"the whole group":      {group: zoned, key: "zone", room: 9, want: labels{"zone": "g"}},
		"names that are taken": {group: racks("g"), nodes: [][]at{times(1, at{-1, labels{"rack": "new-1"}})}, key: "rack", room: 1, want: labels{"block": "new-1", "rack": "new-2"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger([]topology.Group{tc.group}, tc.nodes...)
			require.Empty(t, cmp.Diff(tc.want, l.Fresh(0, tc.key, tc.room, "new")))
		})
	}
}

func TestRoomAndSize(t *testing.T) {
	groups := []topology.Group{racks("g"), {Name: "h", Levels: []topology.Level{{Key: "zone"}}}, {Name: "none"}}
	l := ledger(groups, times(3, at{0, in("b1", "r1")}), times(3, at{0, in("b1", "r2")}))
	require.Equal(t, int64(1), l.Room(0, in("b1", "r1")))
	require.Equal(t, int64(2), l.Room(0, in("b1", "r9")), "a new rack in the block")
	require.Equal(t, int64(4), l.Room(0, in("b9", "r9")))
	require.Equal(t, topology.Unbounded, l.Room(1, labels{"zone": "z"}))
	require.Equal(t, topology.Unbounded, l.Room(2, nil))
	require.Equal(t, int64(8), l.Size(0, "block"))
	require.Equal(t, int64(4), l.Size(0, "rack"))
	require.Equal(t, topology.Unbounded, l.Size(1, "zone"))
	require.Equal(t, 1, l.Level(0, "rack"))
	require.Equal(t, -1, l.Level(1, "rack"))
}

// naive recounts everything from the list of nodes each time it is asked.
type naive struct {
	groups []topology.Group
	nodes  []at
}

func (n *naive) count(key, value string) int64 {
	var c int64
	for _, x := range n.nodes {
		if v, ok := x.labels[key]; ok && v == value {
			c++
		}
	}
	return c
}

// joinable are the domains in which the group has a node and which have room, with all
// around them.
func (n *naive) joinable(group int, key string) []topology.Domain {
	g := n.groups[group]
	level := slices.IndexFunc(g.Levels, func(l topology.Level) bool { return l.Key == key })
	byValue := map[string]topology.Domain{}
	for _, x := range n.nodes {
		v, ok := x.labels[key]
		if x.group != group || !ok {
			continue
		}
		d := topology.Domain{Value: v, Labels: labels{}, Room: topology.Unbounded}
		for _, l := range g.Levels[:level+1] {
			d.Labels[l.Key] = x.labels[l.Key]
			d.Room = min(d.Room, l.Size-n.count(l.Key, x.labels[l.Key]))
		}
		if d.Room > 0 {
			byValue[v] = d
		}
	}
	var out []topology.Domain
	for _, v := range slices.Sorted(maps.Keys(byValue)) {
		out = append(out, byValue[v])
	}
	return out
}

// TestAgainstARecount adds and removes nodes at random, and compares with a recount. A
// rack lies in one block, as racks do.
func TestAgainstARecount(t *testing.T) {
	groups := []topology.Group{racks("g"), racks("h"), {Name: "flat", Levels: []topology.Level{{Key: "rack", Size: 3}}}, {Name: "none"}}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := &naive{groups: groups}
		l := topology.New(groups)
		for range 60 {
			if len(n.nodes) > 0 && r.IntN(3) == 0 {
				i := r.IntN(len(n.nodes))
				l.Remove(n.nodes[i].group, n.nodes[i].labels)
				n.nodes = slices.Delete(n.nodes, i, i+1)
			} else {
				x := at{group: r.IntN(len(groups)+1) - 1}
				if x.group >= 0 && r.IntN(2) == 0 {
					x.labels = l.Next(x.group, nil, fmt.Sprintf("p%d", r.IntN(2)))
				}
				if x.labels == nil {
					rack := r.IntN(6)
					x.labels = in(fmt.Sprintf("b%d", rack/3), fmt.Sprintf("r%d", rack))
				}
				if x.group == 2 && x.labels["block"] == "" {
					x.labels["rack"] += "-flat" // Not in a block of the others.
				}
				l.Add(x.group, x.labels)
				n.nodes = append(n.nodes, x)
			}
			for g := range groups {
				for _, level := range groups[g].Levels {
					require.Empty(t, cmp.Diff(n.joinable(g, level.Key), l.Joinable(g, level.Key)), "seed %d, group %d, %s", seed, g, level.Key)
				}
				n.checkNext(t, l, g)
			}
		}
	}
}

// checkNext holds for every place that Next and Fresh give: it is complete, it has room,
// and what is called new is carried by no node.
func (n *naive) checkNext(t *testing.T, l *topology.Ledger, group int) {
	t.Helper()
	levels := n.groups[group].Levels
	if len(levels) == 0 {
		require.Nil(t, l.Next(group, nil, "new"))
		return
	}
	next := l.Next(group, nil, "new")
	require.Len(t, next, len(levels))
	require.Positive(t, l.Room(group, next))
	inner := levels[len(levels)-1]
	if joinable := n.joinable(group, inner.Key); len(joinable) > 0 {
		for _, d := range joinable {
			require.LessOrEqual(t, l.Room(group, next), d.Room, "another domain is fuller")
		}
	} else {
		require.Zero(t, n.count(inner.Key, next[inner.Key]))
	}
	fresh := l.Fresh(group, inner.Key, inner.Size, "new")
	require.Zero(t, n.count(inner.Key, fresh[inner.Key]))
	require.GreaterOrEqual(t, l.Room(group, fresh), inner.Size)
}

// TestRemoveUndoesAdd shows that a ledger after Remove answers as if Add had never been,
// names of new domains included.
func TestRemoveUndoesAdd(t *testing.T) {
	groups := []topology.Group{racks("g")}
	l := ledger(groups, times(3, at{0, in("b1", "r1")}))
	var added []labels
	for range 12 {
		place := l.Next(0, nil, "new")
		added = append(added, place)
		l.Add(0, place)
	}
	require.Equal(t, labels{"block": "new-1", "rack": "new-3"}, l.Next(0, nil, "new"))
	for _, place := range slices.Backward(added) {
		l.Remove(0, place)
	}
	same := ledger(groups, times(3, at{0, in("b1", "r1")}))
	for _, key := range []string{"block", "rack"} {
		require.Empty(t, cmp.Diff(same.Joinable(0, key), l.Joinable(0, key)))
		require.Equal(t, same.Fresh(0, key, 1, "new"), l.Fresh(0, key, 1, "new"))
	}
	require.Equal(t, same.Next(0, nil, "new"), l.Next(0, nil, "new"))
}
