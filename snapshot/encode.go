package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes the snapshot as JSON, one object a line, sorted by group, kind, namespace and
// name. Reading that back gives a snapshot with an equal digest.
func (s *Snapshot) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if err := s.encode(out); err != nil {
		return err
	}
	return out.Flush()
}

// Digest is the SHA-256, in hexadecimal, of the bytes that Write writes. It encodes every
// object anew at each call: about as much work as reading the snapshot from JSON.
func (s *Snapshot) Digest() string {
	sum := sha256.New()
	if err := s.encode(sum); err != nil {
		// A hash refuses no bytes, and add has encoded nothing that JSON cannot hold.
		panic(fmt.Sprintf("snapshot: digest: %v", err))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (s *Snapshot) encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, g := range s.groups {
		for _, o := range g.objects {
			if err := enc.Encode(o); err != nil {
				return fmt.Errorf("%s: %w", identify(g.kind, o), err)
			}
		}
	}
	return nil
}

// identify names an object in messages: "Pod train/x", "Node a".
func identify(k *kind, o object) string {
	return label(k.title(), o.GetNamespace(), o.GetName())
}

func label(title, namespace, name string) string {
	switch {
	case name == "" && namespace == "":
		return title
	case namespace == "":
		return title + " " + name
	}
	return title + " " + namespace + "/" + name
}
