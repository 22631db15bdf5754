//! Every filter of the judge, by example: clusters in words, verdicts in words.

mod kube_world;

use expect_test::{Expect, expect};
use kube_world::world;
use ostler_model::kube::{Filter, KubePolicy};
use ostler_packing::kube::ledger::Ledger;

/// Every ask on every node.
fn verdicts(text: &str, policy: &KubePolicy) -> String {
    let world = world(text);
    let ledger = Ledger::new(&world.cluster, policy);
    let mut lines = String::new();
    for (name, spec) in &world.asks {
        for (ix, node) in ledger.nodes().zip(&world.cluster.nodes) {
            let verdict = match ledger.fit(*spec, ix) {
                Ok(()) => "yes".to_owned(),
                Err(why) => serde_json::to_string(&why).unwrap().replace('"', ""),
            };
            assert_eq!(ledger.fits(*spec, ix), verdict == "yes");
            lines += &format!("{name} {}: {verdict}\n", node.id);
        }
    }
    lines
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&verdicts(text, &KubePolicy::default()));
}

#[test]
fn resources() {
    check(
        "node n1 cpu:2 memory:100
         node full cpu:2 memory:100 pods:2
         node bare bare
         node over cpu:1 memory:100
         pod a on:n1 cpu:1.5
         pod b on:full
         pod c on:full terminating
         pod d on:over cpu:3
         ask half cpu:0.5
         ask more cpu:0.5001 memory:1
         ask nothing
         ask huge cpu:100
         ask gpu nvidia.com/gpu:1
         ask memory memory:50",
        expect![[r#"
            half n1: yes
            half full: {no_room:{resource:pods,asked:1,free:0}}
            half bare: {too_large:{resource:pods,asked:1,has:0}}
            half over: {no_room:{resource:cpu,asked:0.5,free:-2}}
            more n1: {no_room:{resource:cpu,asked:0.501,free:0.5}}
            more full: {no_room:{resource:pods,asked:1,free:0}}
            more bare: {too_large:{resource:pods,asked:1,has:0}}
            more over: {no_room:{resource:cpu,asked:0.501,free:-2}}
            nothing n1: yes
            nothing full: {no_room:{resource:pods,asked:1,free:0}}
            nothing bare: {too_large:{resource:pods,asked:1,has:0}}
            nothing over: yes
            huge n1: {too_large:{resource:cpu,asked:100,has:2}}
            huge full: {no_room:{resource:pods,asked:1,free:0}}
            huge bare: {too_large:{resource:pods,asked:1,has:0}}
            huge over: {too_large:{resource:cpu,asked:100,has:1}}
            gpu n1: {too_large:{resource:nvidia.com/gpu,asked:1,has:0}}
            gpu full: {no_room:{resource:pods,asked:1,free:0}}
            gpu bare: {too_large:{resource:pods,asked:1,has:0}}
            gpu over: {too_large:{resource:nvidia.com/gpu,asked:1,has:0}}
            memory n1: yes
            memory full: {no_room:{resource:pods,asked:1,free:0}}
            memory bare: {too_large:{resource:pods,asked:1,has:0}}
            memory over: yes
        "#]],
    );
}

#[test]
fn cordon_and_taints() {
    check(
        "node cordon cordoned
         node db taint:dedicated=db:NoSchedule
         node out taint:bad=:NoExecute
         node soft taint:soft=:PreferNoSchedule
         node level taint:level=7:NoSchedule
         ask plain
         ask any bear:*
         ask db bear:dedicated=db
         ask wrong bear:dedicated=web
         ask schedule bear:bad:NoSchedule
         ask cordon bear:node.kubernetes.io/unschedulable:NoSchedule
         ask above bear:level>5
         ask below bear:level<7
         ask odd bear:level>05",
        expect![[r#"
            plain cordon: unschedulable
            plain db: {taint:{taint:dedicated=db:NoSchedule}}
            plain out: {taint:{taint:bad:NoExecute}}
            plain soft: yes
            plain level: {taint:{taint:level=7:NoSchedule}}
            any cordon: yes
            any db: yes
            any out: yes
            any soft: yes
            any level: yes
            db cordon: unschedulable
            db db: yes
            db out: {taint:{taint:bad:NoExecute}}
            db soft: yes
            db level: {taint:{taint:level=7:NoSchedule}}
            wrong cordon: unschedulable
            wrong db: {taint:{taint:dedicated=db:NoSchedule}}
            wrong out: {taint:{taint:bad:NoExecute}}
            wrong soft: yes
            wrong level: {taint:{taint:level=7:NoSchedule}}
            schedule cordon: unschedulable
            schedule db: {taint:{taint:dedicated=db:NoSchedule}}
            schedule out: {taint:{taint:bad:NoExecute}}
            schedule soft: yes
            schedule level: {taint:{taint:level=7:NoSchedule}}
            cordon cordon: yes
            cordon db: {taint:{taint:dedicated=db:NoSchedule}}
            cordon out: {taint:{taint:bad:NoExecute}}
            cordon soft: yes
            cordon level: {taint:{taint:level=7:NoSchedule}}
            above cordon: unschedulable
            above db: {taint:{taint:dedicated=db:NoSchedule}}
            above out: {taint:{taint:bad:NoExecute}}
            above soft: yes
            above level: yes
            below cordon: unschedulable
            below db: {taint:{taint:dedicated=db:NoSchedule}}
            below out: {taint:{taint:bad:NoExecute}}
            below soft: yes
            below level: {taint:{taint:level=7:NoSchedule}}
            odd cordon: unschedulable
            odd db: {taint:{taint:dedicated=db:NoSchedule}}
            odd out: {taint:{taint:bad:NoExecute}}
            odd soft: yes
            odd level: {taint:{taint:level=7:NoSchedule}}
        "#]],
    );
}

#[test]
fn node_selector_and_affinity() {
    check(
        "node a zone=a gen=5
         node b zone=b gen=x
         ask want want:zone=a
         ask in in:zone=b,c
         ask notin notin:zone=a notin:rack=1
         ask gt gt:gen=4
         ask lt lt:gen=5
         ask nonsense gt:gen=four
         ask negative gt:gen=-1
         ask two gt:gen=1,2
         ask empty in:zone=
         ask exists exists:gen absent:rack
         ask either in:zone=a or in:gen=x
         ask name name:b
         ask names name:a,b
         ask noname noname:a
         ask noterm or",
        expect![[r#"
            want a: yes
            want b: {node_selector:{label:zone}}
            in a: {node_selector:{label:zone}}
            in b: yes
            notin a: {node_selector:{label:zone}}
            notin b: yes
            gt a: yes
            gt b: {node_selector:{label:gen}}
            lt a: {node_selector:{label:gen}}
            lt b: {node_selector:{label:gen}}
            nonsense a: {node_selector:{label:gen}}
            nonsense b: {node_selector:{label:gen}}
            negative a: {node_selector:{label:gen}}
            negative b: {node_selector:{label:gen}}
            two a: {node_selector:{label:gen}}
            two b: {node_selector:{label:gen}}
            empty a: {node_selector:{label:zone}}
            empty b: {node_selector:{label:zone}}
            exists a: yes
            exists b: yes
            either a: yes
            either b: yes
            name a: {node_selector:{label:metadata.name}}
            name b: yes
            names a: {node_selector:{label:metadata.name}}
            names b: {node_selector:{label:metadata.name}}
            noname a: {node_selector:{label:metadata.name}}
            noname b: yes
            noterm a: {node_selector:{label:}}
            noterm b: {node_selector:{label:}}
        "#]],
    );
}

#[test]
fn ports() {
    check(
        "node any
         node one
         node free
         pod a on:any port:80
         pod b on:one port:10.0.0.1:80
         ask all port:80
         ask own port:10.0.0.1:80
         ask other port:10.0.0.2:80
         ask zeros port:0.0.0.0:80
         ask udp port:80/udp
         ask next port:81",
        expect![[r#"
            all any: {port:{port:80}}
            all one: {port:{port:80}}
            all free: yes
            own any: {port:{port:80}}
            own one: {port:{port:80}}
            own free: yes
            other any: {port:{port:80}}
            other one: yes
            other free: yes
            zeros any: {port:{port:80}}
            zeros one: {port:{port:80}}
            zeros free: yes
            udp any: yes
            udp one: yes
            udp free: yes
            next any: yes
            next one: yes
            next free: yes
        "#]],
    );
}

#[test]
fn spread() {
    check(
        "node a1 zone=a
         node a2 zone=a
         node b1 zone=b taint:dedicated=db:NoSchedule
         node c1 zone=c rack=1
         node none
         pod p1 on:a1 app=web
         pod p2 on:c1 app=web
         pod gone on:b1 app=web terminating
         pod elsewhere on:b1 app=web ns:red
         pod other on:b1 app=db
         ask web app=web spread:zone:1
         ask two app=web spread:zone:2
         ask many app=web spread:zone:1:min=4
         ask honor app=web spread:zone:1:taints
         ask only app=web spread:zone:1 in:zone=a,c
         ask anywhere app=web spread:zone:1:anywhere in:zone=a,c
         ask both app=web spread:zone:1 spread:rack:1
         ask all app=web spread:zone:1:sel=
         ask nobody app=web spread:zone:1:sel=none",
        expect![[r#"
            web a1: {spread:{topology:zone}}
            web a2: {spread:{topology:zone}}
            web b1: {taint:{taint:dedicated=db:NoSchedule}}
            web c1: {spread:{topology:zone}}
            web none: {spread:{topology:zone}}
            two a1: yes
            two a2: yes
            two b1: {taint:{taint:dedicated=db:NoSchedule}}
            two c1: yes
            two none: {spread:{topology:zone}}
            many a1: {spread:{topology:zone}}
            many a2: {spread:{topology:zone}}
            many b1: {taint:{taint:dedicated=db:NoSchedule}}
            many c1: {spread:{topology:zone}}
            many none: {spread:{topology:zone}}
            honor a1: yes
            honor a2: yes
            honor b1: {taint:{taint:dedicated=db:NoSchedule}}
            honor c1: yes
            honor none: {spread:{topology:zone}}
            only a1: yes
            only a2: yes
            only b1: {taint:{taint:dedicated=db:NoSchedule}}
            only c1: yes
            only none: {node_selector:{label:zone}}
            anywhere a1: {spread:{topology:zone}}
            anywhere a2: {spread:{topology:zone}}
            anywhere b1: {taint:{taint:dedicated=db:NoSchedule}}
            anywhere c1: {spread:{topology:zone}}
            anywhere none: {node_selector:{label:zone}}
            both a1: {spread:{topology:rack}}
            both a2: {spread:{topology:rack}}
            both b1: {taint:{taint:dedicated=db:NoSchedule}}
            both c1: yes
            both none: {spread:{topology:zone}}
            all a1: yes
            all a2: yes
            all b1: {taint:{taint:dedicated=db:NoSchedule}}
            all c1: yes
            all none: {spread:{topology:zone}}
            nobody a1: yes
            nobody a2: yes
            nobody b1: {taint:{taint:dedicated=db:NoSchedule}}
            nobody c1: yes
            nobody none: {spread:{topology:zone}}
        "#]],
    );
}

#[test]
fn affinity() {
    check(
        "namespace red team=x
         namespace default
         node a1 zone=a
         node a2 zone=a
         node b zone=b rack=1
         node none
         pod web on:a1 app=web
         pod leaving on:a2 app=cache terminating
         pod red on:b app=db ns:red
         ask near near:zone:app=web
         ask here near:kubernetes.io/hostname:app=web
         ask cache near:zone:app=cache
         ask wrongspace near:zone:app=db
         ask names near:zone:app=db:red
         ask team near:zone:app=db:{team=x}
         ask everyone near:zone:app=db:{}
         ask first app=new near:zone:app=new
         ask notfirst app=old near:zone:app=new
         ask second app=web near:zone:app=web
         ask pair near:zone:app=web near:kubernetes.io/hostname:app=db",
        expect![[r#"
            near a1: yes
            near a2: yes
            near b: {affinity:{topology:zone}}
            near none: {affinity:{topology:zone}}
            here a1: yes
            here a2: {affinity:{topology:kubernetes.io/hostname}}
            here b: {affinity:{topology:kubernetes.io/hostname}}
            here none: {affinity:{topology:kubernetes.io/hostname}}
            cache a1: yes
            cache a2: yes
            cache b: {affinity:{topology:zone}}
            cache none: {affinity:{topology:zone}}
            wrongspace a1: {affinity:{topology:zone}}
            wrongspace a2: {affinity:{topology:zone}}
            wrongspace b: {affinity:{topology:zone}}
            wrongspace none: {affinity:{topology:zone}}
            names a1: {affinity:{topology:zone}}
            names a2: {affinity:{topology:zone}}
            names b: yes
            names none: {affinity:{topology:zone}}
            team a1: {affinity:{topology:zone}}
            team a2: {affinity:{topology:zone}}
            team b: yes
            team none: {affinity:{topology:zone}}
            everyone a1: {affinity:{topology:zone}}
            everyone a2: {affinity:{topology:zone}}
            everyone b: yes
            everyone none: {affinity:{topology:zone}}
            first a1: yes
            first a2: yes
            first b: yes
            first none: {affinity:{topology:zone}}
            notfirst a1: {affinity:{topology:zone}}
            notfirst a2: {affinity:{topology:zone}}
            notfirst b: {affinity:{topology:zone}}
            notfirst none: {affinity:{topology:zone}}
            second a1: yes
            second a2: yes
            second b: {affinity:{topology:zone}}
            second none: {affinity:{topology:zone}}
            pair a1: {affinity:{topology:zone}}
            pair a2: {affinity:{topology:zone}}
            pair b: {affinity:{topology:zone}}
            pair none: {affinity:{topology:zone}}
        "#]],
    );
}

#[test]
fn anti_affinity_both_ways() {
    check(
        "node a1 zone=a
         node a2 zone=a
         node b zone=b
         node none
         pod web on:a1 app=web
         pod loner on:b app=loner apart:zone:app=guest
         pod apart on:none apart:kubernetes.io/hostname:app=guest
         pod shy on:a1 avoids:zone:app=guest
         ask away apart:zone:app=web
         ask here apart:kubernetes.io/hostname:app=web
         ask shy avoids:zone:app=web
         ask guest app=guest
         ask stranger app=guest ns:red",
        expect![[r#"
            away a1: {anti_affinity:{topology:zone}}
            away a2: {anti_affinity:{topology:zone}}
            away b: yes
            away none: yes
            here a1: {anti_affinity:{topology:kubernetes.io/hostname}}
            here a2: yes
            here b: yes
            here none: yes
            shy a1: {anti_affinity:{topology:zone}}
            shy a2: {anti_affinity:{topology:zone}}
            shy b: yes
            shy none: yes
            guest a1: yes
            guest a2: yes
            guest b: {anti_affinity:{topology:zone}}
            guest none: {anti_affinity:{topology:kubernetes.io/hostname}}
            stranger a1: yes
            stranger a2: yes
            stranger b: yes
            stranger none: yes
        "#]],
    );
}

#[test]
fn volumes() {
    check(
        "node a zone=a limit:csi=2
         node b zone=b limit:csi=1
         node c
         pod p1 on:a volume:v1:csi
         pod p2 on:a volume:v1:csi
         pod p3 on:b volume:v2:csi
         pod p4 on:c volume:alone:csi::alone
         ask known volume:v1:csi
         ask new volume:v3:csi
         ask two volume:v3:csi claim:c1:csi
         ask nfs volume:v4
         ask other volume:v5:other
         ask placed volume:v6:nolimit:zone=a
         ask madeat claim:c2:nolimit:zone=b
         ask madeon claim:c3:nolimit:name=c
         ask fieldless volume:v7:nolimit:name=c
         ask zone zone:v8::zone=a
         ask exclusive volume:alone:csi::alone
         ask exclusive2 volume:v9:nolimit::alone
         ask missing missing:claim
         ask both volume:v1:csi volume:v2:csi",
        expect![[r#"
            known a: yes
            known b: {volume_limit:{driver:csi}}
            known c: yes
            new a: yes
            new b: {volume_limit:{driver:csi}}
            new c: yes
            two a: {volume_limit:{driver:csi}}
            two b: {volume_limit:{driver:csi}}
            two c: yes
            nfs a: yes
            nfs b: yes
            nfs c: yes
            other a: yes
            other b: yes
            other c: yes
            placed a: yes
            placed b: {volume_place:{volume:v6}}
            placed c: {volume_place:{volume:v6}}
            madeat a: {volume_place:{volume:c2}}
            madeat b: yes
            madeat c: {volume_place:{volume:c2}}
            madeon a: {volume_place:{volume:c3}}
            madeon b: {volume_place:{volume:c3}}
            madeon c: yes
            fieldless a: yes
            fieldless b: yes
            fieldless c: yes
            zone a: yes
            zone b: {volume_place:{volume:v8}}
            zone c: {volume_place:{volume:v8}}
            exclusive a: {volume_in_use:{volume:alone}}
            exclusive b: {volume_in_use:{volume:alone}}
            exclusive c: {volume_in_use:{volume:alone}}
            exclusive2 a: yes
            exclusive2 b: yes
            exclusive2 c: yes
            missing a: {volume_missing:{what:claim}}
            missing b: {volume_missing:{what:claim}}
            missing c: {volume_missing:{what:claim}}
            both a: yes
            both b: {volume_limit:{driver:csi}}
            both c: yes
        "#]],
    );
}

#[test]
fn features_and_what_cannot_be_judged() {
    check(
        "node old
         node new feature:F
         ask needs feature:F feature:G
         ask one feature:F
         ask claims unjudged:devices
         ask full feature:G cpu:1",
        expect![[r#"
            needs old: {feature:{feature:F}}
            needs new: {feature:{feature:G}}
            one old: {feature:{feature:F}}
            one new: yes
            claims old: {cannot_judge:{what:devices}}
            claims new: {cannot_judge:{what:devices}}
            full old: {too_large:{resource:cpu,asked:1,has:0}}
            full new: {too_large:{resource:cpu,asked:1,has:0}}
        "#]],
    );
}

/// Room that is promised to others counts, unless one is of a higher priority; and what needs a pod that may never
/// come does not fit.
#[test]
fn nominated() {
    check(
        "node a zone=a cpu:2 limit:csi=1
         node b zone=b cpu:2 limit:csi=1
         pod n nominated:a cpu:1.5 app=web port:80 priority:5 volume:v1:csi
         ask room cpu:1
         ask higher cpu:1 priority:6
         ask same cpu:1 priority:5
         ask port port:80
         ask near near:zone:app=web
         ask apart apart:zone:app=web
         ask spread app=web spread:zone:1
         ask volume volume:v2:csi
         ask shared volume:v1:csi",
        expect![[r#"
            room a: {no_room:{resource:cpu,asked:1,free:2}}
            room b: yes
            higher a: yes
            higher b: yes
            same a: {no_room:{resource:cpu,asked:1,free:2}}
            same b: yes
            port a: {port:{port:80}}
            port b: yes
            near a: {affinity:{topology:zone}}
            near b: {affinity:{topology:zone}}
            apart a: {anti_affinity:{topology:zone}}
            apart b: yes
            spread a: {spread:{topology:zone}}
            spread b: yes
            volume a: {volume_limit:{driver:csi}}
            volume b: yes
            shared a: yes
            shared b: yes
        "#]],
    );
}

#[test]
fn a_filter_that_is_off_says_nothing() {
    let text = "node n zone=a cordoned taint:x=:NoSchedule cpu:1 limit:csi=0
         pod p on:n app=web port:80 volume:alone:csi::alone
         ask NodeUnschedulable bear:x
         ask TaintToleration bear:node.kubernetes.io/unschedulable
         ask NodeAffinity bear:* want:zone=b
         ask NodePorts bear:* port:80
         ask NodeResourcesFit bear:* cpu:2
         ask VolumeRestrictions bear:* volume:alone:other::alone volume:alone:csi::alone
         ask NodeVolumeLimits bear:* volume:v1:csi
         ask VolumeBinding bear:* volume:v2::zone=b
         ask VolumeZone bear:* zone:v2::zone=b
         ask PodTopologySpread bear:* app=web spread:rack:1
         ask InterPodAffinity bear:* near:zone:app=db
         ask NodeDeclaredFeatures bear:* feature:F";
    let filters: [Filter; 12] = [
        Filter::NodeUnschedulable,
        Filter::TaintToleration,
        Filter::NodeAffinity,
        Filter::NodePorts,
        Filter::NodeResourcesFit,
        Filter::VolumeRestrictions,
        Filter::NodeVolumeLimits,
        Filter::VolumeBinding,
        Filter::VolumeZone,
        Filter::PodTopologySpread,
        Filter::InterPodAffinity,
        Filter::NodeDeclaredFeatures,
    ];
    let world = world(text);
    let all = Ledger::new(&world.cluster, &KubePolicy::default());
    let node = all.node("n").unwrap();
    for filter in filters {
        let name = format!("{filter:?}");
        let (_, spec) = world.asks.iter().find(|(ask, _)| *ask == name).unwrap();
        assert!(!all.fits(*spec, node), "{name}");
        let mut filters_off = std::collections::BTreeSet::from([filter]);
        if filter == Filter::VolumeRestrictions {
            filters_off.insert(Filter::NodeVolumeLimits);
        }
        let policy = KubePolicy { filters_off, ..KubePolicy::default() };
        let fit = Ledger::new(&world.cluster, &policy).fit(*spec, node);
        assert_eq!(fit, Ok(()), "{name}");
    }
}
