//go:build kube134

// What differs between the versions of Kubernetes: here 1.34.

package main

import (
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type nominator = framework.PodNominator

const comparesNumbers = false

func gates() error { return nil }

func more(informers.SharedInformerFactory) []runtime.Option { return nil }
