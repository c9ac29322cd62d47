package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestMissedMinimum: a group that may not grow to its minimum is named in a warning.
func TestMissedMinimum(t *testing.T) {
	node := size{cpu: 8000, memory: 32}
	tests := map[string]struct {
		group    groupBuilder
		maxNodes int64
		want     []string
	}{
		"reached":  {group: makeGroup("g", node, 1e6, 9).Size(0).Min(3)},
		"limit":    {group: makeGroup("g", node, 1e6, 9).Size(0).Min(3), maxNodes: 2, want: []string{"node group g stays at 2, below its minSize of 3: its maximum, its dates or the limits of the configuration allow no more"}},
		"back-off": {group: makeGroup("g", node, 1e6, 9).Size(1).Min(3).Backoff(now.Add(time.Minute)), want: []string{"node group g stays at 1, below its minSize of 3: the provider could not deliver; asked again at 2030-01-01T00:01:00Z"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			w.group(tc.group)
			if tc.maxNodes > 0 {
				w.config.Limits.MaxNodes = &tc.maxNodes
			}
			assert.Equal(t, tc.want, w.decide(t).Warnings)
		})
	}
}
