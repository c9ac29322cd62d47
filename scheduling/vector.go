package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

// Vector holds one integer per dimension of a session: cpu in millicores, memory and
// ephemeral storage in bytes, pods, then the scalar resources that any pending pod asks
// for, in units.
type Vector []int64

// The dimensions that every session has, in this order.
const (
	CPU = iota
	Memory
	EphemeralStorage
	Pods
	firstScalar
)

// dimensions names the entries of a session's vectors.
type dimensions []corev1.ResourceName

func newDimensions(requests []kubesched.Resources) dimensions {
	scalars := map[corev1.ResourceName]bool{}
	for _, r := range requests {
		for name, n := range r {
			if n > 0 {
				scalars[name] = true
			}
		}
	}
	base := dimensions{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods}
	for _, name := range base {
		delete(scalars, name)
	}
	return append(base, slices.Sorted(maps.Keys(scalars))...)
}

func (d dimensions) vector(r kubesched.Resources) Vector {
	v := make(Vector, len(d))
	for i, name := range d {
		v[i] = r[name]
	}
	return v
}

// Holds says whether a pod that asks for req fits in what is free, as NodeResourcesFit
// compares: a resource that is not asked for does not matter, even overcommitted.
func (free Vector) Holds(req Vector) bool {
	for i, n := range req {
		if n > 0 && n > free[i] {
			return false
		}
	}
	return true
}

// Times is how many pods that ask for req fit at most; at least 0.
func (free Vector) Times(req Vector) int64 {
	most := int64(-1)
	for i, n := range req {
		if n > 0 {
			if t := max(free[i], 0) / n; most < 0 || t < most {
				most = t
			}
		}
	}
	return max(most, 0)
}

func (free Vector) sub(req Vector, times int64) {
	for i, n := range req {
		free[i] -= n * times
	}
}
