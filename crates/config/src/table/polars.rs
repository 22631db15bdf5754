//! The knobs of a Polars cluster.

use super::{DAY, MANY};
use crate::knob::{Default::*, Kind::*, Knob, Table};

pub(crate) const POLARS: Table = Table {
    title: "workloads.NAME (kind: polars)",
    doc: "The scaling service of a Polars cluster: point `[scaling.rest]` or `[scaling.grpc]` of its scheduler here.",
    knobs: &[
        Knob {
            name: "rest",
            kind: Section(&REST),
            default: Absent("no REST"),
            doc: "The service over REST.",
        },
        Knob {
            name: "grpc",
            kind: Section(&GRPC),
            default: Absent("no gRPC"),
            doc: "The service over gRPC.",
        },
        Knob {
            name: "tls",
            kind: Section(&TLS),
            default: Absent("plain HTTP"),
            doc: "Serves REST and gRPC by TLS: the scheduler's `uri` begins with `https://`.",
        },
        Knob {
            name: "access",
            kind: Section(&ACCESS),
            default: Absent("this host only"),
            doc: "Who may ask, if the service listens to other hosts.",
        },
        Knob {
            name: "max_body_bytes",
            kind: Count(1 << 30),
            default: Is("4194304"),
            doc: "Bytes of a request at most: a list of the workers to keep may be long.",
        },
        Knob {
            name: "ready",
            kind: Section(&READY),
            default: Absent("defaults"),
            doc: "When a worker counts as available.",
        },
        Knob {
            name: "max_workers",
            kind: Count(MANY),
            default: Absent("the sum of the pools' `max`"),
            doc: "Workers that exist at most over all pools.",
        },
        Knob {
            name: "max_concurrent_launches",
            kind: Count(MANY),
            default: Is("100"),
            doc: "Launches under way at most, over all pools.",
        },
        Knob {
            name: "launch_backoff",
            kind: Duration,
            default: Is("5s"),
            doc: "A pool that refused a launch, or whose worker ended by itself before it had been ready for this long, rests for this long, doubled with each in a row.",
        },
        Knob {
            name: "launch_backoff_max",
            kind: Duration,
            default: Is("1min"),
            doc: "The longest that `launch_backoff` grows to.",
        },
        Knob {
            name: "launch_timeout",
            kind: Duration,
            default: Is("2min"),
            doc: "A launch whose machine is not listed by then is given up and made again.",
        },
        Knob {
            name: "terminate_timeout",
            kind: Duration,
            default: Is("5min"),
            doc: "A machine that is still listed this long after it should end is told again.",
        },
        Knob {
            name: "pools",
            kind: Named(&POOL),
            default: Required,
            doc: "The kinds of machine that it may have, in order of preference, by a name of your choice.",
        },
    ],
};

pub(crate) const REST: Table = Table {
    title: "workloads.NAME.rest (kind: polars)",
    doc: "`uri = \"http://HOST:PORT/PATH\"` in `[scaling.rest]` of the scheduler.",
    knobs: &[
        Knob { name: "listen", kind: Address, default: Required, doc: "`IP:PORT` where it listens." },
        Knob {
            name: "path",
            kind: Text,
            default: Absent("none"),
            doc: "What stands before `/scale_config` and `/scale_to`, such as `/analytics`.",
        },
        Knob {
            name: "secret_path_file",
            kind: Text,
            default: Absent("none"),
            doc: "File with such a path that only the scheduler knows, relative to this file; it protects as a token does.",
        },
    ],
};

pub(crate) const GRPC: Table = Table {
    title: "workloads.NAME.grpc (kind: polars)",
    doc: "`uri = \"http://HOST:PORT\"` in `[scaling.grpc]` of the scheduler.",
    knobs: &[Knob {
        name: "listen",
        kind: Address,
        default: Required,
        doc: "`IP:PORT` where it listens; may be REST's.",
    }],
};

