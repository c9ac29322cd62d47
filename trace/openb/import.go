package openb

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// Result is a trace, or one moment of it, as Kubernetes objects.
type Result struct {
	// Configuration has one node group per machine shape, sorted by name.
	Configuration *configv1alpha1.AutoscalerConfiguration
	// Pods and Nodes are sorted by name.
	Pods  []*corev1.Pod
	Nodes []*corev1.Node
	// Classes, Slices, Templates and Claims are there with Options.Devices DevicesDRA.
	// Slices are those of Nodes, and Claims those of running pods, in their order.
	Classes   []*resourcev1.DeviceClass
	Slices    []*resourcev1.ResourceSlice
	Templates []*resourcev1.ResourceClaimTemplate
	Claims    []*resourcev1.ResourceClaim
	// Warnings are sentences on what the import could not keep.
	Warnings []string
	// Machines is how many machines of each node group the trace has, in the
	// configuration's order.
	Machines []Machines
	Counts   Counts
}

// Machines is the size of one node group in the trace's own fleet.
type Machines struct {
	NodeGroup string
	Count     int64
}

// Counts sums an import up.
type Counts struct {
	Tasks      int // lines of the pod file
	Absent     int // of Tasks, not created yet or gone at Options.At
	Running    int // on a node of the result
	Pending    int // in the result without a node
	Displaced  int // of Pending, running in the trace, but without a place here
	Fractional int // of Running and Pending, asking for less than the whole of a GPU
	Machines   int // lines of the node file
	NodeGroups int
}

// Objects are all but the configuration, for WriteDump.
func (r *Result) Objects() []runtime.Object {
	return slices.Concat(asObjects(r.Nodes), asObjects(r.Pods),
		asObjects(r.Classes), asObjects(r.Slices), asObjects(r.Templates), asObjects(r.Claims))
}

func asObjects[T runtime.Object](typed []T) []runtime.Object {
	objects := make([]runtime.Object, len(typed))
	for i, object := range typed {
		objects[i] = object
	}
	return objects
}

// Import reads a pod file and a node file of the trace. podsName and nodesName are what
// errors call them. The order of their lines makes no difference.
func Import(pods, nodes io.Reader, podsName, nodesName string, opts Options) (*Result, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}

	// 1. The fleet.
	machines, err := readMachines(nodes, nodesName)
	if err != nil {
		return nil, err
	}
	groups := groupMachines(machines)

	// 2. The demand.
	tasks, err := readTasks(pods, podsName, opts.At != nil)
	if err != nil {
		return nil, err
	}

	// 3. The fleet as node groups.
	result := &Result{Counts: Counts{Tasks: len(tasks), Machines: len(machines), NodeGroups: len(groups)}}
	if result.Configuration, err = configure(groups, len(tasks), nodesName, opts); err != nil {
		return nil, err
	}
	for _, g := range groups {
		result.Machines = append(result.Machines, Machines{NodeGroup: g.name, Count: g.machines})
	}

	// 4. The moment's nodes and pods.
	present := presentAt(tasks, opts.At)
	result.Counts.Absent = len(tasks) - len(present)
	places := map[string]seat{}
	if opts.At != nil {
		result.addNodes(machines, groups, opts)
		running := runningAt(present, *opts.At)
		places = place(running, machines, opts.offer())
		result.warnDisplaced(running, places, *opts.At)
	}
	result.addPods(present, places, opts)

	// 5. What can never be served.
	result.warnUnservable(present, places, groups, opts)
	return result, nil
}

// presentAt keeps the tasks that exist at a second of the trace; nil: all.
func presentAt(tasks []task, at *int64) []task {
	if at == nil {
		return tasks
	}
	var present []task
	for _, t := range tasks {
		if t.exists(*at) {
			present = append(present, t)
		}
	}
	return present
}

func runningAt(present []task, at int64) []task {
	var running []task
	for _, t := range present {
		if t.runs(at) {
			running = append(running, t)
		}
	}
	return running
}

func (r *Result) addNodes(machines []machine, groups []group, opts Options) {
	groupOf := map[shape]group{}
	for _, g := range groups {
		groupOf[g.shape] = g
	}
	for _, m := range machines {
		r.Nodes = append(r.Nodes, nodeOf(m, groupOf[m.shape], opts.offer()))
		if opts.offer().dra {
			r.Slices = append(r.Slices, slicesOf(m, opts.offer())...)
		}
	}
}

func (r *Result) addPods(present []task, places map[string]seat, opts Options) {
	offered := opts.offer()
	for _, t := range present {
		where := places[t.name]
		pod := podOf(t, where.node, offered)
		if where.node == "" {
			r.Counts.Pending++
		} else {
			r.Counts.Running++
		}
		if t.fractional() {
			r.Counts.Fractional++
		}
		r.Pods = append(r.Pods, pod)
		if len(pod.Status.ResourceClaimStatuses) > 0 {
			r.Claims = append(r.Claims, claimOf(pod, demandOf(t, offered), where, offered))
		}
	}
	if offered.dra {
		r.Classes = []*resourcev1.DeviceClass{gpuClass()}
		r.Templates = templatesFor(present, offered)
	}
}

func (r *Result) warnDisplaced(running []task, places map[string]seat, at int64) {
	var displaced []string
	for _, t := range running {
		if places[t.name].node == "" {
			displaced = append(displaced, t.name)
		}
	}
	r.Counts.Displaced = len(displaced)
	r.warn(displaced, fmt.Sprintf("run at second %d of the trace but found no free machine here, and are pending instead", at))
}

// warnUnservable names the pending pods that no group can ever serve. Groups with GPUs
// count only for pods that ask for one: they grow for no others.
func (r *Result) warnUnservable(present []task, places map[string]seat, groups []group, opts Options) {
	var tooBig, tooMany, noModel []string
	machines := make([]room, len(groups))
	for i, g := range groups {
		machines[i] = roomOf(g.name, g.shape, opts.offer())
	}
	for _, t := range present {
		if places[t.name].node != "" {
			continue
		}
		d := demandOf(t, opts.offer())
		fits, hasModel := false, len(d.models) == 0
		for i, g := range groups {
			empty := &machines[i]
			growsForIt := (d.gpus > 0) == (g.shape.gpus > 0)
			fits = fits || growsForIt && empty.fits(d)
			hasModel = hasModel || empty.fits(demand{models: d.models})
		}
		switch {
		case !hasModel:
			noModel = append(noModel, t.name)
		case tooManyToClaim(d):
			tooMany = append(tooMany, t.name)
		case !fits:
			tooBig = append(tooBig, t.name)
		}
	}
	r.warn(noModel, "accept only GPU models that no machine of this fleet has")
	r.warn(tooMany, fmt.Sprintf("ask for more devices than one claim may have, which are %d", resourcev1.AllocationResultsMaxSize))
	r.warn(tooBig, "fit no machine that a node group would add for them, even an empty one (groups with GPUs grow only for pods that ask for GPUs)")
}

// warn says how many pods share a fate, and the first of them.
func (r *Result) warn(pods []string, fate string) {
	const shown = 3
	if len(pods) == 0 {
		return
	}
	names := strings.Join(pods[:min(shown, len(pods))], ", ")
	if len(pods) > shown {
		names += ", …"
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("pods that %s: %d (%s)", fate, len(pods), names))
}
