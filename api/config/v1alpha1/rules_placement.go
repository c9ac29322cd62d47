package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func labelsAreValid(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for _, key := range slices.Sorted(maps.Keys(group.Labels)) {
		path, value := at.Child("labels").Key(key), group.Labels[key]
		problems = append(problems, isLabelKey(path, key)...)
		problems = append(problems, isLabelValue(path, value)...)
	}
	return problems
}

func taintsAreValid(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i, taint := range group.Taints {
		path := at.Child("taints").Index(i)
		problems = slices.Concat(problems,
			isLabelKey(path.Child("key"), taint.Key),
			isLabelValue(path.Child("value"), taint.Value),
			oneOf(path.Child("effect"), taint.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		)
	}
	return problems
}

// taintsAreUnique: the API server refuses a node with two taints of one key and effect, even if values differ.
func taintsAreUnique(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	firsts := map[corev1.Taint]int{}
	for i, taint := range group.Taints {
		identity := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
		if first, isTwice := firsts[identity]; isTwice {
			problems = append(problems, problemf(at.Child("taints").Index(i), "has the key and effect of taints[%d]", first))
			continue
		}
		firsts[identity] = i
	}
	return problems
}

func startupTaintsAreKeys(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i, key := range group.StartupTaints {
		problems = append(problems, isLabelKey(at.Child("startupTaints").Index(i), key)...)
	}
	return append(problems, areUnique(at.Child("startupTaints"), group.StartupTaints)...)
}

func selectorIsValid(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	options := metav1validation.LabelSelectorValidationOptions{}
	for _, err := range metav1validation.ValidateLabelSelector(group.Selector, options, at.Child("selector")) {
		body := err.ErrorBody()
		problems = append(problems, problem{path: err.Field, message: strings.ToLower(body[:1]) + body[1:]})
	}
	return problems
}

// zonesAreUnique, and can be values of the label topology.kubernetes.io/zone.
func zonesAreUnique(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i, zone := range group.Zones {
		path := at.Child("zones").Index(i)
		if zone == "" {
			problems = append(problems, problemf(path, "must not be empty"))
			continue
		}
		problems = append(problems, isLabelValue(path, zone)...)
	}
	return append(problems, areUnique(at.Child("zones"), group.Zones)...)
}

func topologyKeysAreUnique(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	var keys []string
	for i, level := range group.Topology {
		problems = append(problems, isLabelKey(at.Child("topology").Index(i).Child("key"), level.Key)...)
		keys = append(keys, level.Key)
	}
	return append(problems, areUnique(at.Child("topology"), keys)...)
}

// topologyLevelsNest: levels go from the outermost in, and a domain lies inside one domain of the level around it.
// block 32, rack 4 nests. block 4, rack 32 doesn't; nor block 32, rack 0, where the rack is the whole group.
// A level of 0 may stand outside any other.
func topologyLevelsNest(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	var outer TopologyLevel
	for i, level := range group.Topology {
		path := at.Child("topology").Index(i).Child("nodesPerDomain")
		problems = append(problems, between(path, level.NodesPerDomain, 0, maxCount)...)
		switch {
		case level.NodesPerDomain < 0:
		case outer.NodesPerDomain > 0 && level.NodesPerDomain == 0:
			problems = append(problems, problemf(path,
				"must not be 0 (the whole group) inside %s, whose domains hold %d", outer.Key, outer.NodesPerDomain))
		case outer.NodesPerDomain > 0 && level.NodesPerDomain > outer.NodesPerDomain:
			problems = append(problems, problemf(path,
				"must be at most %d, as many as the domains of the outer level %s hold, is %d",
				outer.NodesPerDomain, outer.Key, level.NodesPerDomain))
		default:
			outer = level
		}
	}
	return problems
}

func isLabelKey(at *field.Path, key string) []problem {
	return invalid(at, key, "label's key", content.IsLabelKey(key))
}

func isLabelValue(at *field.Path, value string) []problem {
	return invalid(at, value, "label's value", content.IsLabelValue(value))
}

func areUnique(at *field.Path, values []string) []problem {
	var problems []problem
	firsts := map[string]int{}
	for i, value := range values {
		if first, isTwice := firsts[value]; isTwice {
			problems = append(problems, problemf(at.Index(i), "%s stands here twice, first at [%d]", shorten(value), first))
			continue
		}
		firsts[value] = i
	}
	return problems
}
