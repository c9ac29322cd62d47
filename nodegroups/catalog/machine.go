package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// Provider is the cloud that sells a machine.
type Provider string

// The providers that the catalogue covers.
const (
	AWS   Provider = "aws"
	GCP   Provider = "gcp"
	Azure Provider = "azure"
)

// Extended resources that the machines' device plugins offer.
const (
	ResourceNvidiaGPU  corev1.ResourceName = "nvidia.com/gpu"
	ResourceAMDGPU     corev1.ResourceName = "amd.com/gpu"
	ResourceNeuron     corev1.ResourceName = "aws.amazon.com/neuron"
	ResourceNeuronCore corev1.ResourceName = "aws.amazon.com/neuroncore"
	ResourceTPU        corev1.ResourceName = "google.com/tpu"
	ResourceEFA        corev1.ResourceName = "vpc.amazonaws.com/efa"
)

// Machine is one machine type. Each Lookup makes a fresh one, maps included.
type Machine struct {
	Name     string
	Provider Provider
	// Accelerator is the same name on every provider, such as "nvidia-h100-80gb"; "" on CPU machines.
	Accelerator string
	// AcceleratorCount is in physical devices (chips).
	AcceleratorCount int64
	// AcceleratorMemory is in bytes of one device; 0: unknown. It is what EC2 reports
	// for the device where EC2 has it, else the marketed gigabytes (10^9), the lower reading.
	AcceleratorMemory int64
	// Resource is the extended resource that stands for one whole device; "" on CPU machines.
	Resource corev1.ResourceName
	// ExtraResources are further extended resources of the node. NeuronCores are logical
	// ones at the default setting (trn2: two physical cores each).
	ExtraResources map[corev1.ResourceName]int64
	// CPU is in vCPUs.
	CPU int64
	// Memory is in bytes, as sold; the node sees less. See Allocatable.
	Memory int64
	// LocalStorage is in bytes of bundled local disks; 0: none, or unknown.
	LocalStorage int64
	// Architecture is amd64 or arm64.
	Architecture string
	// PricePerHour is on demand, in the region that the data file names; 0 unless PriceKnown.
	PricePerHour configv1alpha1.MicroDollars
	PriceKnown   bool
	// DomainNodes is the most nodes that one NVLink, NeuronLink or ICI domain joins.
	// 1: the node is the domain, or there is none. On TPUs it is the largest slice: the
	// node pool's topology decides the real one.
	DomainNodes int64
	// Labels are set by the cloud and equal on every node of the type.
	Labels map[string]string
	// Uncertain names the columns of the data file whose value has no dependable source.
	Uncertain []string
}

// The embedded files are never assigned to.
var (
	//go:embed data/aws.csv
	awsData string
	//go:embed data/gcp.csv
	gcpData string
	//go:embed data/azure.csv
	azureData string
)

// table is one provider's data file.
type table struct {
	provider Provider
	text     string
}

func tables() []table {
	return []table{{AWS, awsData}, {GCP, gcpData}, {Azure, azureData}}
}

// Lookup finds a machine by its type name. EC2 and Compute Engine names must match
// exactly; Azure names match in any case, as they do in Azure.
//
// It scans the embedded text and parses the one row that matches, some microseconds.
// A row that does not parse is a bug in this package's data and panics; the tests
// parse every row.
func Lookup(name string) (Machine, bool) {
	for _, t := range tables() {
		for line := range rows(t.text) {
			rowName, _, _ := strings.Cut(line, ",")
			if !matches(t.provider, rowName, name) {
				continue
			}
			m, err := parseMachine(t.provider, line)
			if err != nil {
				panic(fmt.Sprintf("catalog: embedded data of %s: %v", t.provider, err))
			}
			return m, true
		}
	}
	return Machine{}, false
}

// matches compares a row's name with an asked one by the provider's own rule.
func matches(p Provider, rowName, name string) bool {
	if p == Azure {
		return strings.EqualFold(rowName, name)
	}
	return rowName == name
}

// Names are all machine types, sorted.
func Names() []string {
	var names []string
	for _, t := range tables() {
		for line := range rows(t.text) {
			name, _, _ := strings.Cut(line, ",")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
