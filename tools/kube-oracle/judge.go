package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// The plug-ins that are asked, in whatever order the default profile has them; the first two only so that the
// profile is a whole one.
var asked = map[string]bool{
	"PrioritySort": true, "DefaultBinder": true,
	"NodeName": true, "NodeUnschedulable": true, "TaintToleration": true, "NodeAffinity": true, "NodePorts": true,
	"NodeResourcesFit": true, "VolumeRestrictions": true, "NodeVolumeLimits": true, "VolumeBinding": true,
	"VolumeZone": true, "PodTopologySpread": true, "InterPodAffinity": true, "NodeDeclaredFeatures": true,
}

// profile is the default one with only those plug-ins, less those that are off.
func profile(off []string) (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	p := defaults.Profiles[0].DeepCopy()
	gone := map[string]bool{}
	for _, name := range off {
		gone[name] = true
	}
	var kept []config.Plugin
	for _, plugin := range p.Plugins.MultiPoint.Enabled {
		if asked[plugin.Name] && !gone[plugin.Name] {
			kept = append(kept, plugin)
		}
	}
	p.Plugins.MultiPoint.Enabled = kept
	return p, nil
}

// nominated tells the framework which pods are nominated to which node.
type nominated struct {
	nominator
	byNode map[string][]fwk.PodInfo
}

func (n nominated) NominatedPodsForNode(name string) []fwk.PodInfo { return n.byNode[name] }

// settle is how long the caches of the volume plug-ins, which follow their informers, are given.
const settle = 15 * time.Millisecond

// judge asks for every probe and node. "" is yes; otherwise the plug-in that said no, with a star before it if it did
// so for the pod as a whole, before any node was looked at.
func judge(parent context.Context, w *world) ([][]string, error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	client := fake.NewSimpleClientset(w.objects()...)
	factory := informers.NewSharedInformerFactory(client, 0)
	placed, waiting := w.split()
	snapshot := cache.NewSnapshot(placed, w.nodes())
	byNode := map[string][]fwk.PodInfo{}
	for _, pod := range waiting {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		byNode[pod.Status.NominatedNodeName] = append(byNode[pod.Status.NominatedNodeName], info)
	}
	p, err := profile(w.Off)
	if err != nil {
		return nil, err
	}
	options := append(more(factory),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithPodNominator(nominated{byNode: byNode}),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
	)
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), p, options...)
	if err != nil {
		return nil, fmt.Errorf("making the framework: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	time.Sleep(settle)

	var verdicts [][]string
	for _, pod := range w.probes() {
		row, err := ask(ctx, f, snapshot, pod, w.nodes())
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		verdicts = append(verdicts, row)
	}
	return verdicts, nil
}

func ask(
	ctx context.Context, f framework.Framework, snapshot *cache.Snapshot, pod *v1.Pod, nodes []*v1.Node,
) ([]string, error) {
	state := framework.NewCycleState()
	result, status, _ := f.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return nil, fmt.Errorf("%s failed: %w", status.Plugin(), status.AsError())
	}
	row := make([]string, len(nodes))
	for i, node := range nodes {
		switch {
		case status.IsRejected():
			row[i] = "*" + status.Plugin()
		case !result.AllNodes() && !result.NodeNames.Has(node.Name):
			row[i] = "*NodeAffinity"
		default:
			info, err := snapshot.NodeInfos().Get(node.Name)
			if err != nil {
				return nil, err
			}
			answer := f.RunFilterPluginsWithNominatedPods(ctx, state, pod, info)
			if !answer.IsSuccess() && !answer.IsRejected() {
				return nil, fmt.Errorf("%s failed on %s: %w", answer.Plugin(), node.Name, answer.AsError())
			}
			if !answer.IsSuccess() {
				row[i] = answer.Plugin()
			}
		}
	}
	return row, nil
}
