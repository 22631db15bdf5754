//go:build !kube134 && !kube136

package main

import v1 "k8s.io/api/core/v1"

var nodeFeatures = []string{
	"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions",
}

// mount makes a container mount something in a way that a node must declare.
func (w *world) mount(pod *v1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		v1.Volume{Name: "mounted", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	container := &pod.Spec.Containers[0]
	if len(pod.Spec.InitContainers) > 0 && w.chance(40) {
		container = &pod.Spec.InitContainers[0]
	}
	mount := v1.VolumeMount{Name: "mounted", MountPath: "/d"}
	if w.chance(80) {
		mount.BindMountOptions = []string{"noexec"}
	}
	container.VolumeMounts = append(container.VolumeMounts, mount)
}
