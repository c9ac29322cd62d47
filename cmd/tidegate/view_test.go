package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// drawn is what a view writes.
func drawn(draw func(*view)) string {
	var b strings.Builder
	draw(newView(&b, false))
	return b.String()
}

// TestTableFits: whatever the cells hold, no line is too wide or ends in blanks, and
// nothing but blanks is lost.
func TestTableFits(t *testing.T) {
	words := []string{"a", "node", "nvidia-h100-80gb", "train/llama-70b", "topology.kubernetes.io/rack", strings.Repeat("x", 150),
		"日本語の説明文", "→", "é", "e\u0301", "$1,234.50/h", "2030-01-01T00:00:00Z", strings.Repeat("機", 80), "\033[31m"}
	random := rand.New(rand.NewPCG(1, 2)) // A fixed seed: the same tables every time.
	for range 500 {
		header := make([]string, 1+random.IntN(9))
		for i := range header {
			header[i] = []string{"node group", "pods", "why"}[random.IntN(3)]
		}
		var rows []row
		for range 1 + random.IntN(4) {
			r := make(row, len(header))
			if random.IntN(5) == 0 {
				r = row{""}
			}
			for i := range r {
				for range random.IntN(8) {
					r[i] += words[random.IntN(len(words))] + " "
				}
			}
			rows = append(rows, r)
		}
		got := drawn(func(v *view) { v.table(header, rows) })
		assert.NotContains(t, got, "\033")
		for line := range strings.SplitSeq(got, "\n") {
			require.LessOrEqual(t, columns(line), lineWidth, line)
			require.Equal(t, strings.TrimRight(line, " "), line)
		}
		want := 0
		for _, r := range rows {
			for _, c := range r {
				want += len(strings.ReplaceAll(clean(c), " ", ""))
			}
		}
		for _, r := range rows {
			if len(r) == len(header) {
				want += len(strings.ReplaceAll(strings.Join(header, ""), " ", ""))
				break
			}
		}
		require.Len(t, strings.NewReplacer(" ", "", "\n", "").Replace(got), want)
	}
}

func TestTable(t *testing.T) {
	got := drawn(func(v *view) {
		v.table([]string{"name", "size", "cost"}, []row{{"a", "7", "$1.50/h"}, {"abcdef", "10000", "-"}, {"… 3 more"}})
	})
	assert.Equal(t, "  NAME     SIZE     COST\n  a           7  $1.50/h\n  abcdef  10000        -\n  … 3 more\n", got)

	got = drawn(func(v *view) {
		v.table([]string{"name", "why"}, []row{{"first"}, {"a", "b"}, {"second"}, {"c", "-"}})
	})
	assert.Equal(t, "  first\n    NAME  WHY\n    a     b\n  second\n    c     -\n", got)

	got = drawn(func(v *view) { v.table([]string{"name", "why"}, []row{{"only"}}) })
	assert.Equal(t, "  only\n", got)
}

func TestFitColumns(t *testing.T) {
	wide := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		cells []string
		room  int
		want  []int
	}{
		"all fit":           {[]string{wide(10), wide(20)}, 30, []int{10, 20}},
		"widest gives":      {[]string{wide(10), wide(200)}, 100, []int{10, 90}},
		"worked example":    {[]string{wide(10), wide(60), wide(200)}, 100, []int{10, 45, 45}},
		"odd room":          {[]string{wide(60), wide(60)}, 99, []int{49, 50}},
		"prose keeps width": {[]string{wide(60), wide(60), wide(60), wide(60)}, 60, []int{12, 12, 12, 24}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, c := range fitColumns(make([]string, len(tc.cells)), []row{tc.cells}, tc.room) {
				got = append(got, c.width)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestWrap(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		n    int
		want []string
	}{
		"empty":         {"", 5, []string{""}},
		"fits":          {"a b", 5, []string{"a b"}},
		"words":         {"one two three", 7, []string{"one two", "three"}},
		"hyphen":        {"train/llama-seventy-b", 12, []string{"train/llama-", "seventy-b"}},
		"nowhere":       {"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		"early hyphen":  {"a-bcdefghij", 8, []string{"a-bcdefg", "hij"}},
		"wide":          {"日本語", 4, []string{"日本", "語"}},
		"wide, narrow":  {"日本", 1, []string{"日", "本"}},
		"combining":     {"e\u0301e\u0301e\u0301", 2, []string{"e\u0301e\u0301", "e\u0301"}},
		"after a break": {"ab cdefgh ij", 4, []string{"ab", "cdef", "gh", "ij"}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, wrap(tc.text, tc.n)) })
	}
}

func TestWords(t *testing.T) {
	assert.Equal(t, "1 pass", plural(1, "pass"))
	assert.Equal(t, "2 passes", plural(2, "pass"))
	assert.Equal(t, "0 pods", plural(0, "pod"))

	assert.Equal(t, "a, b", list([]string{"a", "b"}, 2))
	assert.Equal(t, "a, b, c", list([]string{"a", "b", "c"}, 2), "naming one more is as short as counting it")
	assert.Equal(t, "a, b and 2 more", list([]string{"a", "b", "c", "d"}, 2))

	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		0: "in 0 seconds", time.Second: "in 1 second", 90 * time.Second: "in 90 seconds", 20 * time.Minute: "in 20 minutes",
		5*time.Hour - time.Second: "in 5 hours", 50 * time.Hour: "in 2 days",
	} {
		assert.Equal(t, want, later(now, now.Add(after)))
	}
}

