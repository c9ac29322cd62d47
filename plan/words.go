package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// count writes a number of things: 1 pod, 2 pods.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// readable writes what a node offers for people: cores with decimals, bytes in Gi or
// the largest unit beneath that they fill, rounded down to a tenth.
//
// Worked example: 15890m of cpu is 15.89, 59055Mi of memory is 57.6Gi.
func readable(name string, q resource.Quantity) string {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU:
		milli := q.MilliValue()
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", milli/1000, milli%1000), "0"), ".")
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		n, unit := q.Value(), ""
		size := int64(1)
		for _, next := range []string{"Ki", "Mi", "Gi"} {
			if n/size < 1024 {
				break
			}
			size, unit = size*1024, next
		}
		tenths := n % size * 10 / size
		if tenths == 0 {
			return fmt.Sprintf("%d%s", n/size, unit)
		}
		return fmt.Sprintf("%d.%d%s", n/size, tenths, unit)
	}
	return q.String()
}

// abbreviate joins at most so many names and counts the rest.
func abbreviate(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
