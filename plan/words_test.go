package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestCount(t *testing.T) {
	assert.Equal(t, "0 pods", count(0, "pod"))
	assert.Equal(t, "1 pod", count(1, "pod"))
	assert.Equal(t, "2 new nodes", count(int64(2), "new node"))
}

func TestReadable(t *testing.T) {
	for name, tc := range map[string]struct{ resource, quantity, want string }{
		"cores":            {"cpu", "188", "188"},
		"part of a core":   {"cpu", "15890m", "15.89"},
		"less than a core": {"cpu", "50m", "0.05"},
		"nothing":          {"cpu", "0", "0"},
		"memory":           {"memory", "59055Mi", "57.6Gi"},
		"memory, round":    {"memory", "64Gi", "64Gi"},
		"much memory":      {"memory", "1938300Mi", "1892.8Gi"},
		"bytes":            {"ephemeral-storage", "1000", "1000"},
		"devices":          {"nvidia.com/gpu", "8", "8"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, readable(tc.resource, resource.MustParse(tc.quantity)))
		})
	}
}
