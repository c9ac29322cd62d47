package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDollars(t *testing.T) {
	for micros, want := range map[MicroDollars]string{
		0: "$0.00", 24_100_000: "$24.10", 10_000_000: "$10.00", 806_400: "$0.8064", 1: "$0.000001", -1_500_000: "-$1.50",
	} {
		require.Equal(t, want, micros.Dollars())
	}
}
