package v1alpha1

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMicroDollarsUnmarshal(t *testing.T) {
	tests := map[string]struct {
		in      string
		want    MicroDollars
		wantErr string
	}{
		"decimals":                       {in: `98.32`, want: 98_320_000},
		"a string":                       {in: `"98.32"`, want: 98_320_000},
		"whole":                          {in: `5000`, want: 5_000_000_000},
		"zero":                           {in: `0`, want: 0},
		"minus zero":                     {in: `-0.0`, want: 0},
		"negative":                       {in: `-1.5`, want: -1_500_000},
		"a plus":                         {in: `"+2"`, want: 2_000_000},
		"the least":                      {in: `0.000001`, want: 1},
		"not representable as a float":   {in: `0.1`, want: 100_000},
		"more digits than a float has":   {in: `9223372036854.775807`, want: math.MaxInt64},
		"the least int64":                {in: `-9223372036854.775808`, want: math.MinInt64},
		"zeros beyond the sixth decimal": {in: `1.0000000000`, want: 1_000_000},
		"exponent":                       {in: `1e2`, want: 100_000_000},
		"signed exponent":                {in: `1.5E+2`, want: 150_000_000},
		"negative exponent":              {in: `1500e-3`, want: 1_500_000},
		"zero with a great exponent":     {in: `0e30000`, want: 0},
		"no whole part":                  {in: `".5"`, want: 500_000},
		"null changes nothing":           {in: `null`, want: 7},
		"seven decimals":                 {in: `1.0000001`, wantErr: "must have at most 6 decimals"},
		"inexact exponent":               {in: `1e-7`, wantErr: "must have at most 6 decimals"},
		"too much":                       {in: `9223372036854.775808`, wantErr: "is more than can be counted"},
		"far too much":                   {in: `1e300`, wantErr: "is more than can be counted"},
		"exponent out of range":          {in: `1e99999999999`, wantErr: "has too large an exponent"},
		"not a number":                   {in: `"NaN"`, wantErr: "must be an amount of dollars"},
		"infinite":                       {in: `"Inf"`, wantErr: "must be an amount of dollars"},
		"with a sign of money":           {in: `"$5"`, wantErr: "must be an amount of dollars"},
		"with thousands":                 {in: `"5,000"`, wantErr: "must be an amount of dollars"},
		"underscores":                    {in: `"5_000"`, wantErr: "must be an amount of dollars"},
		"two points":                     {in: `"1.2.3"`, wantErr: "must be an amount of dollars"},
		"only a point":                   {in: `"."`, wantErr: "must be an amount of dollars"},
		"only a sign":                    {in: `"-"`, wantErr: "must be an amount of dollars"},
		"empty":                          {in: `""`, wantErr: "must be an amount of dollars"},
		"exponent alone":                 {in: `"1e"`, wantErr: "must be an amount of dollars"},
		"a boolean":                      {in: `true`, wantErr: "must be an amount of dollars"},
		"a mapping":                      {in: `{}`, wantErr: "must be an amount of dollars"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := MicroDollars(7)
			err := json.Unmarshal([]byte(tc.in), &got)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				require.Equal(t, MicroDollars(7), got, "a refused value must change nothing")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestMicroDollarsString(t *testing.T) {
	tests := map[MicroDollars]string{
		0:             "0",
		1:             "0.000001",
		98_320_000:    "98.32",
		1_000_000:     "1",
		10_000_000:    "10",
		-500_000:      "-0.5",
		5_400_000:     "5.4",
		math.MaxInt64: "9223372036854.775807",
		math.MinInt64: "-9223372036854.775808",
	}
	for amount, want := range tests {
		require.Equal(t, want, amount.String())
		written, err := json.Marshal(amount)
		require.NoError(t, err)
		require.Equal(t, want, string(written))
	}
}

func FuzzMicroDollars(f *testing.F) {
	for _, amount := range []int64{0, 1, -1, 98_320_000, math.MaxInt64, math.MinInt64} {
		f.Add(amount)
	}
	f.Fuzz(func(t *testing.T, micros int64) {
		want := MicroDollars(micros)
		got, err := parseMoney(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
