package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultTimeout is how long a new node has to become ready where the file says nothing.
const DefaultTimeout = 15 * time.Minute

// SetDefaults fills, in place, what the file may leave out and this package can know by itself. Load calls it.
// Fields that the catalogue may fill are left alone. Calling it twice changes nothing more.
func SetDefaults(c *AutoscalerConfiguration) {
	if c == nil {
		return
	}
	setDefault(&c.Objective, ObjectiveCost)
	setDefault(&c.Scheduler.Scoring, ScoringLeastAllocated)
	setDefault(&c.Scheduler.Hints, HintsNominate)
	for i := range c.NodeGroups {
		group := &c.NodeGroups[i]
		setDefault(&group.Devices, DevicesPlugin)
		setDefault(&group.CapacityType, OnDemand)
		setDefault(&group.Unit, 1)
		setDefault(&group.Sharing.Replicas, 1)
		setDefault(&group.Provisioning.Timeout, metav1.Duration{Duration: DefaultTimeout})
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
