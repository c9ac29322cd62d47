package gang

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// AnnotationGang opts an Indexed Job in: with parallelism = completions all its pods are
// one gang. Without it a Job is elastic, pod by pod, as the Job API itself promises.
const AnnotationGang = "tidegate.io/gang"

// indexedJob reads batch/v1 Jobs whose pods carry AnnotationGang, or which carry it
// themselves. Indexes that have already succeeded are not wanted again.
func indexedJob(idx *index, p *corev1.Pod) (Definition, bool) {
	name := owner(p, "Job")
	if name == "" {
		return Definition{}, false
	}
	job, ok := idx.jobs[p.Namespace+"/"+name]
	if p.Annotations[AnnotationGang] != "true" && (!ok || job.Annotations[AnnotationGang] != "true") {
		return Definition{}, false
	}
	d := Definition{Namespace: p.Namespace, Name: name}
	if !ok {
		d.Missing = fmt.Sprintf("Job %s/%s is not in the input, so the gang's size is unknown", p.Namespace, name)
		return d, true
	}
	d.Created = job.CreationTimestamp.Time
	if why := notOneGang(job); why != "" {
		idx.warn(fmt.Sprintf("Job %s/%s: annotation %s has no effect: %s", p.Namespace, name, AnnotationGang, why))
		d.Ordinary = true
		return d, true
	}
	d.Min = max(1, int(*job.Spec.Completions-job.Status.Succeeded))
	return d, true
}

func notOneGang(job *batchv1.Job) string {
	switch {
	case job.Spec.CompletionMode == nil || *job.Spec.CompletionMode != batchv1.IndexedCompletion:
		return "completionMode is not Indexed"
	case job.Spec.Completions == nil || job.Spec.Parallelism == nil || *job.Spec.Parallelism != *job.Spec.Completions:
		return "parallelism and completions differ"
	}
	return ""
}
