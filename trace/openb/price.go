package openb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// The default prices per hour of a machine's parts; the package comment has the table.
const (
	pricePerVCPU configv1alpha1.MicroDollars = 33_174
	pricePerGiB  configv1alpha1.MicroDollars = 4_446
)

// defaultGPUPrice is the price per hour of one GPU.
func defaultGPUPrice(model string) (price configv1alpha1.MicroDollars, known bool) {
	switch model {
	case "T4":
		return 350_000, true
	case "A10":
		return 750_000, true
	case "P100":
		return 1_460_000, true
	case "V100M16":
		return 2_480_000, true
	case "V100M32":
		return 2_900_000, true
	case "G2": // Undisclosed; assumed to be of A10's class.
		return 750_000, true
	case "G3": // Undisclosed; assumed to be of A100's class.
		return 2_930_000, true
	}
	return 0, false
}

// machinePrice is the price per hour of one machine of a group, and false where nothing
// prices its GPU model.
func machinePrice(g group, overrides map[string]configv1alpha1.MicroDollars) (configv1alpha1.MicroDollars, bool) {
	if price, found := overrides[g.name]; found {
		return price, true
	}
	price := rounded(int64(pricePerVCPU)*g.shape.cpuMilli, 1000) + rounded(int64(pricePerGiB)*g.shape.memoryMiB, 1024)
	if g.shape.gpus > 0 {
		perGPU, known := overrides[g.shape.model]
		if !known {
			perGPU, known = defaultGPUPrice(g.shape.model)
		}
		if !known {
			return 0, false
		}
		price += int64(perGPU) * g.shape.gpus
	}
	return configv1alpha1.MicroDollars(price), true
}

// rounded is n/d to the nearest integer, halves up; n is not negative.
func rounded(n, d int64) int64 { return (n + d/2) / d }

// checkPrices refuses a key that prices nothing: it is a misspelling more often than not.
func checkPrices(groups []group, overrides map[string]configv1alpha1.MicroDollars) error {
	known := map[string]struct{}{}
	for _, g := range groups {
		known[g.name] = struct{}{}
		if g.shape.gpus > 0 {
			known[g.shape.model] = struct{}{}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		if _, found := known[key]; !found {
			return fmt.Errorf("prices: %s is neither a GPU model nor a node group of this fleet; known: %s",
				quoted(key), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}
