//go:build kube134

package main

import v1 "k8s.io/api/core/v1"

// Nodes declare nothing yet.
func (w *world) declare(*v1.Node) {}

func (w *world) features(*v1.Pod) {}

// given says nothing of a pod as a whole: it cannot be resized yet.
func (w *world) given(*v1.Pod) {}

// migrated are the volumes that a node leaves to drivers outside of Kubernetes: every kubelet says so, and the
// scheduler believes it.
func (w *world) migrated() string { return "kubernetes.io/aws-ebs,kubernetes.io/gce-pd" }
