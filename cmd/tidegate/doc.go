// Command tidegate is an accelerator-aware cluster autoscaler for Kubernetes. It answers
// from a cluster dump and a configuration what it would buy, where every pending pod goes,
// and why not. The decisions are those of package plan: this package reads input, draws
// tables and chooses exit codes, and decides nothing itself.
//
// Example:
//
//	tidegate plan --example
//	tidegate plan --cluster dump.yaml --config tidegate.yaml -o json
package main
