// Package estimator chooses what to buy: which nodes of which groups make the pending
// gangs fit, at the least cost, within every limit. All gangs and all groups are one
// decision. It says how far the choice is from a lower bound, and why each gang that
// gets nothing gets nothing. It calls no cloud and knows no clock beside the time it is
// given.
//
// Pods whose fit depends only on labels, taints and resources are counted by kind and
// packed together: column generation finds good node fillings ("patterns"), rounding and
// a search for small cases make whole nodes of them. Gangs with a topology key and pods
// that look at other pods are placed one by one on the session, before the rest.
//
// Floating point only guides the search for patterns; every choice between two plans,
// and the bound, is made in integers.
//
// Example:
//
//	result, err := estimator.Estimate(estimator.Input{Session: session, Now: now, Limits: limits})
//	session.Opened(0)          // new nodes of the first group; placements are in session.Nodes
//	result.Refused             // gangs that got nothing, with the reasons
package estimator
