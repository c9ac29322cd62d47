package scheduling_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/topology"
)

// seen is all that callers can see of a session, by value.
type seen struct {
	Nodes    []seenNode
	Opened   []int
	Joinable map[string][]topology.Domain
	Next     []map[string]string
}

type seenNode struct {
	Name   string
	Group  int
	State  scheduling.State
	Labels map[string]string
	Free   scheduling.Vector
	Placed []string
}

func look(s *scheduling.Session) seen {
	out := seen{Joinable: map[string][]topology.Domain{}}
	for _, n := range s.Nodes {
		x := seenNode{Name: n.Name, Group: n.Group, State: n.State, Labels: n.Labels, Free: append(scheduling.Vector{}, n.Free...)}
		for _, p := range n.Placed {
			x.Placed = append(x.Placed, p.Namespace+"/"+p.Name)
		}
		out.Nodes = append(out.Nodes, x)
	}
	for g := range s.Groups {
		out.Opened = append(out.Opened, s.Opened(g))
		out.Next = append(out.Next, s.Domains.Next(g, nil, "look"))
		for _, l := range s.Groups[g].Topology {
			out.Joinable[s.Groups[g].Name+" "+l.Key] = s.Domains.Joinable(g, l.Key)
		}
	}
	return out
}

// answers asks about every pod and node, those that wait and those that were placed, and
// about a new node of each group.
func answers(s *scheduling.Session) []bool {
	var out []bool
	ask := func() {
		for _, p := range podsOf(s) {
			for n := range s.Nodes {
				fits, err := s.Fits(p, n)
				out = append(out, fits && err == nil)
			}
		}
	}
	ask()
	for g := range s.Groups {
		s.Open(g, s.Domains.Next(g, nil, "answers"))
	}
	ask()
	return out
}

// disturb does random things to a session, some of them undone at once.
func disturb(t *testing.T, s *scheduling.Session, r *rand.Rand, steps int) {
	t.Helper()
	pods := podsOf(s)
	for range steps {
		switch {
		case r.IntN(8) == 0:
			mark := s.Mark()
			disturb(t, s, r, 4)
			require.NoError(t, s.Rollback(mark))
		case r.IntN(5) == 0:
			g := r.IntN(len(s.Groups))
			s.Open(g, s.Domains.Next(g, nil, "disturb"))
		default:
			p, n := pods[r.IntN(len(pods))], r.IntN(len(s.Nodes))
			if placed(s, p) {
				continue
			}
			if fits, err := s.Fits(p, n); err == nil && fits {
				require.NoError(t, s.Bind(p, n))
			}
		}
	}
}

func placed(s *scheduling.Session, p scheduling.Pod) bool {
	for _, x := range s.Placements() {
		if x.Pod.Pod == p.Pod {
			return true
		}
	}
	return false
}

// TestRollbackRestores shows that a session after a rollback cannot be told from one
// that was never changed since the mark.
func TestRollbackRestores(t *testing.T) {
	for seed := uint64(1); seed <= 80; seed++ {
		for _, plugins := range []bool{false, true} {
			in := drawInput(t, seed)
			in.Plugins = plugins
			fresh, err := scheduling.NewSession(in)
			require.NoError(t, err)
			used, err := scheduling.NewSession(in)
			require.NoError(t, err)
			disturb(t, fresh, rand.New(rand.NewPCG(seed, 5)), 8)
			disturb(t, used, rand.New(rand.NewPCG(seed, 5)), 8)
			require.Empty(t, cmp.Diff(look(fresh), look(used)), "seed %d: the same steps", seed)

			mark := used.Mark()
			disturb(t, used, rand.New(rand.NewPCG(seed, 6)), 25)
			require.NoError(t, used.Rollback(mark), "seed %d", seed)

			require.Empty(t, cmp.Diff(look(fresh), look(used)), "seed %d, plugins %v (-fresh +rolled back)", seed, plugins)
			require.Equal(t, answers(fresh), answers(used), "seed %d, plugins %v", seed, plugins)
		}
	}
}

// TestLiftKeepsOpenedNodes shows that Lift takes the pods off and nothing else.
func TestLiftKeepsOpenedNodes(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		in := drawInput(t, seed)
		bare, err := scheduling.NewSession(in)
		require.NoError(t, err)
		used, err := scheduling.NewSession(in)
		require.NoError(t, err)
		for g := range bare.Groups {
			bare.Open(g, bare.Domains.Next(g, nil, "lift"))
			used.Open(g, used.Domains.Next(g, nil, "lift"))
		}
		pods := podsOf(used)
		r := rand.New(rand.NewPCG(seed, 7))
		for range 20 {
			p, n := pods[r.IntN(len(pods))], r.IntN(len(used.Nodes))
			if fits, err := used.Fits(p, n); err == nil && fits && !placed(used, p) {
				require.NoError(t, used.Bind(p, n))
			}
		}
		require.NoError(t, used.Lift())
		require.Empty(t, used.Placements())
		require.Empty(t, cmp.Diff(look(bare), look(used)), "seed %d", seed)
		require.Equal(t, answers(bare), answers(used), "seed %d", seed)
	}
}
