package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// configurationRule checks one thing about the whole; groupRule one thing about one group, whose path is at.
// Rules run after SetDefaults, each on its own: none relies on an earlier one having passed.
type (
	configurationRule func(c *AutoscalerConfiguration) []problem
	groupRule         func(group *NodeGroup, at *field.Path) []problem
)

func configurationRules() []configurationRule {
	return []configurationRule{
		objectiveIsKnown,
		scoringIsKnown,
		hintsAreKnown, featureGatesAreKnown,
		limitsAreCounts,
		namesAreUnique,
	}
}

func groupRules() []groupRule {
	return []groupRule{
		nameIsLabelValue,
		sizesAreCounts,
		minSizeIsAtMostMaxSize,
		sizesAreWholeUnits,
		priceIsInRange,
		capacityTypeIsKnown,
		devicesIsKnown,
		growsForIsKnown,
		acceleratorIsNamed,
		acceleratorIsCounted,
		shapeIsKnown,
		capacityNamesAreResources,
		capacityIsInRange,
		sharingNeedsPlugin,
		slicesNeedDRA,
		slicesNameDriverAndPool,
		slicesAreNodeLocal,
		slicesHoldOneKind,
		slicesAreSmall,
		deviceNamesAreUnique,
		attributesHaveOneValue,
		countersExist,
		labelsAreValid,
		taintsAreValid,
		taintsAreUnique,
		startupTaintsAreKeys,
		selectorIsValid,
		zonesAreUnique,
		topologyKeysAreUnique,
		topologyLevelsNest,
		delayIsNotNegative,
		timeoutIsPositive,
		availabilityIsInOrder,
		availabilityDoesNotOverlap,
	}
}

// validate applies every rule.
func validate(c *AutoscalerConfiguration) []problem {
	var problems []problem
	for _, rule := range configurationRules() {
		problems = append(problems, rule(c)...)
	}
	for i := range c.NodeGroups {
		for _, rule := range groupRules() {
			problems = append(problems, rule(&c.NodeGroups[i], groupPath(i))...)
		}
	}
	return problems
}
