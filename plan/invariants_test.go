package plan_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// TestInvariants holds every rule of checkPlan against random inputs of every sort.
func TestInvariants(t *testing.T) {
	n := cases(t, 600)
	for seed := range n {
		w := draw(rand.New(rand.NewPCG(uint64(seed), 7)))
		t.Run(strconv.Itoa(seed), func(t *testing.T) { w.decide(t) })
	}
}

// TestSameBytes shuffles the objects of several inputs: the plan's bytes stay.
func TestSameBytes(t *testing.T) {
	const shuffles = 50
	for seed := range 12 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 11))
			w := draw(r)
			first := encode(t, w)
			for range shuffles {
				r.Shuffle(len(w.objects), func(i, j int) { w.objects[i], w.objects[j] = w.objects[j], w.objects[i] })
				require.Equal(t, string(first), string(encode(t, w)))
			}
		})
	}
}

func encode(t *testing.T, w *world) []byte {
	t.Helper()
	configv1alpha1.SetDefaults(&w.config)
	p, err := plan.Decide(w.snapshot(t), &w.config, now, plan.Options{})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(&b).Encode(p))
	return b.Bytes()
}
