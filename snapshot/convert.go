package snapshot

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// alphaGroup rewrites, in place, the fields that scheduling.k8s.io/v1alpha2 had otherwise
// than v1beta1. What it does not know stays, and is warned of as an unknown field or refused
// as one of the wrong type.
//
//	podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: t}}
//	  becomes workloadRef: {workloadName: w, templateName: t}
//	disruptionMode: Pod       becomes disruptionMode: {single: {}}
//	disruptionMode: PodGroup  becomes disruptionMode: {all: {}}
func alphaGroup(object map[string]any) {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return
	}
	alphaDisruption(spec)
	if templates, ok := spec["podGroupTemplates"].([]any); ok {
		for _, t := range templates {
			if template, ok := t.(map[string]any); ok {
				alphaDisruption(template)
			}
		}
	}
	ref, ok := spec["podGroupTemplateRef"].(map[string]any)
	if !ok || spec["workloadRef"] != nil {
		return
	}
	if nested, ok := ref["workload"].(map[string]any); ok {
		ref = nested
	}
	workload, named, err := unstructured.NestedString(ref, "workloadName")
	if err != nil || !named {
		return
	}
	template, _, err := unstructured.NestedString(ref, "podGroupTemplateName")
	if err != nil {
		return
	}
	delete(spec, "podGroupTemplateRef")
	spec["workloadRef"] = map[string]any{"workloadName": workload, "templateName": template}
}

func alphaDisruption(spec map[string]any) {
	switch spec["disruptionMode"] {
	case "Pod":
		spec["disruptionMode"] = map[string]any{"single": map[string]any{}}
	case "PodGroup":
		spec["disruptionMode"] = map[string]any{"all": map[string]any{}}
	}
}
