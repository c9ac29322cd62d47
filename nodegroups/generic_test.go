package nodegroups_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// With gives the slice's first device attributes, "name=value"; values that begin with
// "int:", "version:" or "list:" are of that type, all others are text.
func (b publishedSlice) With(attributes ...string) publishedSlice {
	return b.WithDevice(0, attributes...)
}

func (b publishedSlice) WithDevice(index int, attributes ...string) publishedSlice {
	d := &b.s.Spec.Devices[index]
	d.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	for _, a := range attributes {
		name, text, _ := strings.Cut(a, "=")
		var value resourcev1.DeviceAttribute
		kind, rest, _ := strings.Cut(text, ":")
		switch kind {
		case "int":
			value.IntValue = new(int64(len(rest)))
		case "version":
			value.VersionValue = &rest
		case "list":
			value.StringValues = strings.Split(rest, "+")
		default:
			value.StringValue = &text
		}
		d.Attributes[resourcev1.QualifiedName(name)] = value
	}
	return b
}

// Tainted taints the slice's first device.
func (b publishedSlice) Tainted(key string) publishedSlice {
	at := metav1.NewTime(now())
	b.s.Spec.Devices[0].Taints = append(b.s.Spec.Devices[0].Taints, resourcev1.DeviceTaint{Key: key, Effect: resourcev1.DeviceTaintEffectNoSchedule, TimeAdded: &at})
	return b
}

