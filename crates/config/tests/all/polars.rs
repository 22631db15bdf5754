//! Polars clusters in `ostler.yaml`.

use expect_test::{Expect, expect};
use ostler_config::{Overrides, PolarsProbeKind, WorkloadKind, load};
use ostler_model::{Millis, Scoring};
use std::path::Path;

const HERE: &str = "
providers:
  here: {type: local, command: exec worker}
";

fn read(text: &str) -> Result<ostler_config::Loaded, ostler_config::Mistakes> {
    let (env, read) = (|_: &str| None, |_: &Path| Err("no files here".to_owned()));
    load(&format!("{text}{HERE}"), Path::new("/etc/ostler.yaml"), &env, &read, &Overrides::default())
}

fn check(text: &str, expected: &Expect) {
    let mistakes = read(text).expect_err("there are mistakes").to_string();
    expected.assert_eq(&mistakes);
}

#[test]
fn ten_lines_are_enough() {
    let loaded = read(
        "
workloads:
  analytics:
    kind: polars
    rest: {listen: '127.0.0.1:4001'}
    ready: {probe: tcp, port: 5051, start_deadline: 2min}
    pools:
      spot: {provider: here, max: 8}
      steady: {provider: here, min: 1, max: 2}
",
    );
    let workload = &loaded.expect("no mistakes").configuration.workloads[0];
    let WorkloadKind::Polars(polars) = &workload.kind else { panic!("a Polars cluster") };
    assert_eq!(polars.probe.kind, PolarsProbeKind::Tcp(5051));
    assert_eq!((polars.max_body_bytes, polars.grpc), (4 << 20, None));
    assert_eq!(workload.policy.scoring, Scoring::Target);
    assert_eq!(workload.policy.timeouts.allocate, Millis::secs(120));
    // A second attempt would be a second worker of the same name.
    assert_eq!(workload.policy.timeouts.request_retries, 0);
    let pools: Vec<_> =
        workload.pools.iter().map(|pool| (pool.pool.id.as_str(), pool.pool.min, pool.pool.max)).collect();
    assert_eq!(pools, [("spot", 0, 8), ("steady", 1, 2)]);
}

