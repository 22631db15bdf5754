//! Every knob of `ostler.yaml`.

use super::{DAY, MANY};
use crate::knob::{Default::*, Kind::*, Knob, Table, Tag};

pub(crate) const ROOT: Table = Table {
    title: "ostler.yaml",
    doc: "The general form: any number of workloads and providers.",
    knobs: &[
        Knob {
            name: "workloads",
            kind: Tagged(&WORKLOADS),
            default: Required,
            doc: "What asks for capacity, by a name of your choice.",
        },
        Knob {
            name: "providers",
            kind: Tagged(&PROVIDERS),
            default: Absent("none"),
            doc: "Where machines come from, by a name of your choice.",
        },
        Knob {
            name: "store",
            kind: Section(&STORE),
            default: Absent("defaults"),
            doc: "What is kept, and where.",
        },
        Knob {
            name: "api",
            kind: Section(&API),
            default: Absent("defaults"),
            doc: "The HTTP API for status, health and metrics.",
        },
        Knob {
            name: "deadlines",
            kind: Section(&DEADLINES),
            default: Absent("defaults"),
            doc: "How long a call may take before it counts as failed.",
        },
    ],
};

pub(crate) const WORKLOADS: Tag = Tag {
    key: "kind",
    variants: &[
        ("kubernetes", &super::kubernetes::KUBERNETES),
        ("polars", &super::polars::POLARS),
        ("ray", &RAY),
    ],
    absent: &[],
};

pub(crate) const PROVIDERS: Tag = Tag {
    key: "type",
    variants: &[
        ("externalgrpc", &super::kubernetes::EXTERNALGRPC),
        ("kwok", &super::kubernetes::KWOK),
        ("local", &LOCAL),
    ],
    absent: &["aws", "azure", "gcp", "kubernetes", "kuberay", "script", "slurm", "ssh", "webhook"],
};

pub(crate) const RAY: Table = Table {
    title: "workloads.NAME (kind: ray)",
    doc: "A Ray cluster.",
    knobs: &[
        Knob {
            name: "address",
            kind: Address,
            default: Absent("`RAY_ADDRESS`, else `127.0.0.1:6379`"),
            doc: "`HOST:PORT` of the cluster's GCS.",
        },
        Knob {
            name: "auth",
            kind: Section(&AUTH),
            default: Absent("defaults"),
            doc: "How Ostler proves to Ray who it is.",
        },
        Knob {
            name: "poll_interval",
            kind: DurationIn(100, DAY),
            default: Is("1s"),
            doc: "Time between two observations when nothing changes; sooner after a change. Ray's own autoscaler takes 5 s.",
        },
        Knob {
            name: "cluster_yaml",
            kind: Text,
            default: Absent("`policy` and `pools` are given here"),
            doc: "A cluster file of Ray, relative to this file, that says policy, pools and provider in place of `policy` and `pools`.",
        },
        Knob {
            name: "policy",
            kind: Section(&POLICY),
            default: Absent("defaults"),
            doc: "How the workload wants to be scaled.",
        },
        Knob {
            name: "pools",
            kind: Named(&POOL),
            default: Absent("none"),
            doc: "The kinds of machine that it may have, by a name of your choice (Ray: node types).",
        },
    ],
};

pub(crate) const AUTH: Table = Table {
    title: "workloads.NAME.auth",
    doc: "The token is never in the configuration, only the place where it is.",
    knobs: &[
        Knob {
            name: "mode",
            kind: Choice(&["auto", "none", "token"]),
            default: Is("auto"),
            doc: "`token` sends one and fails without; `none` sends none; `auto` does as Ray itself: by `RAY_AUTH_MODE` if it is set, else with a token if there is one.",
        },
        Knob {
            name: "token_file",
            kind: Text,
            default: Absent("`RAY_AUTH_TOKEN`, `RAY_AUTH_TOKEN_PATH`, else `~/.ray/auth_token`"),
            doc: "File with the token, relative to this file.",
        },
    ],
};

