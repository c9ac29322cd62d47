package nodegroups

import (
	"fmt"
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// open is the dated capacity in force, or nil. A date is open from From until its nodes
// begin to be taken back, and a node asked for now must arrive before that.
//
// Worked example: until 12:00, drainFrom 11:30, delay 6m: the last purchase is at 11:23.
func (s *Status) open(now time.Time) *configv1alpha1.Availability {
	for i := range s.Available {
		a := &s.Available[i]
		if !now.Before(a.From.Time) && now.Add(s.Delay).Before(s.drains(*a)) {
			return a
		}
	}
	return nil
}

// MostNow is the most nodes that the group may have now: the maximum, or the size of the
// dated capacity in force where that is less. dated says that the date sets it.
func (s *Status) MostNow(now time.Time) (most int64, dated bool) {
	if a := s.open(now); a != nil && a.Size < s.MaxSize {
		return a.Size, true
	}
	return s.MaxSize, false
}

func (s *Status) drains(a configv1alpha1.Availability) time.Time {
	if a.DrainFrom != nil {
		return a.DrainFrom.Time
	}
	return a.Until.Time
}

// closes is the last instant at which the date still sells a node that arrives in time.
func (s *Status) closes(a configv1alpha1.Availability) time.Time {
	return s.drains(a).Add(-s.Delay)
}

func (s *Status) nextOpening(now time.Time) string {
	var next time.Time
	for _, a := range s.Available {
		if a.From.After(now) && (next.IsZero() || a.From.Time.Before(next)) {
			next = a.From.Time
		}
	}
	if next.IsZero() {
		return fmt.Sprintf("none of its %d dates covers now, and none is to come", len(s.Available))
	}
	return "its capacity has dates; the next begins at " + next.UTC().Format(time.RFC3339)
}
