package drawn

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
)

// drawer draws the parts of clusters.
type drawer struct {
	*rand.Rand
	// plain leaves out all that makes a pod depend on others: most clusters are like that.
	plain bool
	// roomy makes taints, selectors and large requests rare, so that what pods say about
	// each other decides.
	roomy bool
	nodes []string
}

// newDrawer starts one of the streams of random numbers that belong to a seed.
func newDrawer(seed, stream uint64) *drawer {
	return &drawer{Rand: rand.New(rand.NewPCG(seed, stream)), plain: seed%4 == 0, roomy: seed%4 > 1}
}

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

func (d *drawer) oneIn(n int) bool { return d.IntN(n) == 0 }

// some is a random part of the values, often empty, in order.
func some[T any](d *drawer, from ...T) []T {
	var out []T
	for _, v := range from {
		if d.oneIn(2) {
			out = append(out, v)
		}
	}
	return out
}

func (d *drawer) quantity(values ...string) resource.Quantity {
	return resource.MustParse(pick(d, values...))
}
