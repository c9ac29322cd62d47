package v1alpha1

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func delayIsNotNegative(group *NodeGroup, at *field.Path) []problem {
	if group.Provisioning.Delay.Duration >= 0 {
		return nil
	}
	return []problem{problemf(at.Child("provisioning", "delay"), "must be at least 0, is %s", group.Provisioning.Delay.Duration)}
}

func timeoutIsPositive(group *NodeGroup, at *field.Path) []problem {
	if group.Provisioning.Timeout.Duration > 0 {
		return nil
	}
	return []problem{problemf(at.Child("provisioning", "timeout"), "must be more than 0, is %s", group.Provisioning.Timeout.Duration)}
}

// availabilityIsInOrder: from, then drainFrom, then until. drainFrom may be either end.
func availabilityIsInOrder(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i, span := range group.Available {
		path := at.Child("available").Index(i)
		problems = append(problems, between(path.Child("size"), span.Size, 0, maxCount)...)
		switch {
		case span.From.IsZero():
			problems = append(problems, problemf(path.Child("from"), "is required"))
		case span.Until.IsZero():
			problems = append(problems, problemf(path.Child("until"), "is required"))
		case !span.From.Time.Before(span.Until.Time):
			problems = append(problems, problemf(path.Child("until"), "must be after from, which is %s, is %s",
				rfc3339(span.From.Time), rfc3339(span.Until.Time)))
		case span.DrainFrom != nil && (span.DrainFrom.Time.Before(span.From.Time) || span.DrainFrom.Time.After(span.Until.Time)):
			problems = append(problems, problemf(path.Child("drainFrom"), "must be from %s to %s, is %s",
				rfc3339(span.From.Time), rfc3339(span.Until.Time), rfc3339(span.DrainFrom.Time)))
		}
	}
	return problems
}

// availabilityDoesNotOverlap: at any time at most one entry says how many nodes there may be. One may begin in the
// instant in which another ends.
func availabilityDoesNotOverlap(group *NodeGroup, at *field.Path) []problem {
	order := make([]int, len(group.Available))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			group.Available[a].From.Time.Compare(group.Available[b].From.Time), // 1. The earlier.
			cmp.Compare(a, b), // 2. The first written.
		)
	})
	var problems []problem
	last := -1 // Of the entries so far, the one that ends last.
	for _, i := range order {
		span := group.Available[i]
		if span.From.IsZero() || span.Until.IsZero() {
			continue // availabilityIsInOrder says so.
		}
		if last >= 0 && span.From.Time.Before(group.Available[last].Until.Time) {
			problems = append(problems, problemf(at.Child("available").Index(i), "begins at %s, before available[%d] ends at %s",
				rfc3339(span.From.Time), last, rfc3339(group.Available[last].Until.Time)))
		}
		if last < 0 || span.Until.Time.After(group.Available[last].Until.Time) {
			last = i
		}
	}
	return problems
}

func rfc3339(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}
