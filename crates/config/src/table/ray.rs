//! Every key of Ray's cluster file (Ray 2.60.0), with the defaults that `ray up` fills in, and Ray's environment
//! variables.

use super::MANY;
use crate::knob::{Default::*, Kind::*, Knob, Table, Tag};

/// Sums with points in time stay far from overflow.
const CENTURY: u64 = 3_200_000_000_000;
const NO_EFFECT: &str = "Known to Ray; has no effect with `ostler-local`.";

pub(crate) const ROOT: Table = Table {
    title: "Ray's cluster file",
    doc: "Read as it is by `ostler run --ray`. Ray's defaults hold.",
    knobs: &[
        Knob {
            name: "cluster_name",
            kind: Text,
            default: Required,
            doc: "Name of the cluster, and of the workload.",
        },
        Knob {
            name: "max_workers",
            kind: Count(MANY),
            default: Is("2"),
            doc: "Workers that exist at most over all node types.",
        },
        Knob {
            name: "upscaling_speed",
            kind: Factor,
            default: Is("1.0"),
            doc: "Launches of one node type in one pass: this times the running ones, at least one.",
        },
        Knob {
            name: "idle_timeout_minutes",
            kind: NumberOf(60_000, "minutes", CENTURY),
            default: Is("5"),
            doc: "A node that has been idle for longer is removed.",
        },
        Knob {
            name: "available_node_types",
            kind: Named(&NODE_TYPE),
            default: Required,
            doc: "The kinds of machine, by name.",
        },
        Knob {
            name: "head_node_type",
            kind: Text,
            default: Absent("the only node type, if there is one only"),
            doc: "The node type of the head.",
        },
        Knob {
            name: "provider",
            kind: Variant(&PROVIDERS),
            default: Required,
            doc: "Where machines come from; `type` says which kind.",
        },
        Knob {
            name: "initialization_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "Not run by `ostler-local`; a change of it makes machines outdated.",
        },
        Knob {
            name: "setup_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "Not run by `ostler-local`; a change of it makes machines outdated.",
        },
        Knob {
            name: "head_setup_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "For `ray up`, which starts the head.",
        },
        Knob {
            name: "worker_setup_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "Not run by `ostler-local`; a change of it makes workers outdated.",
        },
        Knob {
            name: "head_start_ray_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "For `ray up`, which starts the head.",
        },
        Knob {
            name: "worker_start_ray_commands",
            kind: Texts,
            default: Absent("none"),
            doc: "Not run by `ostler-local`; a change of it makes workers outdated.",
        },
        Knob { name: "auth", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "docker", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "file_mounts", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "cluster_synced_files", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "file_mounts_sync_continuously", kind: Free, default: Absent("false"), doc: NO_EFFECT },
        Knob { name: "rsync_exclude", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "rsync_filter", kind: Free, default: Absent("none"), doc: NO_EFFECT },
        Knob { name: "metadata", kind: Free, default: Absent("none"), doc: "The user's own; not read." },
        Knob {
            name: "no_restart",
            kind: Free,
            default: Absent("none"),
            doc: "Set by `ray up` itself; not read.",
        },
        Knob {
            name: "head_node",
            kind: Free,
            default: Absent("none"),
            doc: "Of old versions of Ray; not read.",
        },
        Knob {
            name: "worker_nodes",
            kind: Free,
            default: Absent("none"),
            doc: "Of old versions of Ray; not read.",
        },
        Knob {
            name: "min_workers",
            kind: Free,
            default: Absent("none"),
            doc: "Of old versions of Ray; not read.",
        },
    ],
};

/// Keys that change nothing here: a warning if one has a value.
pub(crate) const WITHOUT_EFFECT: &[&str] =
    &["docker", "file_mounts", "cluster_synced_files", "head_node", "worker_nodes", "min_workers"];

