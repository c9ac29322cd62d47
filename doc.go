// Package autoscaler is the root of Tidegate, a cluster autoscaler for Kubernetes that
// plans for whole gangs of pods, the accelerators that they ask for, and the racks that
// they must share. This package itself holds no code: it is the map, and its tests keep
// the packages below in their places.
//
// One decision flows from the left to the right:
//
//	objects ─► snapshot ─► scheduling ─► estimator ─► plan ─► actions and reasons
//
// Packages that decide are pure. They get the time as an argument and return data, so
// that the same snapshot gives the same plan, byte for byte. What talks to the world
// stands outside of them and decides nothing.
//
// Example: to learn why a gang got no nodes, read the reasons of its plan, then look for
// the rule that emits that code:
//
//	tidegate plan --cluster dump.yaml --config config.yaml
package autoscaler
