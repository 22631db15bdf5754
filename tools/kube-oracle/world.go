package main

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// world is one line of the output. The order of `Nodes` and `Probes` is that of the verdicts.
type world struct {
	Seed       int64                       `json:"seed"`
	Version    string                      `json:"version"`
	Off        []string                    `json:"off,omitempty"`
	Namespaces []*v1.Namespace             `json:"namespaces"`
	Nodes      []*v1.Node                  `json:"nodes"`
	CSINodes   []*storagev1.CSINode        `json:"csinodes"`
	Pods       []*v1.Pod                   `json:"pods"`
	Probes     []*v1.Pod                   `json:"probes"`
	Volumes    []*v1.PersistentVolume      `json:"volumes"`
	Claims     []*v1.PersistentVolumeClaim `json:"claims"`
	Classes    []*storagev1.StorageClass   `json:"classes"`
	Verdicts   [][]string                  `json:"verdicts"`

	r *rand.Rand
}

// when everything was made; random worlds have no clock.
var when = metav1.NewTime(time.Unix(1700000000, 0).UTC())

func (w *world) nodes() []*v1.Node { return w.Nodes }
func (w *world) probes() []*v1.Pod { return w.Probes }

// split parts the pods into those that are on a node, and those that are nominated to one.
func (w *world) split() (placed, waiting []*v1.Pod) {
	for _, pod := range w.Pods {
		if pod.Spec.NodeName != "" {
			placed = append(placed, pod)
		} else {
			waiting = append(waiting, pod)
		}
	}
	return placed, waiting
}

func (w *world) objects() []runtime.Object {
	var all []runtime.Object
	for _, one := range w.Namespaces {
		all = append(all, one)
	}
	for _, one := range w.Nodes {
		all = append(all, one)
	}
	for _, one := range w.CSINodes {
		all = append(all, one)
	}
	for _, one := range w.Volumes {
		all = append(all, one)
	}
	for _, one := range w.Claims {
		all = append(all, one)
	}
	for _, one := range w.Classes {
		all = append(all, one)
	}
	return all
}

func (w *world) chance(percent int) bool { return w.r.Intn(100) < percent }

// pick is one of them; values collide often, which is the point.
func pick[T any](w *world, of ...T) T { return of[w.r.Intn(len(of))] }

// some is a part of them, each once.
func some[T any](w *world, percent int, of ...T) []T {
	var chosen []T
	for _, one := range of {
		if w.chance(percent) {
			chosen = append(chosen, one)
		}
	}
	return chosen
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: when}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

var spaces = []string{"default", "red", "blue"}

func newWorld(seed int64, small bool) *world {
	w := &world{Seed: seed, r: rand.New(rand.NewSource(seed))}
	nodes, pods, probes := 4+w.r.Intn(7), w.r.Intn(16), 8
	if small {
		nodes, pods, probes = 6+w.r.Intn(3), 2+w.r.Intn(7), 7
	}
	if w.chance(15) {
		w.Off = some(w, 20, "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
			"VolumeRestrictions", "NodeVolumeLimits", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
			"NodeDeclaredFeatures")
	}
	for i, name := range spaces {
		space := &v1.Namespace{ObjectMeta: meta("", name)}
		space.Labels = map[string]string{"kubernetes.io/metadata.name": name}
		if i > 0 {
			space.Labels["team"] = pick(w, "x", "y")
		}
		w.Namespaces = append(w.Namespaces, space)
	}
	w.makeStorage()
	// What a world has much of: else every pod is turned away by the first filter.
	cordons, taints := pick(w, 0, 0, 20), pick(w, 0, 15, 50)
	for i := range nodes {
		w.makeNode(fmt.Sprintf("n%d", i), cordons, taints)
	}
	for i := range pods {
		pod := w.makePod(fmt.Sprintf("p%d", i), 40)
		where := pick(w, w.Nodes...).Name
		if w.chance(88) {
			pod.Spec.NodeName = where
		} else {
			pod.Status.NominatedNodeName = where
			pod.Spec.Priority = new(pick(w, int32(0), 10))
		}
		if pod.Spec.NodeName != "" && w.chance(15) {
			pod.DeletionTimestamp = &when
			pod.Finalizers = []string{"ostler.dev/test"}
		}
		w.Pods = append(w.Pods, pod)
	}
	for i := range probes {
		w.Probes = append(w.Probes, w.makePod(fmt.Sprintf("probe%d", i), 45))
	}
	w.prune()
	return w
}

// prune leaves out claims and volumes that no pod has to do with.
func (w *world) prune() {
	used, byHand := map[string]bool{}, false
	for _, pod := range append(append([]*v1.Pod{}, w.Pods...), w.Probes...) {
		for _, volume := range pod.Spec.Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil {
				used[pod.Namespace+"/"+claim.ClaimName] = true
			} else if volume.Ephemeral != nil {
				used[pod.Namespace+"/"+pod.Name+"-"+volume.Name] = true
			}
		}
	}
	w.Claims = slices.DeleteFunc(w.Claims, func(claim *v1.PersistentVolumeClaim) bool {
		name := claim.Namespace + "/" + claim.Name
		byHand = byHand || used[name] && claim.Name == "new-by-hand"
		return !used[name]
	})
	w.Volumes = slices.DeleteFunc(w.Volumes, func(volume *v1.PersistentVolume) bool {
		if volume.Spec.StorageClassName == "by-hand" {
			return !byHand
		}
		return !used[volume.Spec.ClaimRef.Namespace+"/"+volume.Spec.ClaimRef.Name]
	})
}

var nodeFeatures = []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}

func (w *world) makeNode(name string, cordons, taints int) {
	node := &v1.Node{ObjectMeta: meta("", name)}
	node.Labels = map[string]string{}
	label := func(key string, percent int, values ...string) {
		if w.chance(percent) {
			node.Labels[key] = pick(w, values...)
		}
	}
	label("kubernetes.io/hostname", 96, name)
	label("topology.kubernetes.io/zone", 85, "a", "b", "c")
	label("topology.kubernetes.io/region", 30, "r1", "r2")
	label("failure-domain.beta.kubernetes.io/zone", 10, "a", "b")
	label("rack", 80, "1", "2", "3")
	label("tier", 60, "gold", "silver")
	label("gen", 60, "1", "2", "5", "10", "-3", "x1", "007")
	node.Spec.Unschedulable = w.chance(cordons)
	for range 2 {
		if w.chance(taints) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
				Key: pick(w, "dedicated", "level", "gpu"), Value: pick(w, "", "a", "b", "3", "7", "03", "-1"),
				Effect: pick(w, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule),
			})
		}
	}
	if node.Spec.Unschedulable && w.chance(50) {
		node.Spec.Taints = append(node.Spec.Taints,
			v1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule})
	}
	if w.chance(97) {
		node.Status.Allocatable = v1.ResourceList{
			"cpu": quantity(pick(w, "2", "4", "3900m", "8")), "memory": quantity(pick(w, "4Gi", "8Gi", "3900Mi", "16Gi")),
			"pods": quantity(pick(w, "3", "5", "110", "110")), "ephemeral-storage": quantity("10Gi"),
		}
		if w.chance(40) {
			node.Status.Allocatable["example.com/gpu"] = quantity(pick(w, "0", "1", "2"))
		}
		if w.chance(40) {
			node.Status.Allocatable["hugepages-2Mi"] = quantity(pick(w, "0", "8Mi"))
		}
	}
	w.declare(node)
	w.Nodes = append(w.Nodes, node)
	if w.chance(80) {
		w.CSINodes = append(w.CSINodes, w.csiNode(name))
	}
}
