package main

import (
	"bytes"
	_ "embed"
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/snapshot"
)

//go:embed example/cluster.yaml
var exampleCluster []byte

//go:embed example/config.yaml
var exampleConfig []byte

// exampleNext says in two lines what to try after the example.
const exampleNext = `
Next: tidegate explain --example train/llama-70b   shows every option that was looked at, and its cost.
      tidegate plan --cluster dump.yaml --config tidegate.yaml   asks the same about a cluster of yours.
`

// exampleTime is the decision time of the example, so that it prints the same every day.
func exampleTime() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

// exampleInput is a cluster with a few gangs, racks and two accelerators, in which one
// gang cannot be placed.
func exampleInput() (*snapshot.Snapshot, *configv1alpha1.AutoscalerConfiguration, error) {
	c, err := configv1alpha1.Load(exampleConfig, "example/config.yaml")
	if err != nil {
		return nil, nil, internalError{err}
	}
	b := snapshot.NewBuilder()
	if err := b.Read(bytes.NewReader(exampleCluster), "example/cluster.yaml"); err != nil {
		return nil, nil, internalError{err}
	}
	s, err := b.Build()
	if err != nil {
		return nil, nil, internalError{err}
	}
	return s, c, nil
}
