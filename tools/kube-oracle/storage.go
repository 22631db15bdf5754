package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const bindCompleted = "pv.kubernetes.io/bind-completed"

func (w *world) makeStorage() {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode, where ...v1.TopologySelectorTerm) {
		w.Classes = append(w.Classes, &storagev1.StorageClass{
			ObjectMeta: meta("", name), Provisioner: provisioner, VolumeBindingMode: &mode, AllowedTopologies: where,
		})
	}
	class("waits", pick(w, "csi.a", "csi.a", "kubernetes.io/aws-ebs"), storagev1.VolumeBindingWaitForFirstConsumer)
	class("waits-zone", "csi.b", storagev1.VolumeBindingWaitForFirstConsumer, w.allowed()...)
	class("now", "csi.a", storagev1.VolumeBindingImmediate)
	class("by-hand", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer)
	for _, space := range spaces {
		for i := range 4 {
			w.bound(space, i)
		}
		w.unbound(space)
	}
	for i := range 3 {
		w.byHand(i)
	}
}

// allowed is where a class makes volumes: mostly in two zones.
func (w *world) allowed() []v1.TopologySelectorTerm {
	in := func(key string, values ...string) v1.TopologySelectorLabelRequirement {
		return v1.TopologySelectorLabelRequirement{Key: key, Values: values}
	}
	term := func(all ...v1.TopologySelectorLabelRequirement) v1.TopologySelectorTerm {
		return v1.TopologySelectorTerm{MatchLabelExpressions: all}
	}
	switch w.r.Intn(4) {
	case 0: // either
		return []v1.TopologySelectorTerm{
			term(in("topology.kubernetes.io/zone", "a")), term(in("topology.kubernetes.io/region", "r1")),
		}
	case 1: // both
		return []v1.TopologySelectorTerm{
			term(in("topology.kubernetes.io/zone", "a", "c"), in("rack", "1", "2")),
		}
	default:
		return []v1.TopologySelectorTerm{term(in("topology.kubernetes.io/zone", "a", "b"))}
	}
}

func size(text string) v1.VolumeResourceRequirements {
	return v1.VolumeResourceRequirements{Requests: v1.ResourceList{"storage": quantity(text)}}
}

func where(key string, values ...string) *v1.VolumeNodeAffinity {
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}},
	}}}}
}

// reached is where a volume can be reached: mostly in a zone or two.
func (w *world) reached() *v1.VolumeNodeAffinity {
	zone := where("topology.kubernetes.io/zone", append(some(w, 40, "b"), pick(w, "a", "c"))...)
	terms := &zone.Required.NodeSelectorTerms
	switch w.r.Intn(6) {
	case 0: // either
		*terms = append(*terms, where("rack", "3").Required.NodeSelectorTerms...)
	case 1: // both
		(*terms)[0].MatchExpressions = append((*terms)[0].MatchExpressions, w.nodeRequirement())
	case 2:
		(*terms)[0].MatchExpressions[0].Operator = v1.NodeSelectorOpNotIn
	}
	return zone
}

// bound makes a claim and its volume.
func (w *world) bound(space string, i int) {
	name := fmt.Sprintf("claim%d", i)
	volume := &v1.PersistentVolume{ObjectMeta: meta("", "pv-"+space+"-"+name)}
	driver := pick(w, "csi.a", "csi.a", "csi.b")
	volume.Spec = v1.PersistentVolumeSpec{
		Capacity:    v1.ResourceList{"storage": quantity("10Gi")},
		AccessModes: []v1.PersistentVolumeAccessMode{pick(w, v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteOncePod)},
		ClaimRef:    &v1.ObjectReference{Namespace: space, Name: name}, StorageClassName: "now",
		PersistentVolumeSource: v1.PersistentVolumeSource{
			CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "vol-" + space + "-" + name},
		},
	}
	if w.chance(12) {
		volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/"}}
	}
	if w.chance(35) {
		volume.Spec.NodeAffinity = w.reached()
	}
	volume.Labels = map[string]string{}
	if w.chance(20) {
		volume.Labels["topology.kubernetes.io/zone"] = pick(w, "a", "b", "a__b")
	}
	if w.chance(8) {
		volume.Labels["failure-domain.beta.kubernetes.io/zone"] = pick(w, "a", "b__c")
	}
	if w.chance(8) {
		volume.Labels["topology.kubernetes.io/region"] = pick(w, "r1", "r2")
	}
	if w.chance(25) {
		w.builtIn(volume)
	}
	volume.Status.Phase = v1.VolumeBound
	claim := &v1.PersistentVolumeClaim{ObjectMeta: meta(space, name)}
	claim.Annotations = map[string]string{bindCompleted: "yes"}
	claim.Spec = v1.PersistentVolumeClaimSpec{
		AccessModes: volume.Spec.AccessModes, StorageClassName: new("now"), VolumeName: volume.Name, Resources: size("10Gi"),
	}
	claim.Status.Phase = v1.ClaimBound
	switch {
	case w.chance(4):
		claim.Annotations = nil
		claim.Status.Phase = v1.ClaimPending
	case w.chance(3):
		claim.DeletionTimestamp = &when
		claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	case w.chance(3):
		claim.Status.Phase = v1.ClaimLost
		w.Claims = append(w.Claims, claim)
		return
	}
	w.Volumes = append(w.Volumes, volume)
	w.Claims = append(w.Claims, claim)
}

