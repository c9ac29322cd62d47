// Package openb reads the pod and machine tables of Alibaba's public
// cluster-trace-gpu-v2023 ("openb") and states them as Kubernetes objects: a cluster
// dump and a configuration whose node groups are that fleet's own machine shapes.
//
// It is for trying a plan or a simulation on the demand and the machines of a real
// accelerator cluster. It is not a replay of that cluster: the tables don't say where a
// pod ran, what a machine cost, or who owned a pod, and nothing here guesses the last.
//
// # What becomes what
//
// A machine shape is a distinct (CPU, memory, GPUs, GPU model). Each is one node group,
// named by its content: "g2-8x-96c-384g" has eight G2, 96 CPUs and 384 GiB;
// "cpu-32c-256g" has no GPU. Amounts that are not whole CPUs or GiB are written in
// thousandths ("1500m") and MiB ("1000mi"). GPU groups carry the label
// openb.tidegate.io/gpu-model and the accelerator name "openb-g2"; no group has taints.
// GPU groups keep the default of growing only for pods that ask for a GPU, so pods
// without one are served by new machines without one. Every machine admits 256 pods:
// pods of the trace ask for a CPU or more and no machine has more than 128, so the pod
// count never binds.
//
// A pod keeps its name, in namespace "openb", its requests, and its QoS class and phase
// as labels. gpu_spec becomes a required node affinity to the models it lists. The
// trace's second 0 is 2023-01-01T00:00:00Z; pods are created so many seconds later.
//
// # All at once, or a moment
//
// Without Options.At every pod of the table is pending and there are no machines: the
// whole trace against empty groups. With At the pods with creation_time <= At <
// deletion_time exist (no deletion_time: for ever). Those with scheduled_time <= At run,
// the others are pending. All machines of the fleet exist then, and running pods are
// laid out afresh in the order in which they were scheduled: a pod without GPUs goes to
// the first machine that holds it, machines without GPUs before others; a pod with GPUs
// goes to the machine that is left with the fewest free. Machines are tried by name.
// Pods that have ended by At leave no trace in this layout. A running pod that finds no
// place stays pending, and a warning says how many did.
//
// # Fractions of a GPU
//
// More than four in ten of the trace's GPU pods ask for a part of one GPU (gpu_milli
// below 1000).
// A node's extended resource cannot say that, so there are two approximations:
//
//   - Whole gives such a pod a whole GPU: pessimistic, every GPU has one tenant.
//   - Share offers each GPU ten times, as time-slicing does (sharing.replicas: 10). A pod
//     asks for gpu_milli/100 shares of each of its GPUs, rounded up: 460 is 5 shares,
//     two whole GPUs are 20. Capacity and allocatable then count shares (an 8-GPU
//     machine offers nvidia.com/gpu: 80) while acceleratorCount counts devices.
//
// Share is optimistic: shares of different devices add up. A machine whose two GPUs have
// 3 shares left each can take a pod of 5, which no single GPU has room for; the device
// plugin keeps no pod's shares on one device, and bounds neither memory nor time. Sharing
// without this error needs devices that can be told apart.
//
// # Devices
//
// With Options.Devices DevicesDRA GPUs are not an extended resource but devices of the
// driver gpu.nvidia.com. Groups have "devices: dra" and state the ResourceSlices of a new
// node: one pool, devices gpu-0, gpu-1 and so on, with the attributes type ("gpu") and
// productName (the trace's model). A pod claims its GPUs from one ResourceClaimTemplate
// per kind of claim; of which model they may be stays a matter of node affinity.
//
//   - Whole gives devices to one pod each. The template gpus-2 asks for two.
//   - Share lets pods share a device by thousandths of it: allowMultipleAllocations and a
//     capacity "shares" of 1000. The template gpu-share-470 asks for one device and 470 of
//     its shares; gpus-2 for two and all 1000 of each, beside which nothing else fits.
//     Parts of several GPUs (gpus-2-share-500) are of different ones: the constraint
//     distinctAttribute on the attribute index says so.
//
// This Share is exact. A pod's part is on one device, and no device is given out beyond
// its whole.
//
// At a moment, machines have their slices, and running pods their ResourceClaims, named
// like the pods, allocated and reserved. On its machine a pod gets the first devices that
// have room, as the scheduler's allocator would give them. Pending pods have no claims
// yet. The API lets no claim have more than 32 devices: a pod that asks for more stays
// pending, and a warning says so.
//
// # Prices
//
// The trace has none. A machine's default is the sum of its parts, in US dollars per
// hour. The figures are assumptions in the range of public on-demand list prices:
//
//	vCPU       0.033174
//	GiB        0.004446
//	T4         0.35
//	A10        0.75
//	P100       1.46
//	V100M16    2.48       V100 with 16 GB
//	V100M32    2.90       V100 with 32 GB
//	G2         0.75       undisclosed model; assumed to be of A10's class
//	G3         2.93       undisclosed model; assumed to be of A100's class
//
// Options.Prices replaces the price of one GPU of a model, or of one whole machine of a
// group. A model outside the table must be priced: there is no silent default.
//
// # Example
//
// The machines
//
//	sn,cpu_milli,memory_mib,gpu,model
//	m1,96000,393216,8,G2
//
// are one group, g2-8x-96c-384g, at 96*0.033174 + 384*0.004446 + 8*0.75 = 10.891968
// dollars per hour. The pod
//
//	name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
//	p1,6000,12288,1,460,G2
//
// asks for 6 CPUs, 12Gi and nvidia.com/gpu: 1 (Whole) or 5 (Share), and only for nodes
// labelled openb.tidegate.io/gpu-model=G2. With DevicesDRA it claims one device of the
// class gpu.nvidia.com (Whole), or 460 of the 1000 shares of one (Share).
package openb
