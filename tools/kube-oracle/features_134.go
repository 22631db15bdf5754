//go:build kube134

package main

import v1 "k8s.io/api/core/v1"

// Nodes declare nothing yet.
func (w *world) declare(*v1.Node) {}

func (w *world) features(*v1.Pod) {}
