//! The knobs of a Kubernetes cluster, and of the providers that only it has.

use super::{DAY, MANY};
use crate::knob::{Default::*, Kind::*, Knob, Table};

const KUBECONFIG: Knob = Knob {
    name: "kubeconfig",
    kind: Text,
    default: Absent("`KUBECONFIG`, `~/.kube/config`, else what a pod of the cluster is given"),
    doc: "How the API server is reached; relative to this file.",
};
const CONTEXT: Knob = Knob {
    name: "context",
    kind: Text,
    default: Absent("the current one"),
    doc: "A context of the kubeconfig.",
};

pub(crate) const KUBERNETES: Table = Table {
    title: "workloads.NAME (kind: kubernetes)",
    doc: "The nodes of a Kubernetes cluster: pods that have no place bring nodes, nodes that nothing needs go.",
    knobs: &[
        KUBECONFIG,
        CONTEXT,
        Knob {
            name: "namespace",
            kind: Text,
            default: Is("ostler"),
            doc: "Where Ostler's own objects are: the ConfigMap `ostler-status` and the lease.",
        },
        Knob {
            name: "shadow",
            kind: Flag,
            default: Is("false"),
            doc: "Only say what would be done, beside another autoscaler. Also `ostler run --shadow`.",
        },
        Knob {
            name: "expander",
            kind: Choice(&["cost", "least-waste", "priority", "most-pods"]),
            default: Is("cost"),
            doc: "How one of several pools that would do is chosen.",
        },
        Knob {
            name: "max_nodes",
            kind: Count(MANY),
            default: Absent("the sum of the pools' `max`"),
            doc: "Nodes of all pools together at most.",
        },
        Knob {
            name: "scale_down",
            kind: Section(&SCALE_DOWN),
            default: Absent("defaults"),
            doc: "Which nodes may go, and when.",
        },
        Knob {
            name: "drain",
            kind: Section(&DRAIN),
            default: Absent("defaults"),
            doc: "How a node is emptied.",
        },
        Knob {
            name: "batch",
            kind: Section(&BATCH),
            default: Absent("defaults"),
            doc: "How events are gathered.",
        },
        Knob {
            name: "lease",
            kind: Section(&LEASE),
            default: Absent("no leader election"),
            doc: "Leader election, if more than one Ostler may run.",
        },
        Knob {
            name: "schedulers",
            kind: Texts,
            default: Absent("`default-scheduler`"),
            doc: "Pods of these schedulers bring nodes.",
        },
        Knob {
            name: "filters_off",
            kind: Texts,
            default: Absent("none"),
            doc: "Filters that the scheduler's profile has switched off, by plug-in: `PodTopologySpread`.",
        },
        Knob {
            name: "expendable_below",
            kind: Integer,
            default: Is("-10"),
            doc: "Pods of a lower priority bring no node and keep none.",
        },
        Knob {
            name: "new_pod_delay",
            kind: DurationIn(0, DAY),
            default: Is("0s"),
            doc: "A pod brings a node once it has waited for this long.",
        },
        Knob {
            name: "max_concurrent_launches",
            kind: Count(MANY),
            default: Is("1000"),
            doc: "Launches under way at most, over all pools.",
        },
        Knob {
            name: "launch_backoff",
            kind: Duration,
            default: Is("1min"),
            doc: "A pool that refused a launch rests for this long, doubled with each refusal in a row; its pods go elsewhere at once.",
        },
        Knob {
            name: "launch_backoff_max",
            kind: Duration,
            default: Is("30min"),
            doc: "The longest that `launch_backoff` grows to.",
        },
        Knob {
            name: "launch_timeout",
            kind: Duration,
            default: Is("10min"),
            doc: "A launch whose machine is not listed by then is asked again.",
        },
        Knob {
            name: "node_timeout",
            kind: Duration,
            default: Is("15min"),
            doc: "A machine whose node is not ready by then, with all that its pool promises, is given up and replaced.",
        },
        Knob {
            name: "terminate_timeout",
            kind: Duration,
            default: Is("5min"),
            doc: "A machine that is still listed this long after it should end is told again.",
        },
        Knob {
            name: "replace_outdated",
            kind: Flag,
            default: Is("false"),
            doc: "Drain nodes that were made from an older configuration of their pool: of simulated ones other labels, taints, resources, `instance_type` or `template`. What machines of `externalgrpc` are made of is the other side's to know; only another `template` of an offering makes them older.",
        },
        Knob {
            name: "pools",
            kind: Named(&POOL),
            default: Required,
            doc: "The kinds of node that it may have, by a name of your choice.",
        },
    ],
};