pub(crate) const POLICY: Table = Table {
    title: "workloads.NAME.policy",
    doc: "How a workload wants to be scaled.",
    knobs: &[
        Knob {
            name: "scoring",
            kind: Choice(&["ray", "ray-exact"]),
            default: Is("ray"),
            doc: "How options are compared: `ray` is Ray's documented scoring with its oddities repaired, `ray-exact` decides as Ray 2.60.0 does.",
        },
        Knob {
            name: "head_pool",
            kind: Text,
            default: Absent("the workload has no head"),
            doc: "The pool of the head: nothing is launched or removed before a head runs.",
        },
        Knob {
            name: "max_workers",
            kind: Count(MANY),
            default: Absent("no limit"),
            doc: "Workers that exist at most over all pools.",
        },
        Knob {
            name: "idle_timeout",
            kind: DurationOrNever,
            default: Is("5min"),
            doc: "A node that has been idle for longer is removed.",
        },
        Knob {
            name: "pending_idle_timeout",
            kind: DurationOrNever,
            default: Is("never"),
            doc: "A machine on its way that nothing has needed for longer is withdrawn.",
        },
        Knob {
            name: "upscaling_speed",
            kind: Factor,
            default: Is("1.0"),
            doc: "Launches of one pool in one pass: this times the running ones, at least one. In hundredths at the finest.",
        },
        Knob {
            name: "max_concurrent_launches",
            kind: Count(MANY),
            default: Is("10"),
            doc: "Launches under way at most, over all pools.",
        },
        Knob {
            name: "replace_outdated",
            kind: Flag,
            default: Is("false"),
            doc: "Replace machines that were made from another launch configuration than the pool's of now.",
        },
        Knob {
            name: "conserve_gpu",
            kind: Flag,
            default: Is("true"),
            doc: "Take machines with GPUs last for demand that asks for none.",
        },
        Knob {
            name: "availability_recovery",
            kind: Duration,
            default: Is("10min"),
            doc: "After a pool's machines did not come, trust in it grows back from none to full over this time.",
        },
        Knob {
            name: "launch_backoff",
            kind: Duration,
            default: Is("30s"),
            doc: "A pool that refused a launch, or whose machines ended by themselves before they had been up for this long, is not asked again for this long, doubled with each in a row.",
        },
        Knob {
            name: "launch_backoff_max",
            kind: Duration,
            default: Is("10min"),
            doc: "The longest that `launch_backoff` grows to.",
        },
        Knob {
            name: "drain_grace",
            kind: Duration,
            default: Is("10min"),
            doc: "How long the work on a busy node has to leave when the node must go for a bound or a new configuration.",
        },
        Knob {
            name: "timeouts",
            kind: Section(&TIMEOUTS),
            default: Absent("defaults"),
            doc: "When a record that does not move on is helped along.",
        },
    ],
};

pub(crate) const TIMEOUTS: Table = Table {
    title: "workloads.NAME.policy.timeouts",
    doc: "How long a record may stay in a state. The defaults are Ray's, where it has such a timeout.",
    knobs: &[
        Knob {
            name: "request",
            kind: Duration,
            default: Is("10min"),
            doc: "Requested: the launch is asked again, or given up after `request_retries`.",
        },
        Knob {
            name: "request_retries",
            kind: Count(1000),
            default: Is("3"),
            doc: "Times that a launch is asked again.",
        },
        Knob {
            name: "allocate",
            kind: Duration,
            default: Is("1h"),
            doc: "Allocated: the machine exists and its node never came.",
        },
        Knob { name: "install", kind: Duration, default: Is("30min"), doc: "Installing." },
        Knob {
            name: "drain_request",
            kind: Duration,
            default: Is("5min"),
            doc: "DrainRequested: the node goes back to work.",
        },
        Knob { name: "terminate", kind: Duration, default: Is("5min"), doc: "Terminating: asked again." },
        Knob {
            name: "node_missing",
            kind: Duration,
            default: Is("10s"),
            doc: "A node that the workload no longer lists is given up, so that a restarted control plane has time to hear of its nodes again. Ray waits for nothing.",
        },
        Knob {
            name: "warn",
            kind: Duration,
            default: Is("90s"),
            doc: "Any other state on the way: a warning only.",
        },
    ],
};

pub(crate) const POOL: Table = Table {
    title: "workloads.NAME.pools.POOL",
    doc: "Machines of one kind.",
    knobs: &[
        Knob { name: "provider", kind: Text, default: Required, doc: "One of `providers`." },
        Knob {
            name: "resources",
            kind: Amounts,
            default: Required,
            doc: "Capacity of each machine: at most four digits after the point, bytes also as `8GiB`.",
        },
        Knob { name: "labels", kind: Pairs, default: Absent("none"), doc: "Labels of each machine." },
        Knob { name: "min", kind: Count(MANY), default: Is("0"), doc: "Workers that exist at least." },
        Knob {
            name: "max",
            kind: Count(MANY),
            default: Required,
            doc: "Workers that exist at most; the head does not count.",
        },
        Knob {
            name: "idle_timeout",
            kind: DurationOrNever,
            default: Absent("the policy's"),
            doc: "A node of this pool that has been idle for longer is removed.",
        },
        Knob {
            name: "priority",
            kind: Integer,
            default: Is("0"),
            doc: "Among options of equal fit and availability the higher one wins.",
        },
        Knob {
            name: "instance_type",
            kind: Text,
            default: Absent("none"),
            doc: "The provider's machine type, for reports to the workload.",
        },
        Knob {
            name: "template",
            kind: Free,
            default: Absent("the provider's"),
            doc: "How the provider makes such a machine; its keys are the provider's.",
        },
    ],
};

