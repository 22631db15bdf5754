//! Random worlds: pools, nodes that are there, and pods that ask for all that a filter looks at. Values are few, so
//! that they meet often.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Something that a pod may ask for.
type Ask = fn(&mut Random, &mut Value, &Value);

/// Both namespaces of every world, and a label of each.
pub(crate) const SPACES: [(&str, &str); 2] = [("worlds-a", "x"), ("worlds-b", "y")];
/// Priority classes: name, value, does it preempt?
pub(crate) const CLASSES: [(&str, i32, &str); 3] = [
    ("worlds-high", 100, "PreemptLowerPriority"),
    ("worlds-patient", 50, "Never"),
    ("worlds-low", -5, "PreemptLowerPriority"),
];
/// The label of a node's pool.
pub(crate) const POOL: &str = "ostler.dev/pool";
/// Nodes of one world at most, and its pods.
pub(crate) const NODES_MAX: u64 = 20;
const PODS_MAX: usize = 60;
const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

/// One world, in objects of Kubernetes.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) pools: Vec<Pool>,
    /// Nodes that are there, and which pool each is of; `None` is somebody else's.
    pub(crate) nodes: Vec<(Value, Option<usize>)>,
    /// Pods by namespace and name.
    pub(crate) pods: BTreeMap<(String, String), Value>,
}

/// A pool: its nodes are copies of this one.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) max: u32,
    /// A common bound with other pools.
    pub(crate) group_max: Option<u32>,
    pub(crate) price: u64,
    node: Value,
}

impl Pool {
    /// A node of this pool.
    pub(crate) fn node(&self, name: &str) -> Value {
        let mut node = self.node.clone();
        node["metadata"]["name"] = name.into();
        node["metadata"]["labels"][HOST] = name.into();
        node
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
    /// A part of them, one at least.
    fn some<'t>(&mut self, of: &[&'t str]) -> Vec<&'t str> {
        let mut chosen: Vec<&str> = of.iter().copied().filter(|_| self.chance(40)).collect();
        if chosen.is_empty() {
            chosen.push(self.pick(of));
        }
        chosen
    }
}

impl World {
    /// The world of this seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut world = Self { seed, ..Self::default() };
        for n in 0..random.pick(&[2, 3, 3, 4]) {
            let pool = world.pool(&mut random, n);
            world.pools.push(pool);
        }
        world.nodes.push((control_plane(seed), None));
        for n in 0..random.below(5) {
            let (node, pool) = world.there(&mut random, n);
            world.nodes.push((node, pool));
        }
        for n in 0..random.pick(&[3, 4, 5, 6, 8]) {
            world.group(&mut random, n);
        }
        world
    }

    fn pool(&self, random: &mut Random, n: usize) -> Pool {
        let name = format!("w{}-p{n}", self.seed);
        let cpu = random.pick(&[2_u64, 4, 4, 8]);
        let memory = cpu * random.pick(&[2, 4, 4]);
        let mut amounts = json!({
            "cpu": cpu.to_string(), "memory": format!("{memory}Gi"), "ephemeral-storage": "50Gi",
            "pods": random.pick(&["4", "8", "110", "110"]),
        });
        if random.chance(20) {
            amounts["example.com/gpu"] = "2".into();
        }
        let mut labels = json!({"world": self.seed.to_string(), POOL: name});
        let choices: [(&str, usize, &[&str]); 4] = [
            (ZONE, 90, &["a", "b", "c"]),
            ("tier", 70, &["gold", "silver"]),
            ("gen", 60, &["1", "2", "5"]),
            ("rack", 30, &["1", "2"]),
        ];
        for (key, percent, values) in choices {
            if random.chance(percent) {
                labels[key] = random.pick(values).into();
            }
        }
        let taints = if random.chance(25) { vec![taint(random)] } else { vec![] };
        Pool {
            max: random.pick(&[3, 8, 16, 16, 16]),
            group_max: random.chance(10).then_some(8),
            price: cpu * random.pick(&[80, 100, 100, 130]) + memory * 5,
            node: node(labels, &taints, amounts),
            name,
        }
    }

    /// A node that is there: one of a pool, or somebody else's; now and then with a mark of its own.
    fn there(&self, random: &mut Random, n: usize) -> (Value, Option<usize>) {
        let name = format!("w{}-old{n}", self.seed);
        let place = random.below(self.pools.len());
        let mut node = self.pools[place].node(&name);
        let used = self.nodes.iter().filter(|(_, pool)| *pool == Some(place)).count();
        let ours = random.chance(70) && used < self.pools[place].max as usize;
        if !ours {
            node["metadata"]["labels"].as_object_mut().expect("labels").remove(POOL);
        }
        if random.chance(15) {
            node["spec"]["unschedulable"] = true.into();
        }
        if random.chance(15) {
            let more = taint(random);
            let taints = node["spec"]["taints"].as_array_mut().expect("taints");
            let same = |one: &&Value| one["key"] == more["key"] && one["effect"] == more["effect"];
            if taints.iter().find(same).is_none() {
                taints.push(more);
            }
        }
        (node, ours.then_some(place))
    }

    /// Equal pods.
    fn group(&mut self, random: &mut Random, n: usize) {
        let room = PODS_MAX.saturating_sub(self.pods.len());
        let count = random.pick(&[1, 2, 3, 4, 6, 8, 10, 12]).min(room);
        let (space, _) = random.pick(&SPACES);
        let mut labels = json!({"app": random.pick(&["web", "db", "job"]), "rev": random.pick(&["1", "2"])});
        if random.chance(30) {
            labels["tier"] = random.pick(&["gold", "silver"]).into();
        }
        let mut spec = containers(random);
        spec["nodeSelector"] = json!({"world": self.seed.to_string()});
        spec["terminationGracePeriodSeconds"] = 0.into();
        if random.chance(12) {
            spec["priorityClassName"] = random.pick(&CLASSES).0.into();
        }
        let asks: [(usize, Ask); 7] = [
            (14, selector),
            (18, node_affinity),
            (55, tolerations),
            (15, ports),
            (30, spread),
            (12, affinity),
            (20, anti_affinity),
        ];
        for (percent, ask) in asks {
            if random.chance(percent) {
                ask(random, &mut spec, &labels);
            }
        }
        if random.chance(6) {
            hopeless(random, &mut spec);
        }
        for k in 0..count {
            let name = format!("w{}-g{n}-{k}", self.seed);
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"namespace": space, "name": name, "labels": labels},
                "spec": spec,
            });
            self.pods.insert((space.to_owned(), name), pod);
        }
    }
}

