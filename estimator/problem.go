package estimator

import (
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// problem is the packing of pods by kind into bins: existing nodes, which cost nothing,
// and new nodes of groups.
type problem struct {
	req  [][]int64 // by kind
	need []int64   // by kind
	bins []bin
	// limits that several bins share, beside each bin's own maximum.
	limits []limit
	// devices is nil where no pod asks for any.
	devices *deviceRooms
}

// bin is one sort of node: existing nodes with the same free room, or new nodes of one
// group.
type bin struct {
	free  []int64
	allow []bool // by kind
	most  int64  // how many there are, or may be
	cost  int64  // what the objective minimises first; 0 for existing nodes
	// tie is compared where costs are equal: accelerators, then cpu, then memory bought.
	tie      [3]int64
	existing bool
	group    int               // -1 for existing nodes
	nodes    []int             // existing nodes of this sort, in order
	labels   map[string]string // topology domains that new nodes join
	unit     int64
	weigh    []int64 // by limit: how much one node uses of it
	room     scheduling.DeviceRoom
}

// limit is a bound that is never passed, not even together.
type limit struct {
	name string
	left int64
}

// use says that `count` bins of a sort are filled alike.
type use struct {
	bin   int
	take  []int64 // by kind
	count int64
}

// packing is a solution of a problem: every pod that is needed is in some use, or
// counted in left.
type packing struct {
	uses []use
	left []int64
}

func (p *packing) complete() bool {
	return !slices.ContainsFunc(p.left, func(n int64) bool { return n > 0 })
}

// score orders packings that leave the same pods out:
//  1. cost,
//  2. accelerators bought, then cpu, then memory bought (what is bought and not needed is
//     idle),
//  3. how many groups are touched,
//  4. the groups themselves, by name.
type score struct {
	left   int64
	cost   int64
	tie    [3]int64
	groups int
	first  []int64 // new nodes by rank of the group's name, for the last comparison
}

func (w *packer) score(pr *problem, p *packing) score {
	s := score{first: make([]int64, w.groups)}
	for _, n := range p.left {
		s.left += n
	}
	count := make([]int64, w.groups)
	for _, u := range p.uses {
		if b := &pr.bins[u.bin]; !b.existing {
			count[b.group] += u.count
		}
	}
	for i := range pr.bins {
		b := &pr.bins[i]
		if b.existing || count[b.group] == 0 {
			continue
		}
		n := roundUp(count[b.group], b.unit)
		s.first[w.rank[b.group]] = n
		s.cost += n * b.cost
		for i := range s.tie {
			s.tie[i] += n * b.tie[i]
		}
		s.groups++
	}
	return s
}

func roundUp(n, unit int64) int64 {
	if unit <= 1 {
		return n
	}
	return (n + unit - 1) / unit * unit
}

// less says whether a is the better score.
func (s score) less(o score) bool {
	for _, d := range [...]int64{s.left - o.left, s.cost - o.cost, s.tie[0] - o.tie[0], s.tie[1] - o.tie[1], s.tie[2] - o.tie[2], int64(s.groups - o.groups)} {
		if d != 0 {
			return d < 0
		}
	}
	// More nodes of an earlier group: the earlier name wins.
	return slices.Compare(s.first, o.first) > 0
}

// within says whether a packing keeps every limit and every maximum.
func (pr *problem) within(p *packing) bool {
	count := make([]int64, len(pr.bins))
	for _, u := range p.uses {
		count[u.bin] += u.count
	}
	used := make([]int64, len(pr.limits))
	for i := range pr.bins {
		b := &pr.bins[i]
		n := count[i]
		if !b.existing {
			n = roundUp(n, b.unit)
		}
		if n > b.most {
			return false
		}
		for l, w := range b.weigh {
			used[l] += n * w
		}
	}
	for l := range pr.limits {
		if used[l] > pr.limits[l].left {
			return false
		}
	}
	return true
}
