package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodesAreClosed: every code is documented once, with a meaning, a remedy and a scope,
// and an unknown one ranks last.
func TestCodesAreClosed(t *testing.T) {
	seen := map[Code]bool{}
	for i, d := range CodeDocs() {
		require.False(t, seen[d.Code], "%s twice", d.Code)
		seen[d.Code] = true
		require.Equal(t, i, d.Code.Rank())
		require.Contains(t, []string{"node group", "plan", "gang"}, d.Scope, "%s", d.Code)
		require.NotEmpty(t, d.Meaning, "%s", d.Code)
		require.NotEmpty(t, d.Remedy, "%s", d.Code)
	}
	require.Equal(t, len(CodeDocs()), Code("Nonsense").Rank())
}

// TestFirst: precedence, the rest in the message, repetition said once, input unchanged.
func TestFirst(t *testing.T) {
	tests := map[string]struct {
		reasons  []Reason
		wantCode Code
		wantText string
	}{
		"none": {},
		"one":  {reasons: []Reason{{Backoff, "g", "later"}}, wantCode: Backoff, wantText: "later"},
		"the order of the list decides, not of the input": {
			reasons:  []Reason{{TopologyDomainTooSmall, "g", "a domain holds 4 nodes"}, {MaxSize, "g", "needs 6 nodes, 4 left"}},
			wantCode: MaxSize, wantText: "needs 6 nodes, 4 left; also TopologyDomainTooSmall: a domain holds 4 nodes",
		},
		"repetition": {
			reasons:  []Reason{{MaxNodes, "g", "2 left"}, {MaxNodes, "g", "2 left"}},
			wantCode: MaxNodes, wantText: "2 left",
		},
		"equal codes by object, then text": {
			reasons:  []Reason{{InsufficientResources, "b", "x"}, {InsufficientResources, "a", "z"}, {InsufficientResources, "a", "y"}},
			wantCode: InsufficientResources, wantText: "y; also InsufficientResources: z; also InsufficientResources: x",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := append([]Reason(nil), tc.reasons...)
			r, text := First(tc.reasons)
			require.Equal(t, tc.wantCode, r.Code)
			require.Equal(t, tc.wantText, text)
			require.Equal(t, before, tc.reasons)
		})
	}
}
