package openb

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Bounds of what a cell may say: far above any machine, far below an overflow.
const (
	maxCPUMilli  = 1_000_000_000
	maxMemoryMiB = 10_000_000_000
	maxGPUs      = 1024
	// maxModelLength keeps group names, which start with the model, within a label's 63 bytes.
	maxModelLength = 20
)

// shape is what makes two machines interchangeable.
type shape struct {
	cpuMilli  int64
	memoryMiB int64
	gpus      int64
	model     string
}

// machine is one line of the node file.
type machine struct {
	name  string
	shape shape
}

// task is one line of the pod file.
type task struct {
	name      string
	cpuMilli  int64
	memoryMiB int64
	gpus      int64
	gpuMilli  int64    // of each GPU, 1 to 1000; 0 without GPUs
	models    []string // sorted; empty: any
	qos       string
	phase     string
	created   *int64
	scheduled *int64
	deleted   *int64
}

// fractional: the task asks for less than the whole of its GPUs.
func (t task) fractional() bool { return t.gpus > 0 && t.gpuMilli < 1000 }

// exists at a second of the trace.
func (t task) exists(at int64) bool {
	return t.created != nil && *t.created <= at && (t.deleted == nil || at < *t.deleted)
}

// runs at a second of the trace, if it exists then.
func (t task) runs(at int64) bool { return t.scheduled != nil && *t.scheduled <= at }

// readMachines returns the machines of a node file, sorted by name.
func readMachines(r io.Reader, name string) ([]machine, error) {
	t, err := openTable(r, name, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, err
	}
	var machines []machine
	if err := t.each("sn", func(line row) error {
		m, err := parseMachine(line)
		machines = append(machines, m)
		return err
	}); err != nil {
		return nil, err
	}
	if len(machines) == 0 {
		return nil, fmt.Errorf("%s: no machines below the header", name)
	}
	slices.SortFunc(machines, func(a, b machine) int { return strings.Compare(a.name, b.name) })
	return machines, nil
}

func parseMachine(line row) (machine, error) {
	m := machine{name: line.text("sn")}
	// A node's name is also its kubernetes.io/hostname label, which is the narrower of the two.
	if problems := slices.Concat(validation.IsDNS1123Subdomain(m.name), validation.IsValidLabelValue(m.name)); len(problems) > 0 {
		return machine{}, line.bad("sn", "is no name for a node: "+problems[0])
	}
	var err error
	if m.shape.cpuMilli, err = line.integer("cpu_milli", 1, maxCPUMilli); err != nil {
		return machine{}, err
	}
	if m.shape.memoryMiB, err = line.integer("memory_mib", 1, maxMemoryMiB); err != nil {
		return machine{}, err
	}
	if m.shape.gpus, err = line.integer("gpu", 0, maxGPUs); err != nil {
		return machine{}, err
	}
	m.shape.model = line.text("model")
	switch {
	case m.shape.gpus == 0 && m.shape.model != "":
		return machine{}, line.bad("model", "is given, but gpu is 0")
	case m.shape.gpus > 0 && m.shape.model == "":
		return machine{}, line.bad("model", "is empty, but gpu is not 0")
	case m.shape.gpus > 0:
		if problem := checkModel(m.shape.model); problem != "" {
			return machine{}, line.bad("model", problem)
		}
	}
	return m, nil
}

// readTasks returns the tasks of a pod file, sorted by name. With needTimes, a moment of
// the trace is wanted, and every task must say when it was created.
func readTasks(r io.Reader, name string, needTimes bool) ([]task, error) {
	t, err := openTable(r, name, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
	if err != nil {
		return nil, err
	}
	if needTimes && !t.has("creation_time") {
		return nil, fmt.Errorf("%s: no column creation_time in the header, so no pod can be dated; leave out the moment to take them all at once", name)
	}
	var tasks []task
	if err := t.each("name", func(line row) error {
		parsed, err := parseTask(line)
		if err == nil && needTimes && parsed.created == nil {
			err = line.bad("creation_time", "is empty, but a moment of the trace is asked for")
		}
		tasks = append(tasks, parsed)
		return err
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(tasks, func(a, b task) int { return strings.Compare(a.name, b.name) })
	return tasks, nil
}

func parseTask(line row) (task, error) {
	t := task{name: line.text("name"), qos: line.text("qos"), phase: line.text("pod_phase")}
	if problems := validation.IsDNS1123Subdomain(t.name); len(problems) > 0 {
		return task{}, line.bad("name", "is no name for a pod: "+problems[0])
	}
	for _, column := range []string{"qos", "pod_phase"} {
		if problems := validation.IsValidLabelValue(line.text(column)); len(problems) > 0 {
			return task{}, line.bad(column, "is no label value: "+problems[0])
		}
	}
	var err error
	if t.cpuMilli, err = line.integer("cpu_milli", 0, maxCPUMilli); err != nil {
		return task{}, err
	}
	if t.memoryMiB, err = line.integer("memory_mib", 0, maxMemoryMiB); err != nil {
		return task{}, err
	}
	if t.gpus, t.gpuMilli, err = parseGPUs(line); err != nil {
		return task{}, err
	}
	if t.models, err = parseModels(line); err != nil {
		return task{}, err
	}
	if t.created, err = line.seconds("creation_time"); err != nil {
		return task{}, err
	}
	if t.deleted, err = line.seconds("deletion_time"); err != nil {
		return task{}, err
	}
	if t.scheduled, err = line.seconds("scheduled_time"); err != nil {
		return task{}, err
	}
	return t, nil
}

func parseGPUs(line row) (gpus, gpuMilli int64, err error) {
	if gpus, err = line.integer("num_gpu", 0, maxGPUs); err != nil {
		return 0, 0, err
	}
	if gpuMilli, err = line.integer("gpu_milli", 0, 1000); err != nil {
		return 0, 0, err
	}
	if gpus == 0 && gpuMilli != 0 {
		return 0, 0, line.bad("gpu_milli", "is given, but num_gpu is 0")
	}
	if gpus > 0 && gpuMilli == 0 {
		return 0, 0, line.bad("gpu_milli", "asks for nothing of each GPU, but num_gpu is not 0")
	}
	return gpus, gpuMilli, nil
}

// parseModels splits "V100M16|V100M32". The published files repeat some models in a list.
func parseModels(line row) ([]string, error) {
	text := line.text("gpu_spec")
	if text == "" {
		return nil, nil
	}
	models := strings.Split(text, "|")
	for i, model := range models {
		models[i] = strings.TrimSpace(model)
		if problem := checkModel(models[i]); problem != "" {
			return nil, line.bad("gpu_spec", problem)
		}
	}
	slices.Sort(models)
	return slices.Compact(models), nil
}

// checkModel says what is wrong with a GPU model as a label value and part of a name; "": nothing.
func checkModel(model string) string {
	if model == "" {
		return "has an empty model name"
	}
	if len(model) > maxModelLength {
		return fmt.Sprintf("has a model name of more than %d bytes", maxModelLength)
	}
	if problems := validation.IsValidLabelValue(model); len(problems) > 0 {
		return "is no label value: " + problems[0]
	}
	return ""
}
