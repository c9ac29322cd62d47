// Package catalog says what each accelerator machine offers: devices, vCPUs, memory,
// price, labels, what a new node of it leaves for pods and which ResourceSlices drivers
// publish on it. It lets a node group that
// names only its machine type be planned before its first node exists.
//
// It is not a price service and knows no quota, zone, spot price or reservation. It is
// no replacement for a live node either: operators override it resource by resource,
// and what a ready node of the group shows is better than what is written here. Values
// without a dependable source are kept and named in Machine.Uncertain.
//
// Left out on purpose:
//   - machines that hold a part of a GPU (g6f, gr6f, NV6ads, NV12ads, NV18ads and
//     NC64ds_xl): AcceleratorCount counts whole devices, so any number would be untrue;
//   - tpu7x-standard-1t, whose vCPUs and memory are not published where we can check;
//   - N1 machines with attached GPUs: there the type does not say which GPU it has;
//   - EC2's k8s.amazonaws.com/accelerator label, which the operator sets, not the cloud;
//   - prices of optional local disks and boot disks;
//   - slices of Google TPUs: the names of their attributes are not public;
//   - of the other slices, what is known only when the machine runs (identities,
//     addresses, driver versions) and how devices hang on PCIe roots and NUMA nodes.
//
// Example:
//
//	machine, found := catalog.Lookup("p5.48xlarge")
//	if !found {
//		return fmt.Errorf("unknown machine, near: %v", catalog.Suggest("p5.48xlarge"))
//	}
//	machine.AcceleratorCount  // 8 of "nvidia-h100-80gb"
//	machine.Allocatable()     // cpu 191450m, nvidia.com/gpu 8, vpc.amazonaws.com/efa 32, ...
//	machine.ResourceSlices(8) // what gpu.nvidia.com and dra.net publish
package catalog