pub(crate) const SCALE_DOWN: Table = Table {
    title: "workloads.NAME.scale_down (kind: kubernetes)",
    doc: "A node goes only if all that is on it has a place elsewhere.",
    knobs: &[
        Knob { name: "enabled", kind: Flag, default: Is("true"), doc: "Remove nodes at all." },
        Knob {
            name: "utilization_threshold",
            kind: Count(100),
            default: Is("50"),
            doc: "A node that is used less than this, in percent, may go: the larger of what its pods ask of CPU and of memory, of GPUs where it has some.",
        },
        Knob {
            name: "unneeded",
            kind: DurationIn(0, DAY),
            default: Is("10min"),
            doc: "For how long nothing must have needed it.",
        },
        Knob {
            name: "unready",
            kind: DurationIn(0, DAY),
            default: Is("20min"),
            doc: "A node that has not been ready for this long goes.",
        },
        Knob {
            name: "delay_after_add",
            kind: DurationIn(0, DAY),
            default: Is("10min"),
            doc: "After a node came, none goes for this long.",
        },
        Knob {
            name: "delay_after_failure",
            kind: DurationIn(0, DAY),
            default: Is("3min"),
            doc: "A node that could not be drained is let alone for this long.",
        },
        Knob {
            name: "consolidate",
            kind: Flag,
            default: Is("true"),
            doc: "Also replace nodes by cheaper ones.",
        },
        Knob {
            name: "min_saving",
            kind: Count(100),
            default: Is("15"),
            doc: "A replacement must save this part of what it replaces, in percent.",
        },
        Knob {
            name: "while_pending",
            kind: Choice(&["reachable", "strict"]),
            default: Is("reachable"),
            doc: "No node goes while a pod waits that a node could take (`reachable`), or while any pod waits (`strict`).",
        },
        Knob {
            name: "local_storage",
            kind: Flag,
            default: Is("false"),
            doc: "Pods with local storage may be moved, and lose it.",
        },
        Knob {
            name: "uncontrolled",
            kind: Flag,
            default: Is("false"),
            doc: "Pods without a controller may be evicted; nothing makes them again.",
        },
        Knob {
            name: "let_jobs_finish",
            kind: Flag,
            default: Is("true"),
            doc: "Pods of jobs are not moved; their node waits for them.",
        },
        Knob {
            name: "budgets",
            kind: Named(&BUDGET),
            default: Absent("no bound"),
            doc: "How many nodes may be on their way out at once, by names of your choice; the tightest counts.",
        },
    ],
};

pub(crate) const BUDGET: Table = Table {
    title: "workloads.NAME.scale_down.budgets.BUDGET",
    doc: "A bound on drains at the same time.",
    knobs: &[
        Knob {
            name: "nodes",
            kind: Text,
            default: Required,
            doc: "`\"3\"`, or of all nodes `\"10%\"`, rounded up.",
        },
        Knob {
            name: "per",
            kind: Text,
            default: Absent("over all nodes"),
            doc: "Counted for each value of this label on its own, such as `topology.kubernetes.io/zone`.",
        },
        Knob {
            name: "reasons",
            kind: Texts,
            default: Absent("all"),
            doc: "Holds back nodes that go for these reasons only: `empty`, `underused`, `outdated`, `over_max`, `unready`. Without `empty`, empty nodes do not count.",
        },
        Knob {
            name: "days",
            kind: Texts,
            default: Absent("every day"),
            doc: "Holds on these days only: `mon`, `tue` … (UTC).",
        },
        Knob {
            name: "from",
            kind: Text,
            default: Absent("all day"),
            doc: "Holds from this time of the day, `\"22:30\"` (UTC), for `lasts`.",
        },
        Knob { name: "lasts", kind: Duration, default: Is("24h"), doc: "For how long it holds from `from`." },
    ],
};

