package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a pod may ask for beside resources, and how often, in percent of those that ask for much.
var (
	kinds = []string{
		"selector", "nodeAffinity", "tolerations", "ports", "spread", "affinity", "apart", "volumes", "features",
	}
	weights = []int{30, 45, 60, 60, 90, 60, 60, 70, 60}
)

// wanted is how many pods of a hundred ask for this kind. Two or three kinds at once tell more than all of them; most
// of the pods of a world with a focus ask for that, and for little else. Which nodes count for a spread depends on
// what the pod says of nodes.
func (w *world) wanted(kind, percent int) int {
	switch {
	case w.focus == "":
		return percent * weights[kind] / 100
	case w.focus == kinds[kind]:
		return 85
	case w.focus == "spread" && kind < 3:
		return 30
	default:
		return percent * weights[kind] / 300
	}
}

// makePod makes a pod of a few containers that asks for each kind of thing with this chance, as the API server would
// hold it.
func (w *world) makePod(name string, percent int) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: meta(pick(w, spaces...), name)}
	pod.UID = types.UID(name)
	pod.Labels = map[string]string{"app": pick(w, "web", "db"), "rev": pick(w, "1", "2")}
	if w.crowded() && w.chance(60) {
		pod.Namespace, pod.Labels["app"] = "default", "web"
	}
	if w.chance(30) {
		pod.Labels["tier"] = pick(w, "gold", "silver")
	}
	pod.Spec.SchedulerName = "default-scheduler"
	pod.Spec.Priority = new(pick(w, int32(0), 0, 0, 10))
	w.containers(pod)
	if w.focus == "even" {
		w.even(pod)
		return pod
	}
	asks := []func(*v1.Pod){
		w.selector, w.nodeAffinity, w.tolerations, w.ports, w.spread, w.podAffinity, w.antiAffinity, w.volumes, w.features,
	}
	for i, ask := range asks {
		if w.chance(w.wanted(i, percent)) {
			ask(pod)
		}
	}
	if w.focus != "tolerations" && w.focus != "spread" && w.chance(30) {
		w.tolerateAll(pod)
	}
	return pod
}

func (w *world) containers(pod *v1.Pod) {
	requests := func(big bool) v1.ResourceList {
		list := v1.ResourceList{}
		if w.chance(70) {
			list["cpu"] = quantity(pick(w, "0", "100m", "500m", "1", "1500m", "1500u", "0.25", "1e-1"))
		}
		if w.chance(60) {
			list["memory"] = quantity(pick(w, "0", "64Mi", "1Gi", "1500M", "1.5Gi", "1e9", "128974848000m"))
		}
		if w.chance(15) {
			list["ephemeral-storage"] = quantity(pick(w, "1Gi", "6Gi"))
		}
		if big && w.chance(12) {
			list["example.com/gpu"] = quantity(pick(w, "0", "1", "2"))
		}
		if big && w.chance(10) {
			list["hugepages-2Mi"] = quantity("4Mi")
		}
		if big && w.chance(4) {
			list["cpu"] = quantity(pick(w, "3", "8", "1P"))
		}
		return list
	}
	container := func(name string, big bool) v1.Container {
		return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: requests(big)}}
	}
	pod.Spec.Containers = []v1.Container{container("c0", true)}
	if w.chance(35) {
		pod.Spec.Containers = append(pod.Spec.Containers, container("c1", false))
	}
	for i := range pick(w, 0, 0, 1, 2) {
		init := container(fmt.Sprintf("i%d", i), w.chance(20))
		if w.chance(50) {
			init.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, init)
	}
	if w.chance(20) {
		pod.Spec.Overhead = v1.ResourceList{"cpu": quantity(pick(w, "250m", "1")), "memory": quantity("120Mi")}
	}
	if w.chance(12) {
		whole := v1.ResourceList{}
		if w.chance(70) {
			whole["cpu"] = quantity(pick(w, "2", "3", "100m"))
		}
		if w.chance(60) {
			whole["memory"] = quantity(pick(w, "2Gi", "5Gi"))
		}
		if w.chance(20) {
			whole["hugepages-2Mi"] = quantity(pick(w, "4Mi", "8Mi"))
		}
		if len(whole) > 0 {
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: whole}
		}
	}
}

