package v1alpha1

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxCount bounds everything that is counted, so that sums of products of counts stay within an int64.
const maxCount = math.MaxInt32

func objectiveIsKnown(c *AutoscalerConfiguration) []problem {
	return oneOf(field.NewPath("objective"), c.Objective, ObjectiveCost, ObjectiveNodes, ObjectivePriority)
}

func scoringIsKnown(c *AutoscalerConfiguration) []problem {
	return oneOf(field.NewPath("scheduler", "scoring"), c.Scheduler.Scoring, ScoringLeastAllocated, ScoringMostAllocated)
}

func hintsAreKnown(c *AutoscalerConfiguration) []problem {
	return oneOf(field.NewPath("scheduler", "hints"), c.Scheduler.Hints, HintsNominate, HintsNone)
}

// featureGateNames are the gates of the scheduler that may be set: those of DRA that are
// not locked in 1.37, as far as they decide what is allocated.
func featureGateNames() []string {
	return []string{
		"DRAConsumableCapacity", "DRADerivedAttributes", "DRADeviceBindingConditions", "DRADeviceCompatibilityGroups",
		"DRADeviceTaintRules", "DRADeviceTaints", "DRAFractionalCapacityRange", "DRAListTypeAttributes",
		"DRAPartitionableDevices", "DRAWorkloadResourceClaims",
	}
}

func featureGatesAreKnown(c *AutoscalerConfiguration) []problem {
	var problems []problem
	at := field.NewPath("scheduler", "featureGates")
	for _, name := range slices.Sorted(maps.Keys(c.Scheduler.FeatureGates)) {
		problems = append(problems, oneOf(at.Key(name), name, featureGateNames()...)...)
	}
	return problems
}

// limitsAreCounts: a limit of 0 is allowed, it stops growth; a negative one is a mistake.
func limitsAreCounts(c *AutoscalerConfiguration) []problem {
	var problems []problem
	at := field.NewPath("limits")
	if most := c.Limits.MaxNodes; most != nil {
		problems = append(problems, between(at.Child("maxNodes"), *most, 0, maxCount)...)
	}
	if most := c.Limits.MaxCostPerHour; most != nil && *most < 0 {
		problems = append(problems, problemf(at.Child("maxCostPerHour"), "must be at least 0, is %s", *most))
	}
	at = at.Child("accelerators")
	for _, name := range slices.Sorted(maps.Keys(c.Limits.Accelerators)) {
		if strings.TrimSpace(name) == "" {
			problems = append(problems, problemf(at, "has a limit without an accelerator's name"))
		}
		problems = append(problems, between(at.Key(name), c.Limits.Accelerators[name], 0, maxCount)...)
	}
	return problems
}

func namesAreUnique(c *AutoscalerConfiguration) []problem {
	var problems []problem
	first := map[string]int{}
	for i, group := range c.NodeGroups {
		j, isTaken := first[group.Name]
		switch {
		case group.Name == "": // nameIsLabelValue says so.
		case isTaken:
			problems = append(problems, problemf(groupPath(i).Child("name"), "is taken by nodeGroups[%d]", j))
		default:
			first[group.Name] = i
		}
	}
	return problems
}

func oneOf[T ~string](at *field.Path, value T, allowed ...T) []problem {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, 0, len(allowed))
	for _, name := range allowed {
		names = append(names, string(name))
	}
	return []problem{problemf(at, "must be one of %s, is %s", strings.Join(names, ", "), shorten(string(value)))}
}

func between(at *field.Path, value, least, most int64) []problem {
	switch {
	case value < least:
		return []problem{problemf(at, "must be at least %d, is %d", least, value)}
	case value > most:
		return []problem{problemf(at, "must be at most %d, is %d", most, value)}
	default:
		return nil
	}
}

// invalid makes problems of the messages that apimachinery's checks return.
func invalid(at *field.Path, value, wanted string, messages []string) []problem {
	var problems []problem
	for _, message := range messages {
		problems = append(problems, problem{path: pathText(at), message: fmt.Sprintf("%s is not a %s: %s", shorten(value), wanted, message)})
	}
	return problems
}