pub(crate) const LOCAL: Table = Table {
    title: "providers.NAME (type: local)",
    doc: "A machine is a process group on this host.",
    knobs: &[
        Knob {
            name: "command",
            kind: Command,
            default: Absent("every pool has its own in its template"),
            doc: "What starts a machine: a text for `/bin/sh -c`, or a list of words without a shell. It stays in the foreground as long as the machine lives.",
        },
        Knob {
            name: "environment",
            kind: Variables,
            default: Absent("none"),
            doc: "Variables that are added to each machine's environment.",
        },
        Knob {
            name: "stop_grace",
            kind: DurationIn(0, DAY),
            default: Is("10s"),
            doc: "From the polite signal (TERM) to the hard one (KILL).",
        },
        Knob {
            name: "state_dir",
            kind: Text,
            default: Absent("`STORE-NAME` beside the store STORE`.db`"),
            doc: "Where it notes its machines and their output, relative to this file.",
        },
        Knob {
            name: "max_machines",
            kind: Count(100_000),
            default: Is("64"),
            doc: "Machines that may exist at most, whatever pools ask for.",
        },
    ],
};

pub(crate) const LOCAL_TEMPLATE: Table = Table {
    title: "workloads.NAME.pools.POOL.template (provider type: local)",
    doc: "In Ray's file the same keys stand in `node_config`.",
    knobs: &[
        Knob {
            name: "command",
            kind: Command,
            default: Absent("the provider's"),
            doc: "What starts a machine of this pool.",
        },
        Knob {
            name: "environment",
            kind: Variables,
            default: Absent("none"),
            doc: "Variables that are added to the provider's.",
        },
    ],
};

pub(crate) const STORE: Table = Table {
    title: "store",
    doc: "One SQLite file.",
    knobs: &[
        Knob {
            name: "path",
            kind: Text,
            default: Absent(
                "`ostler/NAME.db` in `XDG_STATE_HOME`, else in `~/.local/state`; NAME is the file's without its ending, or Ray's `cluster_name`",
            ),
            doc: "The file, relative to this file.",
        },
        Knob {
            name: "journal_entries",
            kind: Count(10_000_000),
            default: Is("100000"),
            doc: "Entries of the journal that are kept; the oldest go first.",
        },
        Knob {
            name: "lease",
            kind: DurationIn(1000, DAY),
            default: Is("15s"),
            doc: "How long a holder on another host is believed to live without a word. One that died on this host is replaced at once.",
        },
    ],
};

pub(crate) const API: Table = Table {
    title: "api",
    doc: "Loopback by default; for other hosts a token is needed.",
    knobs: &[
        Knob {
            name: "listen",
            kind: Address,
            default: Is("127.0.0.1:8270"),
            doc: "`IP:PORT` where it listens; port 0 takes a free one.",
        },
        Knob {
            name: "token_file",
            kind: Text,
            default: Absent("no token, so loopback only"),
            doc: "File with the token that callers must send, relative to this file.",
        },
    ],
};

pub(crate) const DEADLINES: Table = Table {
    title: "deadlines",
    doc: "How long a call may take before it counts as failed.",
    knobs: &[
        Knob { name: "observe", kind: DurationIn(100, DAY), default: Is("5s"), doc: "Observing a workload." },
        Knob {
            name: "publish",
            kind: DurationIn(100, DAY),
            default: Is("5s"),
            doc: "Reporting to a workload.",
        },
        Knob {
            name: "drain",
            kind: DurationIn(100, DAY),
            default: Is("10s"),
            doc: "Asking a workload to drain a node.",
        },
        Knob {
            name: "list",
            kind: DurationIn(100, DAY),
            default: Is("10s"),
            doc: "Listing a provider's machines.",
        },
        Knob {
            name: "launch",
            kind: DurationIn(100, DAY),
            default: Is("60s"),
            doc: "Launching one machine.",
        },
        Knob {
            name: "terminate",
            kind: DurationIn(100, DAY),
            default: Is("60s"),
            doc: "Terminating one machine.",
        },
    ],
};