#[test]
fn open_to_strangers_only_in_so_many_words() {
    let text = |more: &str| {
        format!(
            "
workloads:
  a:
    kind: polars
    rest: {{listen: '0.0.0.0:4001'}}
    grpc: {{listen: '0.0.0.0:4002'}}
    {more}
    pools: {{w: {{provider: here, max: 8}}}}
"
        )
    };
    check(
        &text("max_workers: 8"),
        &expect![[r#"
            error: `workloads.a.rest` would listen on 0.0.0.0:4001, for other hosts, without any protection [OSTLER-C027]
             --> /etc/ostler.yaml:5:11
            5 |     rest: {listen: '0.0.0.0:4001'}
              |           ^
             hint: say `access` with `networks` or a `token_file`, `tls` with a `client_ca_file`, for REST a `secret_path_file`, or `insecure: true`

            error: `workloads.a.grpc` would listen on 0.0.0.0:4002, for other hosts, without any protection [OSTLER-C027]
             --> /etc/ostler.yaml:6:11
            6 |     grpc: {listen: '0.0.0.0:4002'}
              |           ^
             hint: say `access` with `networks` or a `token_file`, `tls` with a `client_ca_file`, for REST a `secret_path_file`, or `insecure: true`

            2 errors"#]],
    );
    for more in [
        "tls: {certificate_file: c, key_file: k, client_ca_file: ca}",
        "access: {networks: [10.0.0.0/8]}",
        "access: {token_file: t}",
        "access: {insecure: true}",
    ] {
        assert!(read(&text(more)).is_ok(), "{more}");
    }
}

#[test]
fn tls_has_two_files_and_is_the_same_for_all_on_one_address() {
    let text = "
workloads:
  a:
    kind: polars
    rest: {listen: '127.0.0.1:1', path: /a}
    tls: {certificate_file: tls/cert.pem, key_file: /etc/key.pem}
    pools: {w: {provider: here, max: 8}}
";
    let loaded = read(text).expect("no mistakes");
    let WorkloadKind::Polars(polars) = &loaded.configuration.workloads[0].kind else {
        panic!("a Polars cluster")
    };
    let tls = polars.tls.as_ref().expect("it is given");
    assert_eq!(tls.certificate_file, Path::new("/etc/tls/cert.pem"));
    assert_eq!((tls.key_file.as_path(), &tls.client_ca_file), (Path::new("/etc/key.pem"), &None));
    check(
        &format!(
            "{text}
  b:
    kind: polars
    rest: {{listen: '127.0.0.1:1', path: /b}}
    tls: {{certificate_file: cert.pem}}
    pools: {{w: {{provider: here, max: 8}}}}
"
        ),
        &expect![[r#"
            error: `workloads.b.tls`: `key_file` is missing [OSTLER-C012]
              --> /etc/ostler.yaml:12:5
            12 |     tls: {certificate_file: cert.pem}
               |     ^^^
             hint: it is a text: PEM file with its private key, relative to this file.

            error: `workloads.b.tls` is not that of `a`, which has the same address [OSTLER-C024]
              --> /etc/ostler.yaml:12:10
            12 |     tls: {certificate_file: cert.pem}
               |          ^
             hint: give both the same `tls`, or each its own port

            2 errors"#]],
    );
    let plain = text.replace("    tls: {certificate_file: tls/cert.pem, key_file: /etc/key.pem}\n", "");
    let other = plain.replace("workloads:\n", "").replace("  a:", "  b:").replace("/a", "/b");
    check(
        &format!("{text}{other}"),
        &expect![[r#"
        error: `workloads.b.tls` is not that of `a`, which has the same address [OSTLER-C024]
         --> /etc/ostler.yaml:9:3
        9 |   b:
          |   ^
         hint: give both the same `tls`, or each its own port

        1 error"#]],
    );
}

#[test]
fn everything_that_is_wrong_at_once() {
    check(
        "
workloads:
  a:
    kind: polars
    rest: {listen: 'localhost', path: analytics}
    access: {networks: [10.0.0.0/33]}
    ready: {probe: tcp}
    pools: {w: {provider: there, min: 9, max: 8}}
  b:
    kind: polars
    pools: {w: {provider: here, max: 8}}
  c: {kind: polars, grpc: {listen: '127.0.0.1:1'}, pools: {w: {provider: here, max: 8}}}
  d: {kind: polars, grpc: {listen: '127.0.0.1:1'}, pools: {w: {provider: here, max: 8}}}
",
        &expect![[r#"
            error: `workloads.a.rest.listen`: `localhost` is not an address [OSTLER-C015]
             --> /etc/ostler.yaml:5:20
            5 |     rest: {listen: 'localhost', path: analytics}
              |                    ^^^^^^^^^^^
             hint: write `HOST:PORT`, such as `127.0.0.1:6379`

            error: `workloads.a.rest.path`: `analytics` is no path [OSTLER-C015]
             --> /etc/ostler.yaml:5:39
            5 |     rest: {listen: 'localhost', path: analytics}
              |                                       ^^^^^^^^^
             hint: begin with `/`; use letters, digits, `-`, `_`, `.` and `~`

            error: `workloads.a.access.networks`: `10.0.0.0/33` is no network [OSTLER-C015]
             --> /etc/ostler.yaml:6:24
            6 |     access: {networks: [10.0.0.0/33]}
              |                        ^
             hint: write `10.1.0.0/16`, or one address

            error: `workloads.a.ready.port` is missing [OSTLER-C012]
             --> /etc/ostler.yaml:7:20
            7 |     ready: {probe: tcp}
              |                    ^^^
             hint: the probe `tcp` needs it

            error: `workloads.a.pools.w.provider`: there is no provider `there` [OSTLER-C022]
             --> /etc/ostler.yaml:8:27
            8 |     pools: {w: {provider: there, min: 9, max: 8}}
              |                           ^^^^^
             hint: did you mean `here`?

            error: `workloads.a.pools.w.min` is 9, `max` is 8 [OSTLER-C020]
             --> /etc/ostler.yaml:8:39
            8 |     pools: {w: {provider: there, min: 9, max: 8}}
              |                                       ^
             hint: raise the one or lower the other

            error: `workloads.b.rest`: neither `rest` nor `grpc` is given [OSTLER-C012]
             --> /etc/ostler.yaml:9:3
            9 |   b:
              |   ^
             hint: say where the scheduler asks, such as `rest: {listen: 127.0.0.1:4001}`

            error: `workloads.d.grpc` is where `c` is served already [OSTLER-C024]
              --> /etc/ostler.yaml:13:27
            13 |   d: {kind: polars, grpc: {listen: '127.0.0.1:1'}, pools: {w: {provider: here, max: 8}}}
               |                           ^
             hint: give each its own port, or for REST its own `path`

            8 errors"#]],
    );
}
