package openb

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestWriteDump(t *testing.T) {
	result := importCSV(t, demandCSV, fleetCSV, Options{At: new(int64(50))})
	var dump bytes.Buffer
	require.NoError(t, WriteDump(&dump, result.Objects()...))

	var list struct {
		APIVersion, Kind string
		Items            []struct {
			APIVersion, Kind string
			Metadata         metav1.ObjectMeta
		}
	}
	require.NoError(t, json.Unmarshal(dump.Bytes(), &list))
	assert.Equal(t, "v1 List", list.APIVersion+" "+list.Kind)
	var got []string
	for _, item := range list.Items {
		assert.Equal(t, "v1", item.APIVersion)
		got = append(got, item.Kind+"/"+item.Metadata.Name)
	}
	assert.Equal(t, []string{"Node/m1", "Node/m2", "Node/m3", "Node/m4", "Pod/big", "Pod/half", "Pod/plain"}, got)
	assert.Equal(t, len(got)+2, strings.Count(dump.String(), "\n"))
}

func TestWriteDumpOfNothing(t *testing.T) {
	var dump bytes.Buffer
	require.NoError(t, WriteDump(&dump))
	assert.JSONEq(t, `{"apiVersion":"v1","kind":"List","items":[]}`, dump.String())
}

func TestWriteDumpErrors(t *testing.T) {
	kindless := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
	require.EqualError(t, WriteDump(&bytes.Buffer{}, kindless), "dump object 0: n/p has no kind")
	require.ErrorContains(t, WriteDump(&bytes.Buffer{}, &runtime.Unknown{}), "dump object 0: ")

	full := errors.New("disk is full")
	result := importCSV(t, demandCSV, fleetCSV, Options{})
	require.ErrorIs(t, WriteDump(failingWriter{full}, result.Objects()...), full)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
