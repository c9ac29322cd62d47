package nodegroups_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
)

// dates are capacity from one hour after now to another, of a size.
func dates(from, until int, size int64) configv1alpha1.Availability {
	return configv1alpha1.Availability{From: hour(from), Until: hour(until), Size: size}
}

func hour(n int) metav1.Time { return metav1.NewTime(now().Add(time.Duration(n) * time.Hour)) }

func TestAvailable(t *testing.T) {
	drained := dates(1, 4, 3)
	drained.DrainFrom = new(hour(3))
	cases := map[string]struct {
		available []configv1alpha1.Availability
		delay     time.Duration
		at        time.Duration // after now
		wantRoom  int64
		wantText  string
	}{
		"before from":                         {available: []configv1alpha1.Availability{dates(1, 4, 3)}, at: time.Hour - time.Second, wantText: "its capacity has dates; the next begins at 2030-01-01T01:00:00Z"},
		"at from":                             {available: []configv1alpha1.Availability{dates(1, 4, 3)}, at: time.Hour, wantRoom: 3},
		"just before until":                   {available: []configv1alpha1.Availability{dates(1, 4, 3)}, at: 4*time.Hour - time.Second, wantRoom: 3},
		"at until":                            {available: []configv1alpha1.Availability{dates(1, 4, 3)}, at: 4 * time.Hour, wantText: "none of its 1 dates covers now, and none is to come"},
		"just before drainFrom":               {available: []configv1alpha1.Availability{drained}, at: 3*time.Hour - time.Second, wantRoom: 3},
		"at drainFrom":                        {available: []configv1alpha1.Availability{drained}, at: 3 * time.Hour, wantText: "none of its 1 dates covers now, and none is to come"},
		"a node would arrive before the end":  {available: []configv1alpha1.Availability{drained}, delay: 6 * time.Minute, at: 3*time.Hour - 6*time.Minute - time.Second, wantRoom: 3},
		"a node would arrive at the end":      {available: []configv1alpha1.Availability{drained}, delay: 6 * time.Minute, at: 3*time.Hour - 6*time.Minute, wantText: "none of its 1 dates covers now, and none is to come"},
		"the delay does not bring from ahead": {available: []configv1alpha1.Availability{drained}, delay: 6 * time.Minute, at: time.Hour - time.Minute, wantText: "its capacity has dates; the next begins at 2030-01-01T01:00:00Z"},
		"where one date follows another":      {available: []configv1alpha1.Availability{dates(4, 6, 5), dates(1, 4, 3)}, at: 4 * time.Hour, wantRoom: 5},
		"the next of several":                 {available: []configv1alpha1.Availability{dates(7, 8, 5), dates(5, 6, 5), dates(1, 2, 3)}, at: 3 * time.Hour, wantText: "its capacity has dates; the next begins at 2030-01-01T05:00:00Z"},
		"no dates":                            {wantRoom: 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := own("g")
			c.Available, c.Provisioning.Delay = tc.available, duration(tc.delay)
			s := observe(t, c)
			at := now().Add(tc.at)
			require.Equal(t, tc.wantRoom, s.Room(at))
			var want []v1alpha1.Reason
			if tc.wantText != "" {
				want = []v1alpha1.Reason{{Code: v1alpha1.WindowClosed, Object: "g", Text: tc.wantText}}
			}
			require.Empty(t, cmp.Diff(want, s.Blocked(at)))
		})
	}
}

func TestLeft(t *testing.T) {
	cases := map[string]struct {
		size, unit int64
		available  []configv1alpha1.Availability
		want       int64
		wantMost   int64
		wantDated  bool
	}{
		"up to the maximum":      {size: 4, want: 6, wantMost: 10},
		"whole units":            {size: 2, unit: 3, want: 6, wantMost: 10},
		"less than a unit":       {size: 8, unit: 4, want: 0, wantMost: 10},
		"size above the maximum": {size: 12, want: 0, wantMost: 10},
		"a date says less":       {size: 2, available: []configv1alpha1.Availability{dates(-1, 1, 5)}, want: 3, wantMost: 5, wantDated: true},
		"a date says less, in units": {size: 2, unit: 2, available: []configv1alpha1.Availability{dates(-1, 1, 5)},
			want: 2, wantMost: 5, wantDated: true},
		"a date says as much":        {available: []configv1alpha1.Availability{dates(-1, 1, 10)}, want: 10, wantMost: 10},
		"a date says more":           {available: []configv1alpha1.Availability{dates(-1, 1, 20)}, want: 10, wantMost: 10},
		"a date says less than size": {size: 7, available: []configv1alpha1.Availability{dates(-1, 1, 5)}, want: 0, wantMost: 5, wantDated: true},
		"a date to come":             {size: 2, available: []configv1alpha1.Availability{dates(1, 2, 5)}, want: 8, wantMost: 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := own("g")
			c.Size, c.Unit, c.Available = &tc.size, tc.unit, tc.available
			s := observe(t, c)
			require.Equal(t, tc.want, s.Left(now()))
			most, dated := s.MostNow(now())
			require.Equal(t, tc.wantMost, most)
			require.Equal(t, tc.wantDated, dated)
		})
	}
}

func TestRoomDuringBackoff(t *testing.T) {
	c := own("g")
	c.BackoffUntil = new(hour(1))
	s := observe(t, c)
	require.Zero(t, s.Room(now()))
	require.Equal(t, int64(10), s.Left(now()), "whatever blocks it for the moment")
	require.Empty(t, cmp.Diff([]v1alpha1.Reason{{Code: v1alpha1.Backoff, Object: "g",
		Text: "the provider could not deliver; asked again at 2030-01-01T01:00:00Z"}}, s.Blocked(now())))
	require.Equal(t, int64(10), s.Room(hour(1).Time), "at its end")
}

func TestBlockedTwice(t *testing.T) {
	c := own("g")
	c.BackoffUntil, c.Available = new(hour(1)), []configv1alpha1.Availability{dates(2, 3, 1)}
	s := observe(t, c)
	var codes []v1alpha1.Code
	for _, r := range s.Blocked(now()) {
		codes = append(codes, r.Code)
	}
	require.Equal(t, []v1alpha1.Code{v1alpha1.Backoff, v1alpha1.WindowClosed}, codes)
}

func TestChanges(t *testing.T) {
	c := own("g")
	c.BackoffUntil = new(hour(6))
	c.Available = []configv1alpha1.Availability{dates(8, 9, 5), dates(-1, 4, 5), dates(-3, -2, 5)}
	c.Provisioning = configv1alpha1.Provisioning{Delay: duration(time.Hour), Timeout: duration(2 * time.Hour)}
	s := observe(t, c,
		makeNode("coming").Group("g").Age(time.Hour).Obj(),    // fails at 1
		makeNode("failed").Group("g").Age(3*time.Hour).Obj(),  // has failed
		makeNode("ageless").Group("g").Obj(),                  // never fails
		makeReady("ready", "g").Age(time.Hour).Obj(),          // is there
		makeNode("leaving").Group("g").Age(0).Deleted().Obj(), // goes
	)
	var got []string
	for _, at := range s.Changes(now()) {
		got = append(got, at.Format(time.TimeOnly))
	}
	// The node, the end of the date less the delay, the back-off, then the next date: its
	// beginning, and its end less the delay, which is the same instant.
	require.Equal(t, []string{"01:00:00", "03:00:00", "06:00:00", "08:00:00", "08:00:00"}, got)
	require.Empty(t, s.Changes(hour(8).Time), "only what is after")
}