func TestMoney(t *testing.T) {
	for micros, want := range map[configv1alpha1.MicroDollars][2]string{
		0:                                        {"$0.00/h", "$0.00/h"},
		806_400:                                  {"$0.8064/h", "$0.81/h"},
		24_100_000:                               {"$24.10/h", "$24.10/h"},
		10_000_000:                               {"$10.00/h", "$10.00/h"},
		1:                                        {"$0.000001/h", "$0.00/h"},
		994_999:                                  {"$0.994999/h", "$0.99/h"},
		995_000:                                  {"$0.995/h", "$1.00/h"},
		1_234_567_890_000:                        {"$1,234,567.89/h", "$1,234,567.89/h"},
		999_999_999_999:                          {"$999,999.999999/h", "$1,000,000.00/h"},
		-1_234_500_000:                           {"-$1,234.50/h", "-$1,234.50/h"},
		-1:                                       {"-$0.000001/h", "$0.00/h"},
		configv1alpha1.MicroDollars(100_000_000): {"$100.00/h", "$100.00/h"},
	} {
		assert.Equal(t, want[0], price(micros))
		assert.Equal(t, want[1], sum(micros))
	}
}

func TestCost(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after, bound configv1alpha1.MicroDollars
		want                 string
	}{
		"nothing bought": {5e6, 5e6, 5e6, "Cost: $5.00/h now, unchanged by this plan.\n"},
		"best":           {0, 5e6, 5e6, "Cost: $0.00/h now, $5.00/h with this plan (+$5.00/h).\nNo plan that places the same pods could cost less.\n"},
		"nearly best":    {0, 5_000_001, 5e6, "Cost: $0.00/h now, $5.00/h with this plan (+$5.00/h).\nNo plan that places the same pods could cost less than $5.00/h; this one is at most 0.1 % above the best.\n"},
		"perhaps not best": {0, 1100e6, 1000e6, "Cost: $0.00/h now, $1,100.00/h with this plan (+$1,100.00/h).\n" +
			"No plan that places the same pods could cost less than $1,000.00/h; this one is at most 10.0 % above the best.\n"},
		"cheaper":  {5e6, 2e6, 2e6, "Cost: $5.00/h now, $2.00/h with this plan (-$3.00/h).\nNo plan that places the same pods could cost less.\n"},
		"no bound": {0, 2e6, 0, "Cost: $0.00/h now, $2.00/h with this plan (+$2.00/h).\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Cost: plan.Cost{Before: tc.before, After: tc.after, LowerBound: tc.bound}}
			assert.Equal(t, tc.want, drawn(func(v *view) { v.cost(p) }))
		})
	}
}

// TestWholePlan draws what today's decisions leave empty too.
func TestWholePlan(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	opens := now.Add(20 * time.Hour)
	p := &plan.Plan{
		Time: now, Wake: &opens,
		ScaleDowns: []plan.ScaleDown{{NodeGroup: "l4", Nodes: []string{"l4-3", "l4-4"}, Reason: "Empty", SavesPerHour: 1_420_000}},
		Waiting: []plan.Waiting{
			{Gang: "train/a", Pods: 3, Reason: v1alpha1.OffPeak, Until: &opens, Message: "waits for window night"},
			{Gang: "train/b", Pods: 4, Reason: v1alpha1.OffPeak, Until: &opens, Message: "waits for window night"},
		},
		Placements: []plan.Placement{
			{Pod: "web/a", Node: "own"}, {Pod: "web/b", Node: "own"},
			{Pod: "train/x-0", Gang: "train/x", Node: "n1", NodeGroup: "l4"}, {Pod: "train/x-1", Gang: "train/x", Node: "n2", NodeGroup: "l4"},
			{Pod: "train/x-2", Gang: "train/x", Node: "l4/new-1", NodeGroup: "l4", New: true},
		},
		Cost:  plan.Cost{Before: 2_840_000, After: 1_420_000, LowerBound: 1_420_000},
		Stats: &plan.Stats{PendingPods: 1, PodClasses: 1, OptionsTried: 1, ProofPasses: 2, Truncated: true, Duration: "1ms"},
	}
	assert.Equal(t, `Nothing to buy at 2030-01-01T00:00:00Z

To remove
  NODE GROUP  NODES    SAVES  REASON  NAMES
  l4             -2  $1.42/h  Empty   l4-3, l4-4

5 pods placed
  GANG             PODS  NODE GROUP  ON                      DOMAINS
  web/* (no gang)     2  (no group)  own
  train/x             3  l4          3 nodes, 1 of them new

7 pods waiting
  GANG              PODS  REASON   WHY
  train/a, train/b     7  OffPeak  waits for window night (until 2030-01-01T20:00:00Z, in 20 hours)

Cost: $2.84/h now, $1.42/h with this plan (-$1.42/h).
No plan that places the same pods could cost less.
The answer may change by itself at 2030-01-01T20:00:00Z (in 20 hours).
Decided in 1ms: 1 pending pod of 1 kind, 1 option looked at, 2 scheduler passes to check the plan. A search budget ran
out: a better plan may exist.
`, drawn(func(v *view) { v.plan(p) }))
}

// TestColor: on a terminal headlines are bold, each line of them by itself.
func TestColor(t *testing.T) {
	var b strings.Builder
	newView(&b, true).title("%s", strings.Repeat("x", lineWidth+1))
	assert.Equal(t, "\033[1m"+strings.Repeat("x", lineWidth)+"\033[0m\n\033[1mx\033[0m\n", b.String())
}
