package kubesched

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nodeList is the snapshot that plugins see: nodes in the order in which they were
// added. It implements fwk.SharedLister and fwk.NodeInfoLister.
type nodeList struct {
	infos []fwk.NodeInfo
	index map[string]int
	// withAffinity and withAntiAffinity count the pods that have such terms, so that the
	// usual case of none costs nothing.
	withAffinity, withAntiAffinity int
	// claimUses counts the pods on any node that use a claim, by namespace/name.
	claimUses map[string]int
}

func newNodeList() *nodeList {
	return &nodeList{index: map[string]int{}, claimUses: map[string]int{}}
}

func (l *nodeList) get(name string) (*framework.NodeInfo, bool) {
	i, ok := l.index[name]
	if !ok {
		return nil, false
	}
	return l.infos[i].(*framework.NodeInfo), true
}

func (l *nodeList) add(info *framework.NodeInfo) {
	l.index[info.Node().Name] = len(l.infos)
	l.infos = append(l.infos, info)
}

// remove costs the number of nodes added later: a rollback removes the last ones.
func (l *nodeList) remove(name string) {
	i, ok := l.index[name]
	if !ok {
		return
	}
	delete(l.index, name)
	l.infos = append(l.infos[:i], l.infos[i+1:]...)
	for j := i; j < len(l.infos); j++ {
		l.index[l.infos[j].Node().Name] = j
	}
}

// count adds sign for each thing of the pod that the list counts.
func (l *nodeList) count(p *framework.PodInfo, sign int) {
	if len(p.RequiredAffinityTerms)+len(p.PreferredAffinityTerms)+len(p.RequiredAntiAffinityTerms)+len(p.PreferredAntiAffinityTerms) > 0 {
		l.withAffinity += sign
	}
	if len(p.RequiredAntiAffinityTerms) > 0 {
		l.withAntiAffinity += sign
	}
	for _, v := range p.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			l.claimUses[p.Pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName] += sign
		}
	}
}

func (l *nodeList) where(keep func(fwk.NodeInfo) bool) []fwk.NodeInfo {
	var out []fwk.NodeInfo
	for _, n := range l.infos {
		if keep(n) {
			out = append(out, n)
		}
	}
	return out
}

func (l *nodeList) List() ([]fwk.NodeInfo, error) { return l.infos, nil }

func (l *nodeList) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	if l.withAffinity == 0 {
		return nil, nil
	}
	return l.where(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 }), nil
}

func (l *nodeList) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	if l.withAntiAffinity == 0 {
		return nil, nil
	}
	return l.where(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

func (l *nodeList) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	if l.withAntiAffinity == 0 {
		return nil, nil
	}
	return l.where(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 }), nil
}

func (l *nodeList) Get(name string) (fwk.NodeInfo, error) {
	if n, ok := l.get(name); ok {
		return n, nil
	}
	return nil, fmt.Errorf("node %q is not in the session", name)
}

func (l *nodeList) NodeInfos() fwk.NodeInfoLister           { return l }
func (l *nodeList) StorageInfos() fwk.StorageInfoLister     { return l }
func (l *nodeList) PodGroupStates() fwk.PodGroupStateLister { return nil }
func (l *nodeList) PodGroups() fwk.PodGroupLister           { return noPodGroups{} }
func (l *nodeList) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return nil
}
func (l *nodeList) CompositePodGroups() fwk.CompositePodGroupLister { return nil }
func (l *nodeList) IsPVCUsedByPods(key string) bool                 { return l.claimUses[key] > 0 }

// noPodGroups answers for the gang plugins, which this package does not run: gangs are
// placed by the packages above.
type noPodGroups struct{}

func (noPodGroups) Get(namespace, name string) (*schedulingv1beta1.PodGroup, error) {
	return nil, fmt.Errorf("pod group %s/%s is not known to the plugins", namespace, name)
}

// csiNodes lists the volume limits of nodes, real and imagined.
type csiNodes map[string]*storagev1.CSINode

func (c csiNodes) CSINodes() fwk.CSINodeLister { return c }

func (c csiNodes) List() ([]*storagev1.CSINode, error) {
	return nil, fmt.Errorf("listing all CSINodes is not used by filters")
}

func (c csiNodes) Get(name string) (*storagev1.CSINode, error) {
	if n, ok := c[name]; ok {
		return n, nil
	}
	return nil, errNoCSINode(name)
}

type errNoCSINode string

func (e errNoCSINode) Error() string { return "node " + string(e) + " has no CSINode" }