pub(crate) const NODE_TYPE: Table = Table {
    title: "available_node_types.NAME",
    doc: "Machines of one kind.",
    knobs: &[
        Knob { name: "resources", kind: Amounts, default: Required, doc: "Capacity of each machine." },
        Knob { name: "labels", kind: Pairs, default: Absent("none"), doc: "Labels of each machine." },
        Knob {
            name: "min_workers",
            kind: Count(MANY),
            default: Is("0"),
            doc: "Workers that exist at least.",
        },
        Knob {
            name: "max_workers",
            kind: Count(MANY),
            default: Absent("0 for the head's type, else the cluster's `max_workers`"),
            doc: "Workers that exist at most; the head does not count.",
        },
        Knob {
            name: "idle_timeout_s",
            kind: NumberOf(1000, "seconds", CENTURY),
            default: Absent("`idle_timeout_minutes`"),
            doc: "A node of this type that has been idle for longer is removed.",
        },
        Knob {
            name: "priority",
            kind: Integer,
            default: Is("0"),
            doc: "Among options of equal fit and availability the higher one wins.",
        },
        Knob {
            name: "node_config",
            kind: Free,
            default: Absent("the provider's"),
            doc: "How the provider makes such a machine.",
        },
        Knob {
            name: "initialization_commands",
            kind: Texts,
            default: Absent("the cluster's"),
            doc: "Not run by `ostler-local`; a change of it makes machines outdated.",
        },
        Knob {
            name: "worker_setup_commands",
            kind: Texts,
            default: Absent("the cluster's"),
            doc: "Not run by `ostler-local`; a change of it makes workers outdated.",
        },
        Knob { name: "docker", kind: Free, default: Absent("none"), doc: NO_EFFECT },
    ],
};

pub(crate) const PROVIDERS: Tag = Tag {
    key: "type",
    variants: &[("ostler-local", &LOCAL)],
    absent: &[
        "aliyun",
        "aws",
        "azure",
        "external",
        "fake_multinode",
        "fake_multinode_docker",
        "gcp",
        "kuberay",
        "local",
        "readonly",
        "spark",
        "vsphere",
    ],
};

pub(crate) const LOCAL: Table = Table {
    title: "provider (type: ostler-local)",
    doc: "A machine is a process group on this host. (`local` is Ray's word for hosts that it reaches by SSH.)",
    knobs: &[
        Knob {
            name: "command",
            kind: Command,
            default: Absent("every node type has its own in its `node_config`"),
            doc: "What starts a machine: a text for `/bin/sh -c`, or a list of words without a shell. It stays in the foreground as long as the machine lives.",
        },
        Knob {
            name: "environment",
            kind: Variables,
            default: Absent("none"),
            doc: "Variables that are added to each machine's environment.",
        },
        Knob {
            name: "stop_grace_s",
            kind: NumberOf(1000, "seconds", 86_400_000),
            default: Is("10"),
            doc: "From the polite signal (TERM) to the hard one (KILL).",
        },
        Knob {
            name: "state_dir",
            kind: Text,
            default: Absent("`STORE-local` beside the store STORE`.db`"),
            doc: "Where it notes its machines and their output, relative to this file.",
        },
        Knob {
            name: "max_machines",
            kind: Count(100_000),
            default: Is("64"),
            doc: "Machines that may exist at most, whatever node types ask for.",
        },
        Knob {
            name: "disable_launch_config_check",
            kind: Flag,
            default: Is("true"),
            doc: "`false` replaces machines that were made from another launch configuration.",
        },
        Knob {
            name: "disable_node_updaters",
            kind: Flag,
            default: Is("true"),
            doc: "Has no effect: these machines join by themselves.",
        },
    ],
};

/// One environment variable of Ray's autoscaler: a whole number, or `inf`.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) doc: &'static str,
}