func (w *world) selector(pod *v1.Pod) {
	pod.Spec.NodeSelector = map[string]string{}
	if w.chance(60) {
		pod.Spec.NodeSelector["tier"] = pick(w, "gold", "silver")
	} else {
		pod.Spec.NodeSelector["topology.kubernetes.io/zone"] = pick(w, "a", "b")
	}
	if w.chance(10) {
		pod.Spec.NodeSelector["kubernetes.io/hostname"] = pick(w, "n0", "n1", "n2")
	}
}

func (w *world) nodeAffinity(pod *v1.Pod) {
	selector := &v1.NodeSelector{}
	for range pick(w, 1, 1, 2) {
		term := v1.NodeSelectorTerm{}
		for range pick(w, 1, 1, 2) {
			term.MatchExpressions = append(term.MatchExpressions, w.nodeRequirement())
		}
		if w.chance(20) {
			if w.chance(50) {
				term.MatchExpressions = nil
			}
			term.MatchFields = []v1.NodeSelectorRequirement{{
				Key: "metadata.name", Operator: pick(w, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
				Values: []string{pick(w, "n0", "n1", "n2", "n3")},
			}}
		}
		if w.chance(4) {
			term = v1.NodeSelectorTerm{}
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	affinityOf(pod).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
}

func (w *world) nodeRequirement() v1.NodeSelectorRequirement {
	key := pick(w, "topology.kubernetes.io/zone", "rack", "tier", "gen", "kubernetes.io/hostname")
	values := map[string][]string{
		"topology.kubernetes.io/zone": {"a", "b", "c"}, "rack": {"1", "2", "3"}, "tier": {"gold", "silver"},
		"gen": {"1", "2", "5"}, "kubernetes.io/hostname": {"n0", "n1", "n2", "n3"},
	}[key]
	if key == "gen" && w.chance(70) {
		return v1.NodeSelectorRequirement{
			Key: key, Operator: pick(w, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt),
			Values: []string{pick(w, "0", "2", "5", "-2", "+4")},
		}
	}
	switch w.r.Intn(8) {
	case 0:
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpExists}
	case 1:
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpDoesNotExist}
	case 2, 3:
		chosen := append(some(w, 20, values...), pick(w, values...))
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpNotIn, Values: chosen}
	default:
		chosen := append(some(w, 30, values...), pick(w, values...))
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: chosen}
	}
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func (w *world) tolerateAll(pod *v1.Pod) {
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
}

