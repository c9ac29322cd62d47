package v1alpha1

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMarshalThenLoad(t *testing.T) {
	for name, in := range map[string]string{"full": fullFile, "minimal": minimalFile, "no groups": header} {
		t.Run(name, func(t *testing.T) {
			want, err := Load([]byte(in), name)
			require.NoError(t, err)
			written, err := want.Marshal()
			require.NoError(t, err)
			got, err := Load(written, name)
			require.NoError(t, err, string(written))
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}

func TestMarshalWritesWhatPeopleRead(t *testing.T) {
	price := MicroDollars(98_320_000)
	c := &AutoscalerConfiguration{NodeGroups: []NodeGroup{{
		Name:         "h100",
		InstanceType: "p5.48xlarge",
		MaxSize:      16,
		PricePerHour: &price,
		Labels:       map[string]string{"on": "yes", "team": "research", "empty": "", "number": "0o7"},
		Provisioning: Provisioning{Delay: metav1.Duration{Duration: 6 * time.Minute}},
	}}}
	got, err := c.Marshal()
	require.NoError(t, err)
	require.Equal(t, `apiVersion: config.tidegate.io/v1alpha1
kind: AutoscalerConfiguration
nodeGroups:
- name: h100
  instanceType: p5.48xlarge
  minSize: 0
  maxSize: 16
  pricePerHour: 98.32
  labels:
    empty: ""
    number: "0o7"
    "on": "yes"
    team: research
  provisioning:
    delay: "6m0s"
`, string(got))
	require.Empty(t, c.Kind, "the receiver is only read")
}

func TestMarshalNothing(t *testing.T) {
	var none *AutoscalerConfiguration
	_, err := none.Marshal()
	require.EqualError(t, err, "no configuration to marshal")

	got, err := (&AutoscalerConfiguration{}).Marshal()
	require.NoError(t, err)
	require.Equal(t, header+"nodeGroups: []\n", string(got))
}

// The decoder knows the kinds of fields that the schema has today. A new version of resource.k8s.io may bring others.
func TestDecoderKnowsTheSchema(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, leaf := range []any{MicroDollars(0), resource.Quantity{}, metav1.Time{}, metav1.Duration{}} {
		known[reflect.TypeOf(leaf)] = true
	}
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		if known[of] {
			return
		}
		known[of] = true
		for _, custom := range []string{"UnmarshalJSON", "UnmarshalText"} {
			_, isCustom := reflect.PointerTo(of).MethodByName(custom)
			require.False(t, isCustom, "%s: %s reads itself", path, of)
		}
		switch of.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		case reflect.Pointer, reflect.Slice:
			walk(path, of.Elem())
		case reflect.Map:
			require.Equal(t, reflect.String, of.Key().Kind(), path)
			walk(path, of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				require.NotEmpty(t, field.Tag.Get("json"), "%s.%s", path, field.Name)
				walk(path+"."+field.Name, field.Type)
			}
		default:
			require.Fail(t, "unknown kind", "%s: %s", path, of)
		}
	}
	walk("", reflect.TypeFor[AutoscalerConfiguration]())
}
