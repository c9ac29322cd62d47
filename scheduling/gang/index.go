package gang

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"tidegate.io/autoscaler/snapshot"
)

// index looks up by namespace/name the objects that the sources read.
type index struct {
	podGroups map[string]*schedulingv1beta1.PodGroup
	jobs      map[string]*batchv1.Job
	order     []source
	warned    map[string]bool
}

func newIndex(s *snapshot.Snapshot) *index {
	idx := &index{
		podGroups: map[string]*schedulingv1beta1.PodGroup{}, jobs: map[string]*batchv1.Job{},
		order: sources(), warned: map[string]bool{},
	}
	for _, g := range s.PodGroups() {
		idx.podGroups[g.Namespace+"/"+g.Name] = g
	}
	for _, j := range s.Jobs() {
		idx.jobs[j.Namespace+"/"+j.Name] = j
	}
	return idx
}

// definition asks the sources in order; a pod that none knows is a gang of one.
func (idx *index) definition(p *corev1.Pod) (Definition, string) {
	for _, src := range idx.order {
		if d, ok := src.find(idx, p); ok {
			if d.Ordinary {
				break
			}
			return d, src.name
		}
	}
	return Definition{Namespace: p.Namespace, Name: p.Name, Min: 1}, sourcePod
}

// warn keeps one line per message.
func (idx *index) warn(message string) { idx.warned[message] = true }

func (idx *index) warnings() []string { return slices.Sorted(maps.Keys(idx.warned)) }
