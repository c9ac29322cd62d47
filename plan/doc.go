// Package plan is the decision: what to buy now, where every pending pod goes, and why
// not. Decide is a pure function of a snapshot, a configuration and a time; the live
// autoscaler and the offline commands call the same one. It carries nothing out.
//
// The steps, in order: read the groups and what state their nodes are in; find the gangs
// that wait; estimate what to buy; prove it by a scheduler pass, and mend it until it
// holds; say why everyone else gets nothing.
//
// Example:
//
//	decision, err := plan.Decide(snap, configuration, now, plan.Options{})
//	for _, up := range decision.ScaleUps {
//		// up.NodeGroup grows from up.From to up.To
//	}
package plan