pub(crate) const DRAIN: Table = Table {
    title: "workloads.NAME.drain (kind: kubernetes)",
    doc: "A node is tainted first, looked at once more, and emptied through the eviction API.",
    knobs: &[
        Knob {
            name: "settle",
            kind: DurationIn(0, DAY),
            default: Is("2s"),
            doc: "From the taint to the last look: the scheduler must have seen the taint.",
        },
        Knob {
            name: "timeout",
            kind: DurationIn(1000, DAY),
            default: Is("10min"),
            doc: "A node that is not empty by then goes back to work; what stood in the way is said.",
        },
    ],
};

pub(crate) const BATCH: Table = Table {
    title: "workloads.NAME.batch (kind: kubernetes)",
    doc: "Pods that come together are decided together.",
    knobs: &[
        Knob {
            name: "idle",
            kind: DurationIn(0, DAY),
            default: Is("1s"),
            doc: "No event for this long ends a batch.",
        },
        Knob { name: "max", kind: DurationIn(0, DAY), default: Is("10s"), doc: "The longest batch." },
    ],
};

pub(crate) const LEASE: Table = Table {
    title: "workloads.NAME.lease (kind: kubernetes)",
    doc: "A Lease in `namespace`; its term fences every commit.",
    knobs: &[
        Knob { name: "name", kind: Text, default: Is("ostler"), doc: "Its name." },
        Knob {
            name: "duration",
            kind: DurationIn(2000, DAY),
            default: Is("15s"),
            doc: "A leader is believed to live this long without a word.",
        },
    ],
};

pub(crate) const POOL: Table = Table {
    title: "workloads.NAME.pools.POOL (kind: kubernetes)",
    doc: "Nodes of one kind, or of several behind common bounds (`offerings`).",
    knobs: &[
        Knob { name: "provider", kind: Text, default: Required, doc: "One of `providers`." },
        Knob {
            name: "min",
            kind: Count(MANY),
            default: Is("0"),
            doc: "Nodes that exist at least; with `offerings` of the first, and of the next what that may not have.",
        },
        Knob { name: "max", kind: Count(MANY), default: Required, doc: "Nodes that exist at most." },
        RESOURCES,
        LABELS,
        TAINTS,
        Knob {
            name: "startup_taints",
            kind: Texts,
            default: Absent("none"),
            doc: "Taints that a node starts with and loses before it takes pods.",
        },
        PRICE,
        Knob {
            name: "priority",
            kind: Integer,
            default: Is("0"),
            doc: "For the expander `priority`: the higher first.",
        },
        Knob {
            name: "attach_limits",
            kind: Amounts,
            default: Absent("none that is known"),
            doc: "Volumes that a node can attach, by the driver's name, until a node of the pool has shown it.",
        },
        INSTANCE_TYPE,
        Knob {
            name: "headroom",
            kind: Section(&HEADROOM),
            default: Absent("none"),
            doc: "Room that is kept free on nodes of this pool; with `offerings` on any of them.",
        },
        TEMPLATE,
        Knob {
            name: "offerings",
            kind: Named(&OFFERING),
            default: Absent("the pool is one"),
            doc: "Several kinds of machine behind the pool's bounds, by a name of your choice; the planner chooses the shape.",
        },
    ],
};

pub(crate) const OFFERING: Table = Table {
    title: "workloads.NAME.pools.POOL.offerings.OFFERING",
    doc: "What is not said here is the pool's.",
    knobs: &[
        Knob {
            name: "max",
            kind: Count(MANY),
            default: Absent("the pool's"),
            doc: "Nodes of this kind at most: so many are reserved, say.",
        },
        RESOURCES,
        LABELS,
        TAINTS,
        PRICE,
        INSTANCE_TYPE,
        TEMPLATE,
    ],
};

