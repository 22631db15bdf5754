package main

import v1 "k8s.io/api/core/v1"

// amounts is what a kubelet says that a container was given, or has.
func (w *world) amounts() v1.ResourceList {
	list := v1.ResourceList{}
	if w.chance(80) {
		list["cpu"] = quantity(pick(w, "0", "100m", "700m", "1", "2"))
	}
	if w.chance(70) {
		list["memory"] = quantity(pick(w, "64Mi", "1Gi", "2Gi"))
	}
	return list
}

// resize makes a pod that runs one whose resources are being changed, at some point on the way.
func (w *world) resize(pod *v1.Pod) {
	status := func(container v1.Container) v1.ContainerStatus {
		s := v1.ContainerStatus{Name: container.Name}
		if w.chance(70) {
			s.AllocatedResources = w.amounts()
		}
		if w.chance(70) {
			s.Resources = &v1.ResourceRequirements{Requests: w.amounts()}
		}
		return s
	}
	for _, container := range pod.Spec.Containers {
		if w.chance(80) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(container))
		}
	}
	for _, container := range pod.Spec.InitContainers {
		if w.chance(80) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status(container))
		}
	}
	w.given(pod)
	if w.chance(40) {
		pod.Status.Conditions = []v1.PodCondition{{
			Type: v1.PodResizePending, Status: v1.ConditionTrue,
			Reason: pick(w, v1.PodReasonInfeasible, v1.PodReasonInfeasible, v1.PodReasonDeferred),
		}}
	}
}