pub(crate) const UPDATE_INTERVAL_S: &str = "AUTOSCALER_UPDATE_INTERVAL_S";
pub(crate) const MAX_CONCURRENT_LAUNCHES: &str = "AUTOSCALER_MAX_CONCURRENT_LAUNCHES";
pub(crate) const CONSERVE_GPU_NODES: &str = "AUTOSCALER_CONSERVE_GPU_NODES";
pub(crate) const AVAILABILITY_RECOVERY_S: &str = "RAY_AUTOSCALER_AVAILABILITY_RECOVERY_S";
pub(crate) const PENDING_IDLE_S: &str = "RAY_AUTOSCALER_PENDING_NODE_IDLE_TIMEOUT_S";
pub(crate) const REQUEST_S: &str = "RAY_AUTOSCALER_RECONCILE_REQUEST_STATUS_TIMEOUT_S";
pub(crate) const REQUEST_RETRIES: &str = "RAY_AUTOSCALER_RECONCILE_MAX_NUM_RETRY_REQUEST_TO_ALLOCATE";
pub(crate) const ALLOCATE_S: &str = "RAY_AUTOSCALER_RECONCILE_ALLOCATE_STATUS_TIMEOUT_S";
pub(crate) const INSTALL_S: &str = "RAY_AUTOSCALER_RECONCILE_RAY_INSTALL_STATUS_TIMEOUT_S";
pub(crate) const DRAIN_REQUEST_S: &str = "RAY_AUTOSCALER_RECONCILE_RAY_STOP_REQUESTED_STATUS_TIMEOUT_S";
pub(crate) const TERMINATE_S: &str = "RAY_AUTOSCALER_RECONCILE_TERMINATING_STATUS_TIMEOUT_S";
pub(crate) const WARN_S: &str = "RAY_AUTOSCALER_RECONCILE_TRANSIENT_STATUS_WARN_INTERVAL_S";

pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: UPDATE_INTERVAL_S,
        default: "1 (Ray: 5)",
        doc: "Seconds between two observations when nothing changes.",
    },
    Variable {
        name: MAX_CONCURRENT_LAUNCHES,
        default: "10",
        doc: "Launches under way at most, over all node types.",
    },
    Variable {
        name: CONSERVE_GPU_NODES,
        default: "1",
        doc: "`0`: machines with GPUs are taken like others for demand that asks for none.",
    },
    Variable {
        name: AVAILABILITY_RECOVERY_S,
        default: "600",
        doc: "Seconds in which trust in a node type grows back after its machines did not come.",
    },
    Variable {
        name: PENDING_IDLE_S,
        default: "-1",
        doc: "Seconds after which a machine on its way that nothing needs is withdrawn; negative is never.",
    },
    Variable { name: REQUEST_S, default: "600", doc: "Seconds in Requested." },
    Variable { name: REQUEST_RETRIES, default: "3", doc: "Times that a launch is asked again." },
    Variable { name: ALLOCATE_S, default: "3600", doc: "Seconds in Allocated." },
    Variable { name: INSTALL_S, default: "1800", doc: "Seconds in Installing." },
    Variable { name: DRAIN_REQUEST_S, default: "300", doc: "Seconds in DrainRequested." },
    Variable { name: TERMINATE_S, default: "300", doc: "Seconds in Terminating." },
    Variable { name: WARN_S, default: "90", doc: "Seconds in any other state on the way, until a warning." },
    Variable {
        name: "RAY_ADDRESS",
        default: "127.0.0.1:6379",
        doc: "`HOST:PORT` of the GCS; `auto` is the default.",
    },
    Variable {
        name: "RAY_AUTH_MODE",
        default: "by the token",
        doc: "`token` sends one and fails without, `disabled` sends none; if it is not set, a token is sent if there is one.",
    },
    Variable { name: "RAY_AUTH_TOKEN", default: "none", doc: "The token itself." },
    Variable { name: "RAY_AUTH_TOKEN_PATH", default: "`~/.ray/auth_token`", doc: "File with the token." },
];