// builtIn makes it a volume from the time when its driver was a part of Kubernetes: its zone stands in both places.
func (w *world) builtIn(volume *v1.PersistentVolume) {
	zone, name := pick(w, "a", "b"), volume.Spec.ClaimRef.Namespace+"-"+volume.Spec.ClaimRef.Name
	volume.Spec.NodeAffinity = where("topology.kubernetes.io/zone", zone)
	volume.Labels = map[string]string{"topology.kubernetes.io/zone": zone}
	if w.chance(50) {
		volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{
			AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + name},
		}
	} else {
		volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{
			GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name},
		}
	}
}

// unbound makes claims that wait for their pod.
func (w *world) unbound(space string) {
	for _, class := range []string{"waits", "waits-zone", "by-hand", "now", ""} {
		name := "new-" + class
		claim := &v1.PersistentVolumeClaim{ObjectMeta: meta(space, name)}
		claim.Spec = v1.PersistentVolumeClaimSpec{
			AccessModes:      []v1.PersistentVolumeAccessMode{pick(w, v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteOncePod)},
			StorageClassName: &class, Resources: size(pick(w, "1Gi", "5Gi")),
		}
		claim.Status.Phase = v1.ClaimPending
		if class != "now" && w.chance(20) {
			claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": pick(w, "n0", "n1", "n2")}
		}
		w.Claims = append(w.Claims, claim)
	}
}

// byHand makes a volume that nobody has yet.
func (w *world) byHand(i int) {
	volume := &v1.PersistentVolume{ObjectMeta: meta("", fmt.Sprintf("local%d", i))}
	volume.Spec = v1.PersistentVolumeSpec{
		Capacity:         v1.ResourceList{"storage": quantity(pick(w, "2Gi", "10Gi"))},
		AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod},
		StorageClassName: "by-hand", VolumeMode: new(v1.PersistentVolumeFilesystem),
		PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/d"}},
		NodeAffinity:           where("kubernetes.io/hostname", pick(w, "n0", "n1", "n2", "n3")),
	}
	volume.Status.Phase = pick(w, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeReleased)
	if volume.Status.Phase == v1.VolumeReleased {
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "gone", UID: "gone"}
	}
	w.Volumes = append(w.Volumes, volume)
}

func (w *world) csiNode(name string) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: meta("", name)}
	if migrated := w.migrated(); migrated != "" {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: migrated}
	}
	for _, driver := range some(w, 70, "csi.a", "csi.b", "ebs.csi.aws.com", "pd.csi.storage.gke.io") {
		d := storagev1.CSINodeDriver{Name: driver, NodeID: name}
		if w.chance(75) {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: new(pick(w, int32(0), 1, 1, 2, 3))}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, d)
	}
	return node
}

func (w *world) volumes(pod *v1.Pod) {
	add := func(claim string) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{
			Name: fmt.Sprintf("v%d", len(pod.Spec.Volumes)),
			VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			},
		})
	}
	for range pick(w, 1, 1, 2, 3) {
		add(fmt.Sprintf("claim%d", pick(w, 0, 0, 1, 2, 3)))
	}
	if w.chance(40) {
		// One at most that takes a volume which is there: two might want the same.
		pod.Spec.Volumes = pod.Spec.Volumes[:w.r.Intn(2)]
		add("new-" + pick(w, "waits", "waits-zone", "by-hand", "waits", "waits-zone", "by-hand", "now", ""))
	}
	if w.chance(5) {
		add("nowhere")
	}
	if w.chance(20) {
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	}
	if w.chance(15) {
		w.ephemeral(pod)
	}
}

// ephemeral adds a volume that lives and dies with the pod.
func (w *world) ephemeral(pod *v1.Pod) {
	class := pick(w, "waits", "waits-zone")
	spec := v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class, Resources: size("1Gi"),
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{
		Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: spec}},
	}})
	claim := &v1.PersistentVolumeClaim{ObjectMeta: meta(pod.Namespace, pod.Name+"-own"), Spec: spec}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true),
	}}
	claim.Status.Phase = v1.ClaimPending
	w.Claims = append(w.Claims, claim)
}
