// Package e2e holds plans against a real control plane: etcd, the API server,
// kube-scheduler and the controllers that matter to it, on loopback ports. A plan is true
// when the scheduler binds every pod that the plan placed, and no other. It is no test of
// clouds or kubelets: nodes are objects that the test writes, and no container runs.
//
// Everything but this file has the build tag e2e, so that go test ./... leaves it alone.
//
// Example:
//
//	make e2e                                     # builds the control plane once
//	make e2e E2E_RUN=TestPlansComeTrue/unit-of   # scenarios whose names match
package e2e
