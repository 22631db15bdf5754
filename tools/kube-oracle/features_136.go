//go:build kube136

package main

import v1 "k8s.io/api/core/v1"

var nodeFeatures = []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}

// mount has nothing that a node must declare yet.
func (w *world) mount(*v1.Pod) {}
