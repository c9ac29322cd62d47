package kubesched

import (
	"fmt"
	"maps"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// features are the scheduler's features as kube-scheduler 1.37 defaults them, with these
// gates set otherwise. The filter time-out of DynamicResources is always off: a search is
// bounded by counted steps, so that its end does not depend on the machine.
func features(gates map[string]bool) (feature.Features, error) {
	f := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	known := map[string]*bool{
		"DRAConsumableCapacity":        &f.EnableDRAConsumableCapacity,
		"DRADerivedAttributes":         &f.EnableDRADerivedAttributes,
		"DRADeviceBindingConditions":   &f.EnableDRADeviceBindingConditions,
		"DRADeviceCompatibilityGroups": &f.EnableDRADeviceCompatibilityGroups,
		"DRADeviceTaints":              &f.EnableDRADeviceTaints,
		"DRAFractionalCapacityRange":   &f.EnableDRAFractionalCapacityRange,
		"DRAListTypeAttributes":        &f.EnableDRAListTypeAttributes,
		"DRAPartitionableDevices":      &f.EnableDRAPartitionableDevices,
		"DRAWorkloadResourceClaims":    &f.EnableDRAWorkloadResourceClaims,
	}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		switch gate, ok := known[name]; {
		case ok:
			*gate = gates[name]
		case name != deviceTaintRules:
			return f, fmt.Errorf("feature gate %s cannot be set", name)
		}
	}
	f.EnableDRASchedulerFilterTimeout = false
	return f, nil
}

// deviceTaintRules is a gate that no plugin reads: it decides which slices they see.
const deviceTaintRules = "DRADeviceTaintRules"

func allocatorFeatures(f feature.Features) structured.Features {
	return dynamicresources.AllocatorFeatures(f)
}