/// A node that takes no pods. Without any node the scheduler puts off every pod for up to ten seconds.
fn control_plane(seed: u64) -> Value {
    let mut node = node(json!({}), &[], json!({"cpu": "2", "memory": "4Gi", "pods": "10"}));
    node["metadata"]["name"] = format!("w{seed}-control").into();
    node["spec"]["unschedulable"] = true.into();
    node
}

fn node(labels: Value, taints: &[Value], amounts: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "", "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

fn taint(random: &mut Random) -> Value {
    json!({
        "key": random.pick(&["dedicated", "level"]), "value": random.pick(&["a", "b"]),
        "effect": random.pick(&["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
    })
}

fn containers(random: &mut Random) -> Value {
    let requests = |random: &mut Random, big: bool| {
        let mut list = Map::new();
        if random.chance(80) {
            let cpu: &[&str] =
                if big { &["100m", "500m", "1", "1500m", "2", "3"] } else { &["100m", "250m"] };
            list.insert("cpu".into(), random.pick(cpu).into());
        }
        if random.chance(70) {
            list.insert("memory".into(), random.pick(&["64Mi", "512Mi", "1Gi", "3000M"]).into());
        }
        if random.chance(8) {
            list.insert("ephemeral-storage".into(), random.pick(&["1Gi", "20Gi"]).into());
        }
        json!(list)
    };
    let container = |random: &mut Random, name: &str, big: bool| {
        let requests = requests(random, big);
        json!({"name": name, "image": "example/none", "resources": {"requests": requests}})
    };
    let mut all = vec![container(random, "c0", true)];
    if random.chance(20) {
        all.push(container(random, "c1", false));
    }
    if random.chance(8) {
        all[0]["resources"]["requests"]["example.com/gpu"] = "1".into();
        all[0]["resources"]["limits"] = json!({"example.com/gpu": "1"});
    }
    let mut spec = json!({"containers": all});
    if random.chance(15) {
        let mut first = container(random, "i0", true);
        if random.chance(50) {
            first["restartPolicy"] = "Always".into();
        }
        spec["initContainers"] = json!([first]);
    }
    spec
}

fn selector(random: &mut Random, spec: &mut Value, _: &Value) {
    let (key, values): (&str, &[&str]) =
        random.pick(&[(ZONE, &["a", "b", "c"][..]), ("tier", &["gold", "silver"][..])]);
    spec["nodeSelector"][key] = random.pick(values).into();
}

fn requirement(random: &mut Random) -> Value {
    let keys: [(&str, &[&str]); 4] = [
        (ZONE, &["a", "b", "c"]),
        ("tier", &["gold", "silver"]),
        ("gen", &["1", "2", "5"]),
        ("rack", &["1", "2"]),
    ];
    let (key, values) = random.pick(&keys);
    if key == "gen" && random.chance(60) {
        let operator = random.pick(&["Gt", "Lt"]);
        return json!({"key": key, "operator": operator, "values": [random.pick(&["0", "1", "2", "5"])]});
    }
    match random.below(8) {
        0 => json!({"key": key, "operator": "Exists"}),
        1 => json!({"key": key, "operator": "DoesNotExist"}),
        2 | 3 => json!({"key": key, "operator": "NotIn", "values": random.some(values)}),
        _ => json!({"key": key, "operator": "In", "values": random.some(values)}),
    }
}

fn node_affinity(random: &mut Random, spec: &mut Value, _: &Value) {
    let terms = random.pick(&[1, 1, 2]);
    let terms: Vec<Value> = (0..terms)
        .map(|_| {
            let count = random.pick(&[1, 1, 2]);
            json!({"matchExpressions": (0..count).map(|_| requirement(random)).collect::<Vec<_>>()})
        })
        .collect();
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": terms});
}

fn tolerations(random: &mut Random, spec: &mut Value, _: &Value) {
    let all: Vec<Value> = (0..random.pick(&[1, 2]))
        .map(|_| {
            let mut one = match random.below(5) {
                0 => json!({"operator": "Exists"}),
                1 => json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
                2 => json!({"key": random.pick(&["dedicated", "level"]), "operator": "Exists"}),
                _ => json!({
                    "key": random.pick(&["dedicated", "level"]), "operator": "Equal",
                    "value": random.pick(&["a", "b"]),
                }),
            };
            if random.chance(25) {
                one["effect"] = random.pick(&["NoSchedule", "NoExecute"]).into();
            }
            one
        })
        .collect();
    spec["tolerations"] = all.into();
}

fn ports(random: &mut Random, spec: &mut Value, _: &Value) {
    let ports: Vec<Value> = (0..random.pick(&[1, 1, 2]))
        .map(|n| {
            let mut port = json!({
                "containerPort": 80 + n, "hostPort": random.pick(&[8080, 8080, 8081]) + 10 * n,
                "protocol": random.pick(&["TCP", "TCP", "UDP"]),
            });
            if random.chance(30) {
                port["hostIP"] = random.pick(&["0.0.0.0", "10.0.0.1", "10.0.0.2"]).into();
            }
            port
        })
        .collect();
    spec["containers"][0]["ports"] = ports.into();
}

/// Often means the pod itself.
fn label_selector(random: &mut Random, labels: &Value) -> Value {
    let app =
        if random.chance(70) { labels["app"].clone() } else { random.pick(&["web", "db", "job"]).into() };
    let mut selector = json!({"matchLabels": {"app": app}});
    if random.chance(20) {
        let operator = random.pick(&["In", "NotIn", "Exists", "DoesNotExist"]);
        let mut term = json!({"key": "tier", "operator": operator});
        if operator.ends_with("In") {
            term["values"] = json!(["gold"]);
        }
        selector["matchExpressions"] = json!([term]);
    }
    selector
}

fn topology(random: &mut Random) -> &'static str {
    random.pick(&[ZONE, HOST, HOST, "rack"])
}

fn spread(random: &mut Random, spec: &mut Value, labels: &Value) {
    let first = topology(random);
    let mut keys = vec![first];
    if random.chance(20) {
        keys.push(if first == ZONE { HOST } else { ZONE });
    }
    let all: Vec<Value> = keys.into_iter().map(|key| constraint(random, labels, key)).collect();
    spec["topologySpreadConstraints"] = all.into();
}

fn constraint(random: &mut Random, labels: &Value, key: &str) -> Value {
    let mut one = json!({
        "topologyKey": key, "maxSkew": random.pick(&[1, 1, 2]), "labelSelector": label_selector(random, labels),
        "whenUnsatisfiable": if random.chance(10) { "ScheduleAnyway" } else { "DoNotSchedule" },
    });
    if one["whenUnsatisfiable"] == "DoNotSchedule" && random.chance(25) {
        one["minDomains"] = random.pick(&[1, 2, 3]).into();
    }
    for (name, percent) in [("nodeAffinityPolicy", 30), ("nodeTaintsPolicy", 40)] {
        if random.chance(percent) {
            one[name] = random.pick(&["Honor", "Honor", "Ignore"]).into();
        }
    }
    if random.chance(25) {
        one["matchLabelKeys"] = json!(["rev"]);
    }
    one
}

fn pod_term(random: &mut Random, labels: &Value) -> Value {
    let mut term = json!({"topologyKey": topology(random), "labelSelector": label_selector(random, labels)});
    if random.chance(20) {
        term["namespaces"] = json!([random.pick(&SPACES).0]);
    }
    if random.chance(25) {
        term["namespaceSelector"] = match random.below(3) {
            0 => json!({}),
            1 => json!({"matchLabels": {"team": random.pick(&["x", "y"])}}),
            _ => json!({"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        };
    }
    if random.chance(20) {
        let field = random.pick(&["matchLabelKeys", "mismatchLabelKeys"]);
        term[field] = json!(["rev"]);
    }
    term
}

fn affinity(random: &mut Random, spec: &mut Value, labels: &Value) {
    spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!([pod_term(random, labels)]);
}

fn anti_affinity(random: &mut Random, spec: &mut Value, labels: &Value) {
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!([pod_term(random, labels)]);
}

fn hopeless(random: &mut Random, spec: &mut Value) {
    match random.below(3) {
        0 => spec["containers"][0]["resources"]["requests"]["cpu"] = "100".into(),
        1 => spec["containers"][0]["resources"]["requests"]["memory"] = "1Ti".into(),
        _ => spec["nodeSelector"]["rack"] = "nowhere".into(),
    }
}
