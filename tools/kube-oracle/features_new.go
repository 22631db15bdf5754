//go:build !kube134

package main

import v1 "k8s.io/api/core/v1"

// declare lets a node say what it can do.
func (w *world) declare(node *v1.Node) { node.Status.DeclaredFeatures = some(w, 50, nodeFeatures...) }

// features makes a pod need what a node must declare.
func (w *world) features(pod *v1.Pod) {
	if w.chance(25) {
		w.mount(pod)
		return
	}
	if w.chance(60) {
		pod.Spec.HostNetwork, pod.Spec.HostUsers = true, new(w.chance(25))
		// With the network of the host every port is one of the host, the API server sees to it.
		for c := range pod.Spec.Containers {
			for p := range pod.Spec.Containers[c].Ports {
				port := &pod.Spec.Containers[c].Ports[p]
				port.HostPort = port.ContainerPort
			}
		}
		for c := range pod.Spec.InitContainers {
			for p := range pod.Spec.InitContainers[c].Ports {
				port := &pod.Spec.InitContainers[c].Ports[p]
				port.HostPort = port.ContainerPort
			}
		}
		return
	}
	never := v1.ContainerRestartPolicyNever
	pod.Spec.Containers[0].RestartPolicy = &never
	pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    pick(w, v1.ContainerRestartRuleActionRestartAllContainers, v1.ContainerRestartRuleActionRestart),
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{7}},
	}}
}

// given says what a pod was given as a whole, by its kubelet.
func (w *world) given(pod *v1.Pod) {
	if w.chance(60) {
		return
	}
	if w.chance(80) {
		pod.Status.AllocatedResources = w.amounts()
	}
	if w.chance(80) {
		pod.Status.Resources = &v1.ResourceRequirements{Requests: w.amounts()}
	}
}

// migrated are the volumes that a node leaves to drivers outside of Kubernetes.
func (w *world) migrated() string {
	return pick(w, "", "kubernetes.io/aws-ebs", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")
}
