package drawn

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (d *drawer) ports(s *corev1.PodSpec) {
	if !d.oneIn(7) {
		return
	}
	port := corev1.ContainerPort{ContainerPort: 80, HostPort: pick(d, int32(0), 80, 81), Protocol: pick(d, "", corev1.ProtocolTCP, corev1.ProtocolUDP), HostIP: pick(d, "", "0.0.0.0", "10.0.0.1", "10.0.0.2")}
	if len(s.InitContainers) > 0 && d.oneIn(2) {
		s.InitContainers[0].Ports = append(s.InitContainers[0].Ports, port)
		return
	}
	s.Containers[0].Ports = append(s.Containers[0].Ports, port)
}

func (d *drawer) selector() *metav1.LabelSelector {
	if d.oneIn(20) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if d.oneIn(2) {
		s.MatchLabels = map[string]string{"app": pick(d, "web", "train", "cache")}
	}
	if s.MatchLabels == nil || d.oneIn(4) {
		e := metav1.LabelSelectorRequirement{Key: pick(d, "app", "version")}
		e.Operator = pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = []string{pick(d, "web", "1"), pick(d, "train", "2")}
		}
		s.MatchExpressions = []metav1.LabelSelectorRequirement{e}
	}
	return s
}

func (d *drawer) topologyKey() string {
	return pick(d, corev1.LabelHostname, corev1.LabelTopologyZone, rack)
}

func (d *drawer) podTerm() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector()}
	if d.oneIn(4) {
		t.Namespaces = some(d, "a", "b")
	}
	if d.oneIn(4) {
		t.NamespaceSelector = &metav1.LabelSelector{}
		if d.oneIn(2) {
			t.NamespaceSelector.MatchLabels = map[string]string{"team": "red"}
		}
	}
	if t.LabelSelector != nil && d.oneIn(6) {
		t.MatchLabelKeys = []string{"version"}
	} else if t.LabelSelector != nil && d.oneIn(8) {
		t.MismatchLabelKeys = []string{"version"}
	}
	if d.oneIn(60) { // One that does not parse; the API server did not always look.
		t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	}
	return t
}

// podTerms draws what pods say about each other.
func (d *drawer) podTerms(s *corev1.PodSpec) {
	if d.oneIn(4) {
		if s.Affinity == nil {
			s.Affinity = &corev1.Affinity{}
		}
		weighted := []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.podTerm()}}
		switch d.IntN(5) {
		case 0, 1:
			s.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.podTerm()}}
			if d.oneIn(4) {
				s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
			}
		case 2:
			s.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.podTerm()}}
		case 3:
			s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
		default:
			s.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
		}
	}
	if d.oneIn(5) {
		for range 1 + d.IntN(2) {
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, d.spread())
		}
	}
}

func (d *drawer) spread() corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{MaxSkew: int32(1 + d.IntN(2)), TopologyKey: d.topologyKey(), LabelSelector: d.selector(),
		WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway)}
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	if d.oneIn(3) {
		c.NodeAffinityPolicy = pick(d, &honor, &ignore)
	}
	if d.oneIn(3) {
		c.NodeTaintsPolicy = pick(d, &honor, &ignore)
	}
	if d.oneIn(3) && c.WhenUnsatisfiable == corev1.DoNotSchedule {
		least := int32(1 + d.IntN(4))
		c.MinDomains = &least
	}
	if c.LabelSelector != nil && d.oneIn(4) {
		c.MatchLabelKeys = []string{"version"}
	}
	return c
}