const RESOURCES: Knob = Knob {
    name: "resources",
    kind: Amounts,
    default: Absent("learnt from its nodes"),
    doc: "What a node lets pods use: `cpu`, `memory`, `pods` (110 if it is not said), `nvidia.com/gpu` … A node that lacks one of them is not ready yet.",
};
const LABELS: Knob =
    Knob { name: "labels", kind: Pairs, default: Absent("none"), doc: "Labels of each node." };
const TAINTS: Knob = Knob {
    name: "taints",
    kind: Texts,
    default: Absent("none"),
    doc: "Taints of each node, as kubectl writes them: `dedicated=special:NoSchedule`.",
};
const PRICE: Knob = Knob {
    name: "price",
    kind: Price,
    default: Is("0"),
    doc: "What a node costs for an hour, in a currency of your choice.",
};
const INSTANCE_TYPE: Knob =
    Knob { name: "instance_type", kind: Text, default: Absent("none"), doc: "The provider's machine type." };
const TEMPLATE: Knob = Knob {
    name: "template",
    kind: Free,
    default: Absent("the provider's"),
    doc: "How the provider makes such a machine; its keys are the provider's.",
};

pub(crate) const HEADROOM: Table = Table {
    title: "workloads.NAME.pools.POOL.headroom",
    doc: "So many places of a shape are kept free.",
    knobs: &[
        Knob { name: "count", kind: Count(MANY), default: Required, doc: "How many places." },
        Knob { name: "shape", kind: Amounts, default: Required, doc: "One place: `cpu`, `memory` …" },
    ],
};

pub(crate) const KWOK: Table = Table {
    title: "providers.NAME (type: kwok)",
    doc: "Simulated nodes: Node objects with a kubelet of pretence behind them, for trying things out.",
    knobs: &[KUBECONFIG, CONTEXT],
};

pub(crate) const KWOK_TEMPLATE: Table = Table {
    title: "workloads.NAME.pools.POOL.template (provider type: kwok)",
    doc: "How a simulated node behaves.",
    knobs: &[
        Knob {
            name: "boot",
            kind: Duration,
            default: Is("1s"),
            doc: "From the launch until the node is ready.",
        },
        Knob {
            name: "startup",
            kind: Duration,
            default: Is("0s"),
            doc: "From ready until the startup taints are gone.",
        },
        Knob {
            name: "stop",
            kind: Duration,
            default: Is("1s"),
            doc: "How long its pods take to end, their grace period at most.",
        },
        Knob {
            name: "allocatable",
            kind: Free,
            default: Absent("the pool's `resources`"),
            doc: "What it says of itself where that differs: `cpu: 3900m`.",
        },
        Knob { name: "taints", kind: Texts, default: Absent("the pool's"), doc: "Taints that stay." },
        Knob {
            name: "startup_taints",
            kind: Texts,
            default: Absent("the pool's"),
            doc: "Taints until `startup` is over.",
        },
        Knob { name: "never_ready", kind: Flag, default: Is("false"), doc: "Nodes never become ready." },
        Knob {
            name: "refuse",
            kind: Choice(&["out_of_capacity", "quota", "denied", "transient"]),
            default: Absent("launches are accepted"),
            doc: "Launches are refused so.",
        },
    ],
};

pub(crate) const EXTERNALGRPC: Table = Table {
    title: "providers.NAME (type: externalgrpc)",
    doc: "A server that speaks Cluster Autoscaler's external gRPC provider protocol. A pool is one of its node groups, named by `template.group` or by the pool's name.",
    knobs: &[
        Knob { name: "address", kind: Address, default: Required, doc: "`HOST:PORT` of the server." },
        Knob {
            name: "ca_file",
            kind: Text,
            default: Absent("no TLS"),
            doc: "Certificates that the server's must be signed by, relative to this file.",
        },
        Knob {
            name: "cert_file",
            kind: Text,
            default: Absent("none"),
            doc: "Our own certificate, with `key_file`.",
        },
        Knob { name: "key_file", kind: Text, default: Absent("none"), doc: "The key of `cert_file`." },
        Knob {
            name: "timeout",
            kind: DurationIn(100, DAY),
            default: Is("5s"),
            doc: "No answer within this is none.",
        },
    ],
};
