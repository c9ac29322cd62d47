package snapshot_test

import (
	"bytes"
	"strings"
	"testing"

	"tidegate.io/autoscaler/snapshot"
)

// FuzzRead checks that any input gives an error or a snapshot, never both or a panic, and
// that a snapshot survives being written.
func FuzzRead(f *testing.F) {
	for _, doc := range everyKind() {
		f.Add([]byte(doc))
	}
	f.Add([]byte(strings.Join(everyKind(), "---\n")))
	f.Add([]byte(jsonA + "\n---\n" + jsonB))
	f.Add([]byte(`{"apiVersion":"v1","items":[` + jsonA + "," + jsonB + `],"kind":"List"}`))
	f.Add([]byte("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\nkind: List\n"))
	f.Add(benchObject(0, 1, benchPod, benchNode))
	f.Add(benchObject(1, 1, benchPod, benchNode))
	f.Fuzz(func(t *testing.T, in []byte) {
		b := snapshot.NewBuilder()
		err := b.Read(bytes.NewReader(in), "fuzz")
		s, buildErr := b.Build()
		if (err == nil) != (buildErr == nil) || (buildErr == nil) != (s != nil) {
			t.Fatalf("Read gave %v, Build %v and %v", err, s, buildErr)
		}
		if s == nil {
			return
		}
		var out bytes.Buffer
		if err := s.Write(&out); err != nil {
			t.Fatal(err)
		}
		again := snapshot.NewBuilder()
		if err := again.Read(bytes.NewReader(out.Bytes()), "written"); err != nil {
			t.Fatalf("%v\nin what was written:\n%s", err, out.Bytes())
		}
		second, err := again.Build()
		if err != nil {
			t.Fatal(err)
		}
		if s.Digest() != second.Digest() {
			var twice bytes.Buffer
			_ = second.Write(&twice)
			t.Fatalf("digests differ, written:\n%s\nand again:\n%s", out.Bytes(), twice.Bytes())
		}
	})
}
