//go:build !kube134

// What differs between the versions of Kubernetes: here from 1.36 on.

package main

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type nominator = fwk.PodNominator

// Tolerations that compare numbers are off by default; the API server lets them in only where they are on.
const comparesNumbers = true

func gates() error {
	return utilfeature.DefaultMutableFeatureGate.Set("TaintTolerationComparisonOperators=true")
}

func more(factory informers.SharedInformerFactory) []runtime.Option {
	lister := factory.Storage().V1().CSINodes().Lister()
	return []runtime.Option{runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(lister))}
}
