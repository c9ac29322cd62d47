// Package gang says which pods wait for a node and which of them start together or not
// at all. Each system that expresses gangs has one small file here; the sources are
// asked in order of precedence and the first that knows a pod wins. The package places
// nothing.
//
// Example: three pods of a PodGroup with minCount 4 give one Gang, held:
//
//	gangs, warnings := gang.Pending(snapshot)
//	gangs[0].Key()       // "train/part"
//	gangs[0].Held.Code   // v1alpha1.GangIncomplete
package gang
