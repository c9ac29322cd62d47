package kubesched_test

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

func gates() featuregate.FeatureGate { return utilfeature.DefaultFeatureGate }
