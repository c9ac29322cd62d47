package catalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// header is the first row of every provider's data file. Fields are never quoted, so a row can be
// cut at its commas; lists within a field are separated by spaces.
const header = "name,accelerator,accelerator_count,accelerator_memory,cpu,memory,local_storage," +
	"architecture,price,domain_nodes,extra_resources,labels,uncertain"

// rows yields a data file's machines or devices: no comments, no header, no empty lines.
func rows(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			if line == "" || line == header || line == deviceHeader || strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}

// columns is one row by column name. The first error sticks, so that a row is read
// without a check at every field.
type columns struct {
	values map[string]string
	err    error
}

// cut splits a row into the columns of its file's header.
func cut(header, line string) (*columns, error) {
	names, fields := strings.Split(header, ","), strings.Split(line, ",")
	if len(fields) != len(names) {
		return nil, fmt.Errorf("row %q: %d fields, want %d", line, len(fields), len(names))
	}
	c := &columns{values: make(map[string]string, len(names))}
	for i, name := range names {
		c.values[name] = fields[i]
	}
	return c, nil
}

func parseMachine(p Provider, line string) (Machine, error) {
	c, err := cut(header, line)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{
		Name:              c.values["name"],
		Provider:          p,
		Accelerator:       c.values["accelerator"],
		AcceleratorCount:  c.number("accelerator_count"),
		AcceleratorMemory: c.scaled("accelerator_memory", 0),
		CPU:               c.number("cpu"),
		Memory:            c.scaled("memory", 0),
		LocalStorage:      c.scaled("local_storage", 0),
		Architecture:      c.values["architecture"],
		PricePerHour:      configv1alpha1.MicroDollars(c.scaled("price", resource.Micro)),
		PriceKnown:        c.values["price"] != "",
		DomainNodes:       c.number("domain_nodes"),
		ExtraResources:    c.extraResources(),
		Uncertain:         c.uncertain(strings.Split(header, ",")),
	}
	m.Resource = c.deviceResource()
	m.Labels = c.pairs("labels")
	m.Labels[corev1.LabelInstanceTypeStable] = m.Name
	m.Labels[corev1.LabelArchStable] = m.Architecture
	m.Labels[corev1.LabelOSStable] = string(corev1.Linux)
	if c.err != nil {
		return Machine{}, fmt.Errorf("machine %s: %w", m.Name, c.err)
	}
	return m, nil
}

func (c *columns) fail(column string, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("column %s: %w", column, err)
	}
}

// number reads a whole number; an empty field is 0.
func (c *columns) number(column string) int64 {
	if c.values[column] == "" {
		return 0
	}
	n, err := strconv.ParseInt(c.values[column], 10, 64)
	if err != nil {
		c.fail(column, err)
	}
	return n
}

// scaled reads a quantity such as 1900Gi or 55.04 as a whole number of 10^scale; an
// empty field is 0. A value that this would round is an error: 21.9576421 $ is not a
// number of micro-dollars.
func (c *columns) scaled(column string, scale resource.Scale) int64 {
	if c.values[column] == "" {
		return 0
	}
	q, err := resource.ParseQuantity(c.values[column])
	if err != nil {
		c.fail(column, err)
		return 0
	}
	n := q.ScaledValue(scale)
	if q.Cmp(*resource.NewScaledQuantity(n, scale)) != 0 {
		c.fail(column, fmt.Errorf("%s is not a multiple of 10^%d", c.values[column], scale))
	}
	return n
}

// pairs reads "key=value key=value".
func (c *columns) pairs(column string) map[string]string {
	pairs := map[string]string{}
	for pair := range strings.FieldsSeq(c.values[column]) {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" || value == "" {
			c.fail(column, fmt.Errorf("%q is not key=value", pair))
		}
		pairs[key] = value
	}
	return pairs
}

func (c *columns) extraResources() map[corev1.ResourceName]int64 {
	extra := map[corev1.ResourceName]int64{}
	for name, value := range c.pairs("extra_resources") {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			c.fail("extra_resources", err)
		}
		extra[corev1.ResourceName(name)] = n
	}
	return extra
}

// uncertain is nil where all is sure.
func (c *columns) uncertain(known []string) []string {
	var names []string
	for name := range strings.FieldsSeq(c.values["uncertain"]) {
		if !slices.Contains(known, name) {
			c.fail("uncertain", fmt.Errorf("no column %q", name))
		}
		names = append(names, name)
	}
	return names
}

// deviceResource follows from the accelerator's vendor, the first part of its name.
func (c *columns) deviceResource() corev1.ResourceName {
	vendor, _, _ := strings.Cut(c.values["accelerator"], "-")
	switch vendor {
	case "":
		return ""
	case "nvidia":
		return ResourceNvidiaGPU
	case "amd":
		return ResourceAMDGPU
	case "aws":
		return ResourceNeuron
	case "google":
		return ResourceTPU
	}
	c.fail("accelerator", errors.New("unknown vendor "+vendor))
	return ""
}