func (w *world) tolerations(pod *v1.Pod) {
	for range pick(w, 1, 2, 3) {
		t := v1.Toleration{
			Key:    pick(w, "dedicated", "dedicated", "level", "level", "node.kubernetes.io/unschedulable"),
			Effect: pick(w, v1.TaintEffect(""), "", v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute),
		}
		switch w.r.Intn(5) {
		case 0:
			t.Operator = v1.TolerationOpExists
			if w.chance(25) {
				t.Key = "" // every key
			}
		case 1, 2:
			if comparesNumbers && w.chance(60) {
				t.Key, t.Value = "level", pick(w, "0", "5", "5", "-2", "04")
				t.Operator = pick(w, v1.TolerationOperator("Gt"), "Lt")
				break
			}
			t.Operator, t.Value = v1.TolerationOpEqual, w.taintValue(t.Key)
		default:
			t.Value = w.taintValue(t.Key)
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
	}
}

// taintValue is a value that taints with this key often have.
func (w *world) taintValue(key string) string {
	switch key {
	case "level":
		return pick(w, "3", "3", "7", "7", "03", "-1", "b")
	case "node.kubernetes.io/unschedulable":
		return ""
	default:
		return pick(w, "", "a", "a", "b")
	}
}

func (w *world) ports(pod *v1.Pod) {
	for i := range pick(w, 1, 1, 2) {
		port := v1.ContainerPort{
			ContainerPort: int32(80 + i), HostPort: pick(w, int32(8080), 8080, 8080, 8080, 8081, 0),
			HostIP:   pick(w, "", "", "0.0.0.0", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"),
			Protocol: pick(w, v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP),
		}
		if len(pod.Spec.InitContainers) > 0 && w.chance(40) {
			init := &pod.Spec.InitContainers[0]
			init.Ports = append(init.Ports, port)
			continue
		}
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, port)
	}
}

var operators = []metav1.LabelSelectorOperator{
	metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
}

// labelSelector often means the pod itself.
func (w *world) labelSelector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if w.chance(75) {
		s.MatchLabels = map[string]string{"app": pick(w, "web", "db")}
	}
	if w.chance(30) {
		e := metav1.LabelSelectorRequirement{
			Key: pick(w, "rev", "tier"), Operator: pick(w, operators...),
		}
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = []string{pick(w, "1", "gold"), "2"}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

func (w *world) topology() string {
	if w.focus == "spread" && w.chance(40) {
		return "kubernetes.io/hostname"
	}
	return pick(w, "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack", "topology.kubernetes.io/zone")
}

func (w *world) spread(pod *v1.Pod) {
	for range pick(w, 1, 1, 2) {
		c := v1.TopologySpreadConstraint{
			MaxSkew: pick(w, int32(1), 1, 2), TopologyKey: w.topology(), LabelSelector: w.labelSelector(),
			WhenUnsatisfiable: v1.DoNotSchedule,
		}
		if w.chance(10) {
			c.WhenUnsatisfiable = v1.ScheduleAnyway
		}
		if w.chance(30) && c.WhenUnsatisfiable == v1.DoNotSchedule {
			c.MinDomains = new(pick(w, int32(1), 3, 4, 6))
		}
		if w.chance(30) {
			c.NodeAffinityPolicy = new(pick(w, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if w.chance(40) {
			c.NodeTaintsPolicy = new(pick(w, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyHonor,
				v1.NodeInclusionPolicyIgnore))
		}
		if w.chance(25) {
			c.MatchLabelKeys = []string{pick(w, "rev", "tier")}
		}
		if w.chance(3) {
			c.LabelSelector, c.MatchLabelKeys = nil, nil
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c)
	}
}

// even makes one of many equal pods that must lie evenly: it is the nodes that count that decide.
func (w *world) even(pod *v1.Pod) {
	pod.Namespace, pod.Labels["app"] = "default", "web"
	if w.chance(60) {
		pod.Spec.NodeSelector = map[string]string{"tier": "gold"}
	}
	c := v1.TopologySpreadConstraint{
		MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule,
		TopologyKey:   pick(w, "kubernetes.io/hostname", "kubernetes.io/hostname", "topology.kubernetes.io/zone"),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	policies := []*v1.NodeInclusionPolicy{nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)}
	c.NodeAffinityPolicy, c.NodeTaintsPolicy = pick(w, policies...), pick(w, policies...)
	if w.chance(30) {
		c.MinDomains = new(pick(w, int32(2), 3, 4, 6))
	}
	if w.chance(20) {
		c.MatchLabelKeys = []string{"rev"}
	}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{c}
}

func (w *world) podTerm(pod *v1.Pod) v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: w.topology(), LabelSelector: w.labelSelector()}
	if w.chance(25) {
		term.Namespaces = append(some(w, 40, spaces...), pick(w, spaces...))
	}
	if w.chance(30) {
		switch w.r.Intn(3) {
		case 0:
			term.NamespaceSelector = &metav1.LabelSelector{}
		case 1:
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(w, "x", "y")}}
		default:
			e := metav1.LabelSelectorRequirement{Key: "team", Operator: pick(w, operators...)}
			if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
				e.Values = []string{pick(w, "x", "y"), "z"}
			}
			term.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}}
		}
	}
	// The API server merges these keys into the selector when the pod is made, and leaves them standing.
	if key := pick(w, "rev", "tier"); w.chance(20) && pod.Labels[key] != "" {
		e := metav1.LabelSelectorRequirement{Key: key, Values: []string{pod.Labels[key]}}
		if w.chance(60) {
			term.MatchLabelKeys, e.Operator = []string{key}, metav1.LabelSelectorOpIn
		} else {
			term.MismatchLabelKeys, e.Operator = []string{key}, metav1.LabelSelectorOpNotIn
		}
		term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions, e)
	}
	if w.chance(3) {
		term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys = nil, nil, nil
	}
	return term
}

func (w *world) podAffinity(pod *v1.Pod) {
	a := &v1.PodAffinity{}
	for range pick(w, 1, 1, 1, 2) {
		a.RequiredDuringSchedulingIgnoredDuringExecution =
			append(a.RequiredDuringSchedulingIgnoredDuringExecution, w.podTerm(pod))
	}
	affinityOf(pod).PodAffinity = a
}

func (w *world) antiAffinity(pod *v1.Pod) {
	a := &v1.PodAntiAffinity{}
	for range pick(w, 1, 1, 2) {
		a.RequiredDuringSchedulingIgnoredDuringExecution =
			append(a.RequiredDuringSchedulingIgnoredDuringExecution, w.podTerm(pod))
	}
	affinityOf(pod).PodAntiAffinity = a
}
