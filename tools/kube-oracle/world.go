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
	// What most of the pods of this world ask for; "" is a bit of everything.
	focus string
	// Nodes are small for their pods.
	tight bool
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

// size is how many nodes, pods on them and probes a world has.
func (w *world) size(small bool) (nodes, pods, probes int) {
	switch {
	case small && (w.crowded() || w.focus == "ports"):
		return 4 + w.r.Intn(3), 4 + w.r.Intn(9), 8
	case small:
		return 5 + w.r.Intn(4), 2 + w.r.Intn(7), 7
	case w.chance(5):
		return 15 + w.r.Intn(20), 30 + w.r.Intn(60), 12
	case w.crowded():
		return 4 + w.r.Intn(5), 8 + w.r.Intn(25), 8
	default:
		return 4 + w.r.Intn(7), w.r.Intn(16), 8
	}
}

// crowded worlds have many pods of one kind: what is about other pods has something to count.
func (w *world) crowded() bool {
	return w.focus == "spread" || w.focus == "affinity" || w.focus == "apart"
}

func newWorld(seed int64, small bool) *world {
	w := &world{Seed: seed, r: rand.New(rand.NewSource(seed))}
	w.tight = w.chance(40)
	if w.chance(70) {
		w.focus = pick(w, append(kinds, "even")...)
	}
	nodes, pods, probes := w.size(small)
	if w.chance(15) {
		w.Off = some(w, 20, "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
			"VolumeRestrictions", "NodeVolumeLimits", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
			"NodeDeclaredFeatures")
	}
	for i, name := range spaces {
		space := &v1.Namespace{ObjectMeta: meta("", name)}
		space.Labels = map[string]string{"kubernetes.io/metadata.name": name}
		if i > 0 {
			space.Labels["team"] = pick(w, "x", "y", "z")
		}
		w.Namespaces = append(w.Namespaces, space)
	}
	w.makeStorage()
	// What a world has much of: else every pod is turned away by the first filter.
	cordons, taints := pick(w, 0, 0, 15), pick(w, 0, 0, 15)
	switch w.focus {
	case "tolerations", "spread":
		cordons, taints = pick(w, 0, 0, 40), pick(w, 15, 40)
	case "even":
		cordons, taints, w.tight = 0, pick(w, 0, 20), false
	}
	for i := range nodes {
		w.makeNode(fmt.Sprintf("n%d", i), cordons, taints)
	}
	for i := range pods {
		pod := w.makePod(fmt.Sprintf("p%d", i), 40)
		where := w.place().Name
		if w.chance(82) {
			pod.Spec.NodeName = where
		} else {
			pod.Status.NominatedNodeName = where
			pod.Spec.Priority = new(pick(w, int32(0), 10))
		}
		if pod.Spec.NodeName != "" && w.chance(15) {
			pod.DeletionTimestamp = &when
			pod.Finalizers = []string{"ostler.dev/test"}
		}
		if pod.Spec.NodeName != "" && w.chance(25) {
			w.resize(pod)
		}
		w.Pods = append(w.Pods, pod)
	}
	for i := range probes {
		w.Probes = append(w.Probes, w.makePod(fmt.Sprintf("probe%d", i), 45))
	}
	w.prune()
	return w
}

// place is where a pod runs. For a spread it matters which nodes count, so its pods are mostly on those that would.
func (w *world) place() *v1.Node {
	counts := slices.DeleteFunc(slices.Clone(w.Nodes), func(node *v1.Node) bool {
		return len(node.Spec.Taints) > 0 || node.Labels["tier"] != "gold"
	})
	switch {
	case len(counts) > 0 && w.focus == "even" && w.chance(95):
		return counts[len(w.Pods)%len(counts)]
	case len(counts) > 0 && w.focus == "spread" && w.chance(85):
		return pick(w, counts...)
	}
	return pick(w, w.Nodes...)
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
	if zone := node.Labels["topology.kubernetes.io/zone"]; zone != "" {
		// Drivers of volumes that were once part of Kubernetes say the zone again.
		node.Labels["topology.ebs.csi.aws.com/zone"], node.Labels["topology.gke.io/zone"] = zone, zone
	}
	label("rack", 80, "1", "2", "3")
	label("tier", 60, "gold", "silver")
	label("gen", 60, "1", "2", "5", "10", "-3", "x1", "007")
	node.Spec.Unschedulable = w.chance(cordons)
	for range 2 {
		if w.chance(taints) {
			key := pick(w, "dedicated", "level")
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
				Key: key, Value: w.taintValue(key),
				Effect: pick(w, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule),
			})
		}
	}
	if node.Spec.Unschedulable && w.chance(50) {
		node.Spec.Taints = append(node.Spec.Taints,
			v1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule})
	}
	if w.chance(97) {
		node.Status.Allocatable = w.allocatable()
	}
	w.declare(node)
	w.Nodes = append(w.Nodes, node)
	if w.chance(80) {
		w.CSINodes = append(w.CSINodes, w.csiNode(name))
	}
}

func (w *world) allocatable() v1.ResourceList {
	if !w.tight {
		return v1.ResourceList{
			"cpu": quantity("32"), "memory": quantity("128Gi"), "pods": quantity("110"),
			"ephemeral-storage": quantity("100Gi"), "example.com/gpu": quantity("16"), "hugepages-2Mi": quantity("256Mi"),
		}
	}
	list := v1.ResourceList{
		"cpu": quantity(pick(w, "2", "4", "3900m", "8")), "memory": quantity(pick(w, "4Gi", "8Gi", "3900Mi", "16Gi")),
		"pods": quantity(pick(w, "2", "3", "5", "110")), "ephemeral-storage": quantity("10Gi"),
	}
	if w.chance(50) {
		list["example.com/gpu"] = quantity(pick(w, "0", "1", "2"))
	}
	if w.chance(50) {
		list["hugepages-2Mi"] = quantity(pick(w, "0", "8Mi"))
	}
	return list
}
