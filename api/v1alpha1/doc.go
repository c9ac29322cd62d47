// Package v1alpha1 holds the nouns that every other package shares and that users
// read: today the closed list of reason codes and the Reason that carries one.
// It imports nothing of ours and decides nothing.
//
// Example: a gang of 20 nodes in front of a group that may still grow by 14 is refused
// with
//
//	v1alpha1.Reason{Code: v1alpha1.MaxSize, Object: "h100-a", Text: "needs 20 nodes, 14 left"}
//
// and First picks the reason to report where several hold.
package v1alpha1
