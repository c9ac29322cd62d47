package catalog

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	mebibyte int64 = 1 << 20
	gibibyte int64 = 1 << 30

	// maxPods is GKE Standard's default, and AKS's with kubenet. AKS overlay networks
	// default to 250 and Azure CNI to 30; EKS derives its number from the network
	// interfaces unless told otherwise. One number for all keeps the memory reserve,
	// which grows with it on EKS and AKS, the same on every machine.
	maxPods int64 = 110

	// evictionMemory is the kubelet's hard threshold memory.available on all three services.
	evictionMemory = 100 * mebibyte
)

// reserve is what a node keeps from pods, and the disk that is left to them.
type reserve struct {
	cpuMillis        int64
	memory           int64
	ephemeralStorage int64
}

// Allocatable is what a new node of this type offers pods, DaemonSets included: the
// machine as sold, less what its hypervisor and kernel hide, less the reserve of the
// managed Kubernetes service, less the eviction threshold. Where sources differ it
// errs low: a node that is bought and then too small helps nobody.
//
// Local disks are not counted: whether they back ephemeral storage is a setting of
// the node group. Nor is hugepage memory, which some accelerator images set aside.
//
// Example, p5.48xlarge (192 vCPUs, 2048 GiB) on EKS:
//
//	cpu     192000m - 550m                               = 191450m
//	memory  2097152Mi - 157287Mi - 1465Mi - 100Mi        = 1938300Mi
//	nvidia.com/gpu 8, vpc.amazonaws.com/efa 32, pods 110, ephemeral-storage 89Gi
func (m Machine) Allocatable() corev1.ResourceList {
	r := m.reserve()
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(m.CPU*1000-r.cpuMillis, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(m.Memory-r.memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(r.ephemeralStorage, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
	if m.Resource != "" {
		list[m.Resource] = *resource.NewQuantity(m.AcceleratorCount, resource.DecimalSI)
	}
	for name, n := range m.ExtraResources {
		list[name] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return list
}

// reserve takes EKS's rules for a machine of no known provider.
func (m Machine) reserve() reserve {
	switch m.Provider {
	case GCP:
		return reserve{
			cpuMillis:        steppedCPU(m.CPU),
			memory:           gceKernelMemory(m.Memory) + gkeMemory(m.Memory) + evictionMemory,
			ephemeralStorage: gkeEphemeralStorage,
		}
	case Azure:
		return reserve{
			cpuMillis:        aksCPU(m.CPU),
			memory:           hypervisorMemory(m.Memory) + aksMemory(m.Memory) + evictionMemory,
			ephemeralStorage: aksEphemeralStorage,
		}
	default:
		return reserve{
			cpuMillis:        steppedCPU(m.CPU),
			memory:           hypervisorMemory(m.Memory) + eksMemory() + evictionMemory,
			ephemeralStorage: eksEphemeralStorage,
		}
	}
}

// steppedCPU is the reserve of EKS and GKE in thousandths of a core: 6 % of the first
// core, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of each further one.
// Sources: EKS's node bootstrap (nodeadm, earlier bootstrap.sh) and GKE's "Plan node
// sizes". Halves round up.
//
// Example, 8 cores: 60m + 10m + 2 x 5m + 4 x 2.5m = 90m.
func steppedCPU(cores int64) int64 {
	tenths := 600*coresBetween(cores, 0, 1) + 100*coresBetween(cores, 1, 2) +
		50*coresBetween(cores, 2, 4) + 25*max(cores-4, 0)
	return ceilDiv(tenths, 10)
}

// aksCPU follows the table in AKS's "Node resource reservations": 60m for one core,
// 100m for 2, 140m for 4, 180m for 8, 260m for 16, 420m for 32, 740m for 64. In steps:
// 60m, 40m, twice 20m, then 10m a core, which we also use beyond 64, where the table ends.
//
// Example, 96 cores: 60m + 40m + 40m + 92 x 10m = 1060m.
func aksCPU(cores int64) int64 {
	return 60*coresBetween(cores, 0, 1) + 40*coresBetween(cores, 1, 2) +
		20*coresBetween(cores, 2, 4) + 10*max(cores-4, 0)
}

// coresBetween counts the cores of a machine that lie in (from, to].
func coresBetween(cores, from, to int64) int64 {
	return max(min(cores, to)-from, 0)
}

// hypervisorMemory is the memory that is sold but that the node never sees. Neither EC2
// nor Azure publishes it; Karpenter's providers for both assume 7.5 % unless told
// otherwise (vmMemoryOverheadPercent), and we do the same, rounded up to a MiB.
//
// Example, 2048 GiB: 7.5 % of 2097152 MiB is 157286.4 MiB, so 157287 MiB.
func hypervisorMemory(sold int64) int64 {
	return ceilDiv(sold*75, 1000*mebibyte) * mebibyte
}

// eksMemory is EKS's kube-reserved memory: 255 MiB and 11 MiB for each pod that the
// node may hold. Source: nodeadm.
//
// Example, 110 pods: 255 + 11 x 110 = 1465 MiB.
func eksMemory() int64 {
	return (255 + 11*maxPods) * mebibyte
}

// aksMemory is AKS's kube-reserved memory since Kubernetes 1.29: 20 MB for each pod that
// the node may hold and 50 MB more, but no more than a quarter of the machine. Source:
// "Node resource reservations"; we read its MB as MiB, the larger.
//
// Example, 110 pods on 1900 GiB: 20 x 110 + 50 = 2250 MiB.
func aksMemory(sold int64) int64 {
	return min((20*maxPods+50)*mebibyte, sold/4)
}

// gkeMemory is GKE's reserve, by parts of the machine's memory: 25 % of the first 4 GiB,
// 20 % of the next 4, 10 % of the next 8, 6 % of the next 112, 2 % of what is above 128.
// Source: "Plan node sizes".
//
// Example, 16 GiB: 1024 + 819.2 + 819.2 = 2662.4 MiB.
func gkeMemory(sold int64) int64 {
	var hundredths int64
	from := int64(0)
	for _, step := range []struct{ to, percent int64 }{
		{4 * gibibyte, 25}, {8 * gibibyte, 20}, {16 * gibibyte, 10}, {128 * gibibyte, 6}, {sold, 2},
	} {
		hundredths += max(min(sold, step.to)-from, 0) * step.percent
		from = step.to
	}
	return ceilDiv(hundredths, 100)
}

// gceKernelMemory is what the kernel of a GKE node takes before the kubelet counts: one
// 64th of the memory, 16 MiB, 64 MiB of bounce buffers, and 0.175 % up to 248 MiB that
// was measured and not explained. Source: Cluster Autoscaler's GCE provider, for Linux
// machines of 8 GiB and more.
//
// Example, 16 GiB: 256 + 16 + 64 + 28.672 = 364.672 MiB.
func gceKernelMemory(sold int64) int64 {
	unexplained := min(ceilDiv(sold*175, 100_000), 248*mebibyte)
	return sold/64 + 80*mebibyte + unexplained
}

// Ephemeral storage is the boot disk's, whose size is a setting of the node group. The
// sizes here are modest ones; a group with another disk states its capacity.
const (
	// eksEphemeralStorage is of a 100 GiB volume, our assumption: the service's default
	// of 20 GiB does not hold accelerator images. 10 % eviction, 1 GiB kube-reserved: 89 GiB.
	eksEphemeralStorage = (100 - 10 - 1) * gibibyte
	// gkeEphemeralStorage is of GKE's default 100 GB disk, of which a node shows about
	// 94 GiB. 10 % eviction (rounded up), and a reserve of the least of half the disk,
	// 6 GiB + 35 % and 100 GiB, so 41 GiB: 43 GiB.
	gkeEphemeralStorage = (94 - 10 - 41) * gibibyte
	// aksEphemeralStorage is of AKS's smallest default disk, 128 GiB, of which a node
	// shows about 123 GiB. 10 % eviction (rounded up), no reserve: 110 GiB.
	aksEphemeralStorage = (123 - 13) * gibibyte
)

func ceilDiv(n, by int64) int64 {
	return (n + by - 1) / by
}