// describeDevices are lines: driver, pool, device, attributes by name, taints.
func describeDevices(specs []resourcev1.ResourceSliceSpec) []string {
	var out []string
	for _, s := range specs {
		for _, d := range s.Devices {
			words := []string{s.Driver, s.Pool.Name, d.Name}
			for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
				a := d.Attributes[name]
				switch {
				case a.StringValue != nil:
					words = append(words, fmt.Sprintf("%s=%s", name, *a.StringValue))
				case a.VersionValue != nil:
					words = append(words, fmt.Sprintf("%s=version:%s", name, *a.VersionValue))
				case a.IntValue != nil:
					words = append(words, fmt.Sprintf("%s=%d", name, *a.IntValue))
				default:
					words = append(words, fmt.Sprintf("%s=list:%s", name, strings.Join(a.StringValues, "+")))
				}
			}
			for _, taint := range d.Taints {
				words = append(words, "tainted:"+taint.Key)
			}
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

const (
	gpuDriver = "gpu.nvidia.com"
	nicDriver = "dra.net"
	root      = "resource.kubernetes.io/pcieRoot"
)

// learnCase is what a group of ready nodes teaches about slices.
type learnCase struct {
	nodes      []string
	published  []publishedSlice
	wantSource string
	want       []string
}

func (tc learnCase) run(t *testing.T) {
	t.Helper()
	g := own("g")
	g.Devices = configv1alpha1.DevicesDRA
	for _, reversed := range []bool{false, true} {
		var nodes []*corev1.Node
		for _, name := range tc.nodes {
			nodes = append(nodes, makeReady(name, "g").Obj())
		}
		all := slices.Clone(tc.published)
		if reversed {
			slices.Reverse(nodes)
			slices.Reverse(all)
		}
		var before []*resourcev1.ResourceSlice
		for _, b := range all {
			before = append(before, b.s.DeepCopy())
		}
		template := observeWith(t, g, all, nodes...).Template
		require.Equal(t, tc.wantSource, template.SliceSource)
		require.Empty(t, cmp.Diff(tc.want, describeDevices(template.Slices)))
		for i := range all {
			require.Empty(t, cmp.Diff(before[i], all[i].s), "the cluster's slices are left as they are")
		}
	}
}

func TestLearnSlicesFromTheOnlyNode(t *testing.T) {
	cases := map[string]learnCase{
		"nothing published": {nodes: []string{"a"}},
		"identities go, the inside of the machine stays": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", gpuDriver, "a", "gpu-0").With("type=gpu", "uuid=GPU-1", "productName=H100", root+"=pci0000:10",
				"resource.kubernetes.io/numaNode=int:x", "resource.kubernetes.io/pciBusID=0000:65:00.0", "driverVersion=version:1.0.0", "serialNumber=int:xx")},
			want: []string{"gpu.nvidia.com  gpu-0 driverVersion=version:1.0.0 productName=H100 resource.kubernetes.io/numaNode=1 " +
				"resource.kubernetes.io/pciBusID=generic-1 resource.kubernetes.io/pcieRoot=pci0000:10 type=gpu uuid=generic-2"}},
		"addresses and names": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", nicDriver, "a", "n").With("dra.net/mac=m", "dra.net/ipv4=list:1+2", "dra.net/pciAddress=p", "x/parentPciAddr=q",
				"x/hostname=h", "x/machine=a", "x/parentUUID=u", "dra.net/ifName=eth1")},
			want: []string{"dra.net  n dra.net/ifName=eth1 dra.net/ipv4=list:generic-1+generic-2 dra.net/mac=generic-3 dra.net/pciAddress=generic-4 " +
				"x/hostname=generic-5 x/machine=generic-6 x/parentPciAddr=generic-7 x/parentUUID=generic-8"}},
		"equal stays equal across devices and drivers": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{
				publish("a", gpuDriver, "a", "p0", "p1", "p2").WithDevice(0, "parentUUID=x").WithDevice(1, "gpu.nvidia.com/parentUUID=x").WithDevice(2, "parentUUID=y"),
				publish("a", nicDriver, "a", "n").With("gpu.nvidia.com/parentUUID=y", "parentUUID=y")},
			want: []string{"dra.net  n gpu.nvidia.com/parentUUID=generic-1 parentUUID=generic-2", "gpu.nvidia.com  p0 parentUUID=generic-3",
				"gpu.nvidia.com  p1 gpu.nvidia.com/parentUUID=generic-3", "gpu.nvidia.com  p2 parentUUID=generic-1"}},
		"its taints are its own": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", gpuDriver, "a", "gpu-0").Tainted("gpu.nvidia.com/xid")}, want: []string{"gpu.nvidia.com  gpu-0"}},
		"several pools of a driver": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", nicDriver, "a-right", "r"), publish("a", nicDriver, "a-left", "l"), publish("a", gpuDriver, "a", "gpu-0")},
			want:      []string{"dra.net pool-1 l", "dra.net pool-2 r", "gpu.nvidia.com  gpu-0"}},
		"slices by name, of the newest generation": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", gpuDriver, "a", "new-1").Part(2, 2).Named("y"), publish("a", gpuDriver, "a", "new-0").Part(2, 2).Named("x"),
				publish("a", gpuDriver, "a", "old").Named("o")},
			want: []string{"gpu.nvidia.com  new-0", "gpu.nvidia.com  new-1"}},
		"half a pool is left out": {nodes: []string{"a"}, wantSource: "node a",
			published: []publishedSlice{publish("a", gpuDriver, "a", "gpu-0"), publish("a", nicDriver, "a", "n").Part(1, 2)}, want: []string{"gpu.nvidia.com  gpu-0"}},
		"no pool that other nodes share": {nodes: []string{"a"}, published: []publishedSlice{publish("a", gpuDriver, "rack", "gpu-0").PerDevice()}},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestLearnSlicesFromSeveralNodes(t *testing.T) {
	gpu := func(node string, attributes ...string) publishedSlice {
		return publish(node, gpuDriver, node, "gpu-0").With(attributes...)
	}
	cases := map[string]learnCase{
		"the first by name": {nodes: []string{"b", "a"}, wantSource: "node a", published: []publishedSlice{gpu("b"), gpu("a")}, want: []string{"gpu.nvidia.com  gpu-0"}},
		"the one with the most devices": {nodes: []string{"a", "b"}, wantSource: "node b",
			published: []publishedSlice{gpu("a"), publish("b", gpuDriver, "b", "gpu-0", "gpu-1").With()}, want: []string{"gpu.nvidia.com  gpu-0", "gpu.nvidia.com  gpu-1"}},
		"on what they agree": {nodes: []string{"a", "b"}, wantSource: "node a", published: []publishedSlice{
			gpu("a", "pciBusID=1", root+"=r1", "uuid=A", "driverVersion=version:1.0.0", "index=int:x", "list=list:p+q"),
			gpu("b", "pciBusID=1", root+"=r2", "uuid=B", "driverVersion=version:2.0.0", "index=int:x", "list=list:p")},
			want: []string{"gpu.nvidia.com  gpu-0 index=1 list=list:generic-1+generic-2 pciBusID=1 resource.kubernetes.io/pcieRoot=generic-3 uuid=generic-4"}},
		"one has less to say": {nodes: []string{"a", "b"}, wantSource: "node a", published: []publishedSlice{gpu("a", "mode=HMM", "type=gpu"), gpu("b", "type=gpu")},
			want: []string{"gpu.nvidia.com  gpu-0 mode=generic-1 type=gpu"}},
		"a device that only one has": {nodes: []string{"a", "b"}, wantSource: "node a", published: []publishedSlice{
			publish("a", gpuDriver, "a", "gpu-0", "gpu-1").WithDevice(1, "uuid=A", "type=gpu"), gpu("b")},
			want: []string{"gpu.nvidia.com  gpu-0", "gpu.nvidia.com  gpu-1 type=gpu uuid=generic-1"}},
		"one root stays one where one device differs": {nodes: []string{"a", "b"}, wantSource: "node a", published: []publishedSlice{
			gpu("a", root+"=r1"), publish("a", nicDriver, "a", "n").With(root + "=r1"), gpu("b", root+"=r1"), publish("b", nicDriver, "b", "n").With(root + "=r2")},
			want: []string{"dra.net  n resource.kubernetes.io/pcieRoot=generic-1", "gpu.nvidia.com  gpu-0 resource.kubernetes.io/pcieRoot=generic-1"}},
		"taints of all": {nodes: []string{"a", "b"}, wantSource: "node a", published: []publishedSlice{
			gpu("a").Tainted("mine").Tainted("all"), gpu("b").Tainted("all").Tainted("theirs")}, want: []string{"gpu.nvidia.com  gpu-0 tainted:all"}},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// TestLearnSlicesOrder: configuration, then a ready node, then the catalogue.
func TestLearnSlicesOrder(t *testing.T) {
	catalogued := configv1alpha1.NodeGroup{Name: "g", InstanceType: "p5.48xlarge", MaxSize: 10, Devices: configv1alpha1.DevicesDRA}
	configured := withSlices("g", slice(gpuDriver, "p", "said"))
	live := []publishedSlice{publish("a", gpuDriver, "a", "seen").Tainted("t")}
	node := makeReady("a", "g").Obj()

	s := observeWith(t, configured, live, node)
	require.Equal(t, "configuration", s.Template.SliceSource)
	require.Equal(t, []string{"gpu.nvidia.com p said"}, describeDevices(s.Template.Slices))

	s = observeWith(t, catalogued, live, node)
	require.Equal(t, "node a", s.Template.SliceSource)
	require.Equal(t, []string{"gpu.nvidia.com  seen"}, describeDevices(s.Template.Slices))
	require.Nil(t, s.Template.Slices[0].NodeName)

	s = observeWith(t, catalogued, nil, node)
	require.Equal(t, "catalogue: p5.48xlarge", s.Template.SliceSource)
	require.Len(t, describeDevices(s.Template.Slices), 8+32)

	plugin := gpus("g")
	require.Nil(t, observeWith(t, plugin, live, makeReady("a", "g").Allocatable("nvidia.com/gpu", "8").Obj()).Template.Slices)
}