pub(crate) const TLS: Table = Table {
    title: "workloads.NAME.tls (kind: polars)",
    doc: "The files are read again when they change (looked at every 5 s): a renewed certificate needs no restart. Those that are no good are said in the log, and the ones from before stay.",
    knobs: &[
        Knob {
            name: "certificate_file",
            kind: Text,
            default: Required,
            doc: "PEM file with the certificate and those between it and its authority, relative to this file.",
        },
        Knob {
            name: "key_file",
            kind: Text,
            default: Required,
            doc: "PEM file with its private key, relative to this file.",
        },
        Knob {
            name: "client_ca_file",
            kind: Text,
            default: Absent("callers need no certificate"),
            doc: "PEM file with authorities, relative to this file. Callers must show a certificate of one of them (mutual TLS); it protects as a token does.",
        },
    ],
};

pub(crate) const ACCESS: Table = Table {
    title: "workloads.NAME.access (kind: polars)",
    doc: "Loopback needs nothing. For other hosts one of these is needed, a `client_ca_file` under `tls`, or for REST a `secret_path_file`.",
    knobs: &[
        Knob {
            name: "networks",
            kind: Texts,
            default: Absent("any"),
            doc: "Networks whence callers may come, such as `10.1.0.0/16`.",
        },
        Knob {
            name: "token_file",
            kind: Text,
            default: Absent("no token"),
            doc: "File with the token that callers must send as `authorization: Bearer`, relative to this file. The scheduler cannot send one by itself; a proxy before it can.",
        },
        Knob {
            name: "insecure",
            kind: Flag,
            default: Is("false"),
            doc: "Serve other hosts without any of these: whoever reaches the port scales the cluster.",
        },
    ],
};

pub(crate) const READY: Table = Table {
    title: "workloads.NAME.ready (kind: polars)",
    doc: "How a worker shows that it is ready.",
    knobs: &[
        Knob {
            name: "probe",
            kind: Choice(&["running", "tcp", "http", "command"]),
            default: Is("running"),
            doc: "`running`: the provider says so; `tcp`: `port` takes connections; `http`: a GET of `path` on `port` gives a 2xx; `command` ends with 0.",
        },
        Knob {
            name: "port",
            kind: Count(65_535),
            default: Absent("none"),
            doc: "The port that is asked, for `tcp` and `http`.",
        },
        Knob { name: "path", kind: Text, default: Is("/"), doc: "The path that is asked for, for `http`." },
        Knob {
            name: "command",
            kind: Command,
            default: Absent("none"),
            doc: "The program that is run, for `command`; it finds `OSTLER_INSTANCE_ID` and `OSTLER_ADDRESS` in its environment.",
        },
        Knob {
            name: "interval",
            kind: DurationIn(50, DAY),
            default: Is("1s"),
            doc: "Between two probes of one worker; sooner until it is ready for the first time.",
        },
        Knob {
            name: "timeout",
            kind: DurationIn(10, DAY),
            default: Is("1s"),
            doc: "No answer within this is a no.",
        },
        Knob {
            name: "start_deadline",
            kind: Duration,
            default: Is("4min"),
            doc: "A worker that is not ready this long after its machine came is replaced. Less than the scheduler's `scale_up_timeout` (5 min), so that its successor may still be in time.",
        },
        Knob {
            name: "lost_after",
            kind: Duration,
            default: Is("30s"),
            doc: "A worker that was ready and is not any longer for this long is replaced, unless the scheduler wants it kept.",
        },
    ],
};

pub(crate) const POOL: Table = Table {
    title: "workloads.NAME.pools.POOL (kind: polars)",
    doc: "Workers of one kind. The first pool with room gives the next worker; one that is refused lets the others go first.",
    knobs: &[
        Knob { name: "provider", kind: Text, default: Required, doc: "One of `providers`." },
        Knob { name: "min", kind: Count(MANY), default: Is("0"), doc: "Workers that exist at least." },
        Knob { name: "max", kind: Count(MANY), default: Required, doc: "Workers that exist at most." },
        Knob {
            name: "resources",
            kind: Amounts,
            default: Absent("not said"),
            doc: "Capacity of each machine, for providers that need to know it.",
        },
        Knob { name: "labels", kind: Pairs, default: Absent("none"), doc: "Labels of each machine." },
        Knob {
            name: "instance_type",
            kind: Text,
            default: Absent("none"),
            doc: "The provider's machine type.",
        },
        Knob {
            name: "template",
            kind: Free,
            default: Absent("the provider's"),
            doc: "How the provider makes such a machine; its keys are the provider's.",
        },
    ],
};
