// Package v1alpha1 is the configuration file: its Go types, and the only way in and out of them.
// Load turns bytes into a checked AutoscalerConfiguration with its defaults set, and Marshal writes one back.
//
// The package judges what the file says by itself. It does not know the catalogue of instance types, the cluster or
// the clock, so whatever the catalogue may fill (accelerator, acceleratorCount, capacity, pricePerHour and, with
// them, growsFor) stays empty when the file leaves it out. It opens no files: the caller brings the bytes.
//
// A file is accepted whole or not at all. Every mistake in it is reported at once, one line each, with the line
// of the file, the field and the group's name:
//
//	cluster.yaml:7: nodeGroups[0] (h100): maxSize: must be at least 0, is -1
//	cluster.yaml:9: nodeGroups[0] (h100): pricePerHuor: unknown field, did you mean pricePerHour?
//
// Example:
//
//	data := []byte(`
//	apiVersion: config.tidegate.io/v1alpha1
//	kind: AutoscalerConfiguration
//	nodeGroups:
//	- {name: h100, instanceType: p5.48xlarge, minSize: 0, maxSize: 16, pricePerHour: 98.32}
//	`)
//	configuration, err := v1alpha1.Load(data, "cluster.yaml")
//	// configuration.NodeGroups[0].PricePerHour is 98,320,000 micro-dollars; CapacityType is on-demand.
package v1alpha1
