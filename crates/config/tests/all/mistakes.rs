//! All mistakes at once, each with its place, a code and a hint.

use crate::common::{check, general, ray_in};
use expect_test::expect;

#[test]
fn many_mistakes_in_rays_file_are_told_at_once() {
    let text = r#"
cluster_name: 12
max_worker: 5
idle_timeout_minutes: -1
upscaling_speed: fast
provider:
  type: ostler-local
  comand: ray start
  stop_grace_s: yes
available_node_types:
  head:
    resources: {CPU: 0}
  "bad/name":
    resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
    min_workers: 5
    max_workers: 2
    labels: {zone: 1, tier: a}
  gpu:
    resources: {GPU: 1}
    max_workers: 1.5
    priority: 99999999999
    node_config:
      comand: x
head_node_type: heat
cluster_name: again
"#;
    check(
        ray_in(text, &[]),
        expect![[r#"
            warning: `max_workers` is not said, so Ray's default of 2 holds for all together [OSTLER-C031]
             --> cluster.yaml:2:1
            2 | cluster_name: 12
              | ^
             hint: say `max_workers`

            warning: `max_workers` is 2, the minimums of all pools together are 5 [OSTLER-C030]
             --> cluster.yaml:2:1
            2 | cluster_name: 12
              | ^
             hint: not all minimums can be kept

            error: `cluster_name`: expected a text, found a whole number [OSTLER-C013]
             --> cluster.yaml:2:15
            2 | cluster_name: 12
              |               ^^
             hint: put it in quotes if it is meant as a text

            error: unknown key `max_worker` [OSTLER-C010]
             --> cluster.yaml:3:1
            3 | max_worker: 5
              | ^^^^^^^^^^
             hint: did you mean `max_workers`?

            error: `idle_timeout_minutes`: this number is negative, too large, or none [OSTLER-C014]
             --> cluster.yaml:4:23
            4 | idle_timeout_minutes: -1
              |                       ^^
             hint: it goes from 0 to 53333333

            error: `upscaling_speed`: expected a number of at least 0, found a text [OSTLER-C013]
             --> cluster.yaml:5:18
            5 | upscaling_speed: fast
              |                  ^^^^

            error: `provider`: unknown key `comand` [OSTLER-C010]
             --> cluster.yaml:8:3
            8 |   comand: ray start
              |   ^^^^^^
             hint: did you mean `command`?

            error: `provider.stop_grace_s`: expected a number of seconds, found true or false [OSTLER-C013]
             --> cluster.yaml:9:17
            9 |   stop_grace_s: yes
              |                 ^^^

            error: `available_node_types.head.node_config.command` is missing, and its provider has no `command` either [OSTLER-C012]
              --> cluster.yaml:11:3
            11 |   head:
               |   ^^^^
             hint: say what starts a machine, in one of the two places

            error: `available_node_types.bad/name`: this is no name [OSTLER-C015]
              --> cluster.yaml:13:3
            13 |   "bad/name":
               |   ^^^^^^^^^^
             hint: use anything but `/` and line breaks, at most 200 bytes

            error: `available_node_types.bad/name.node_config.command` is missing, and its provider has no `command` either [OSTLER-C012]
              --> cluster.yaml:13:3
            13 |   "bad/name":
               |   ^^^^^^^^^^
             hint: say what starts a machine, in one of the two places

            error: `available_node_types.bad/name.resources`: `CPU`: -2 is no amount [OSTLER-C014]
              --> cluster.yaml:14:22
            14 |     resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
               |                      ^^
             hint: it goes from 0 to 10^18

            error: `available_node_types.bad/name.resources`: `GPU`: `.nan` is no amount [OSTLER-C015]
              --> cluster.yaml:14:31
            14 |     resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
               |                               ^^^^
             hint: write a number with at most four digits after the point

            error: `available_node_types.bad/name.resources`: `memory`: `0.00001` is no amount [OSTLER-C015]
              --> cluster.yaml:14:45
            14 |     resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
               |                                             ^^^^^^^
             hint: write a number with at most four digits after the point

            error: `available_node_types.bad/name.resources`: `TPU`: `some` is no amount [OSTLER-C015]
              --> cluster.yaml:14:59
            14 |     resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
               |                                                           ^^^^
             hint: write a number; also `500m`, and for bytes `512MiB` or `8Gi`

            error: `available_node_types.bad/name.resources`: `FPGA`: expected an amount, found a list [OSTLER-C013]
              --> cluster.yaml:14:71
            14 |     resources: {CPU: -2, GPU: .nan, memory: 0.00001, TPU: some, FPGA: [1]}
               |                                                                       ^

            error: `available_node_types.bad/name.min_workers` is 5, `max_workers` is 2 [OSTLER-C020]
              --> cluster.yaml:15:18
            15 |     min_workers: 5
               |                  ^
             hint: raise the one or lower the other

            error: `available_node_types.bad/name.labels`: `zone`: expected a text, found a whole number [OSTLER-C013]
              --> cluster.yaml:17:20
            17 |     labels: {zone: 1, tier: a}
               |                    ^
             hint: put it in quotes if it is meant as a text

            error: `available_node_types.gpu.node_config.command` is missing, and its provider has no `command` either [OSTLER-C012]
              --> cluster.yaml:18:3
            18 |   gpu:
               |   ^^^
             hint: say what starts a machine, in one of the two places

            error: `available_node_types.gpu.max_workers`: expected a whole number of at least 0, found a number with a point [OSTLER-C013]
              --> cluster.yaml:20:18
            20 |     max_workers: 1.5
               |                  ^^^

            error: `available_node_types.gpu.priority`: 99999999999 is too large [OSTLER-C014]
              --> cluster.yaml:21:15
            21 |     priority: 99999999999
               |               ^^^^^^^^^^^
             hint: it goes from -2147483648 to 2147483647

            error: `available_node_types.gpu.node_config`: unknown key `comand` [OSTLER-C010]
              --> cluster.yaml:23:7
            23 |       comand: x
               |       ^^^^^^
             hint: did you mean `command`?

            error: `head_node_type`: there is no node type `heat` [OSTLER-C021]
              --> cluster.yaml:24:17
            24 | head_node_type: heat
               |                 ^^^^
             hint: did you mean `head`?

            error: `cluster_name` is here a second time, first in line 2 [OSTLER-C011]
              --> cluster.yaml:25:1
            25 | cluster_name: again
               | ^^^^^^^^^^^^
             hint: keep one of them

            22 errors, 2 warnings"#]],
    );
}

#[test]
fn many_mistakes_in_ostler_yaml_are_told_at_once() {
    let text = r#"
workloads:
  main:
    kind: ray
    address: 6379
    poll_interval: 10
    auth: {mode: tokn}
    policy:
      head_pool: heads
      idle_timeout: 5 fortnights
      pending_idle_timeout: 0.0001s
      scoring: best
      max_workers: 1
    pools:
      head: {provider: here, resources: {CPU: 1}, max: 1, min: 2}
      cpu:
        provider: hier
        resources: [CPU]
      gpu: 4
  web: {kind: kubernetes}
  etl: {kind: airflow}
  odd: {address: 127.0.0.1:1}
providers:
  here:
    type: local
    command: []
    stop_grace: 10y
    environment: {"A=B": c}
  cloud: {type: aws, region: somewhere}
store: {path: "", journal_entries: -1}
api: {listen: "example.org:80"}
deadlines: {observe: 1ms}
extra: 1
"#;
    check(
        general(text),
        expect![[r#"
            error: `workloads.main.address`: expected `HOST:PORT`, found a whole number [OSTLER-C013]
             --> ostler.yaml:5:14
            5 |     address: 6379
              |              ^^^^

            error: `workloads.main.poll_interval`: `10` has no unit [OSTLER-C015]
             --> ostler.yaml:6:20
            6 |     poll_interval: 10
              |                    ^^
             hint: write `10s` for seconds; there is `ms`, `s`, `min`, `h` and `d`

            error: `workloads.main.auth.mode`: `tokn` is not known [OSTLER-C016]
             --> ostler.yaml:7:18
            7 |     auth: {mode: tokn}
              |                  ^^^^
             hint: did you mean `token`?

            error: `workloads.main.policy.head_pool`: there is no pool `heads` [OSTLER-C021]
             --> ostler.yaml:9:18
            9 |       head_pool: heads
              |                  ^^^^^
             hint: did you mean `head`?

            error: `workloads.main.policy.idle_timeout`: `5 fortnights` is not a length of time [OSTLER-C015]
              --> ostler.yaml:10:21
            10 |       idle_timeout: 5 fortnights
               |                     ^^^^^^^^^^^^
             hint: write a number and its unit, such as `500ms`, `30s`, `5min`, `1h30m` or `1d`

            error: `workloads.main.policy.pending_idle_timeout`: `0.0001s` is finer than a millisecond [OSTLER-C015]
              --> ostler.yaml:11:29
            11 |       pending_idle_timeout: 0.0001s
               |                             ^^^^^^^

            error: `workloads.main.policy.scoring`: `best` is not known [OSTLER-C016]
              --> ostler.yaml:12:16
            12 |       scoring: best
               |                ^^^^
             hint: there is `ray`, `ray-exact`

            warning: `workloads.main.policy.max_workers` is 1, the minimums of all pools together are 2 [OSTLER-C030]
              --> ostler.yaml:13:20
            13 |       max_workers: 1
               |                    ^
             hint: not all minimums can be kept

            error: `workloads.main.pools.head.min` is 2, `max` is 1 [OSTLER-C020]
              --> ostler.yaml:15:64
            15 |       head: {provider: here, resources: {CPU: 1}, max: 1, min: 2}
               |                                                                ^
             hint: raise the one or lower the other

            error: `workloads.main.pools.cpu`: `max` is missing [OSTLER-C012]
              --> ostler.yaml:16:7
            16 |       cpu:
               |       ^^^
             hint: it is a whole number of at least 0: Workers that exist at most; the head does not count.

            error: `workloads.main.pools.cpu.provider`: there is no provider `hier` [OSTLER-C022]
              --> ostler.yaml:17:19
            17 |         provider: hier
               |                   ^^^^
             hint: there is `here`

            error: `workloads.main.pools.cpu.resources`: expected resources and their amounts, found a list [OSTLER-C013]
              --> ostler.yaml:18:20
            18 |         resources: [CPU]
               |                    ^

            error: `workloads.main.pools.gpu`: expected a section, found a whole number [OSTLER-C013]
              --> ostler.yaml:19:12
            19 |       gpu: 4
               |            ^
             hint: write `key: value` below it, indented

            error: `workloads.web`: `pools` is missing [OSTLER-C012]
              --> ostler.yaml:20:3
            20 |   web: {kind: kubernetes}
               |   ^^^
             hint: it is names, and a section for each: The kinds of node that it may have, by a name of your choice.

            error: `workloads.etl.kind`: `airflow` is not known [OSTLER-C016]
              --> ostler.yaml:21:15
            21 |   etl: {kind: airflow}
               |               ^^^^^^^
             hint: there is `kubernetes`, `polars`, `ray`

            error: `workloads.odd`: `kind` is missing [OSTLER-C012]
              --> ostler.yaml:22:3
            22 |   odd: {address: 127.0.0.1:1}
               |   ^^^
             hint: there is `kubernetes`, `polars`, `ray`

            error: `providers.here.command`: this command has no words [OSTLER-C015]
              --> ostler.yaml:26:14
            26 |     command: []
               |              ^

            error: `providers.here.stop_grace`: `10y` is too long [OSTLER-C014]
              --> ostler.yaml:27:17
            27 |     stop_grace: 10y
               |                 ^^^
             hint: it goes from 0 ms to 24 h

            error: `providers.here.environment`: `A=B` cannot be the name of a variable [OSTLER-C015]
              --> ostler.yaml:28:19
            28 |     environment: {"A=B": c}
               |                   ^^^^^
             hint: rename it

            error: `providers.cloud.type`: `aws` is not there yet in this version of Ostler [OSTLER-C023]
              --> ostler.yaml:29:17
            29 |   cloud: {type: aws, region: somewhere}
               |                 ^^^
             hint: there is `externalgrpc`, `kwok`, `local`

            error: `store.path`: this text is empty [OSTLER-C015]
              --> ostler.yaml:30:15
            30 | store: {path: "", journal_entries: -1}
               |               ^^

            error: `store.journal_entries`: -1 is too small [OSTLER-C014]
              --> ostler.yaml:30:36
            30 | store: {path: "", journal_entries: -1}
               |                                    ^^
             hint: it goes from 0 to 10000000

            error: `api.listen`: `example.org:80` has no IP address [OSTLER-C015]
              --> ostler.yaml:31:15
            31 | api: {listen: "example.org:80"}
               |               ^^^^^^^^^^^^^^^^
             hint: write `IP:PORT`, such as `127.0.0.1:8270`

            error: `deadlines.observe`: `1ms` is too short [OSTLER-C014]
              --> ostler.yaml:32:22
            32 | deadlines: {observe: 1ms}
               |                      ^^^
             hint: it goes from 100 ms to 24 h

            error: unknown key `extra` [OSTLER-C010]
              --> ostler.yaml:33:1
            33 | extra: 1
               | ^^^^^
             hint: there is `workloads`, `providers`, `store`, `api`, `deadlines`

            24 errors, 1 warning"#]],
    );
}

#[test]
fn warnings_do_not_stop_us() {
    let text = r#"
cluster_name: c
docker: {image: x}
file_mounts: {}
provider: {type: ostler-local, command: x}
available_node_types:
  w: {resources: {CPU: 1}, min_workers: 3, max_workers: 3}
"#;
    check(
        ray_in(text, &[]),
        expect![[r#"
        warning: `max_workers` is not said, so Ray's default of 2 holds for all together [OSTLER-C031]
         --> cluster.yaml:2:1
        2 | cluster_name: c
          | ^
         hint: say `max_workers`
        warning: `max_workers` is 2, the minimums of all pools together are 3 [OSTLER-C030]
         --> cluster.yaml:2:1
        2 | cluster_name: c
          | ^
         hint: not all minimums can be kept
        warning: `docker` is known to Ray and has no effect here [OSTLER-C032]
         --> cluster.yaml:3:1
        3 | docker: {image: x}
          | ^^^^^^
    "#]],
    );
}

#[test]
fn nothing_to_start_a_machine_with() {
    let text = r#"
cluster_name: c
max_workers: 3
provider: {type: ostler-local}
available_node_types:
  head: {resources: {CPU: 1}}
  w: {resources: {CPU: 1}, node_config: {command: x}}
  v: {resources: {CPU: 1}}
"#;
    check(
        ray_in(text, &[]),
        expect![[r#"
        error: `head_node_type` is missing, and there are several node types [OSTLER-C012]
         --> cluster.yaml:2:1
        2 | cluster_name: c
          | ^
         hint: say which of them the head is

        error: `available_node_types.head.node_config.command` is missing, and its provider has no `command` either [OSTLER-C012]
         --> cluster.yaml:6:3
        6 |   head: {resources: {CPU: 1}}
          |   ^^^^
         hint: say what starts a machine, in one of the two places

        error: `available_node_types.v.node_config.command` is missing, and its provider has no `command` either [OSTLER-C012]
         --> cluster.yaml:8:3
        8 |   v: {resources: {CPU: 1}}
          |   ^
         hint: say what starts a machine, in one of the two places

        3 errors"#]],
    );
}

#[test]
fn a_cluster_file_of_ray_in_ostler_yaml() {
    let workload = |rest: &str| format!("workloads:\n  w:\n    kind: ray\n{rest}");
    check(general(&workload("    cluster_yaml: cluster.yaml\n")), expect![["fine"]]);
    check(
        general(&workload("    cluster_yaml: gone.yaml\n")),
        expect![[r#"
        error: `gone.yaml` cannot be read: no such file [OSTLER-C004]
         --> ostler.yaml:4:19
        4 |     cluster_yaml: gone.yaml
          |                   ^^^^^^^^^

        1 error"#]],
    );
    check(
        general(&workload("    cluster_yaml: bad.yaml\n")),
        expect![[r#"
        error: this is not YAML: while parsing a node, did not find expected node content [OSTLER-C002]
         --> bad.yaml:2:1
         hint: look at this line and the one above it: indentation, a missing `:`, an open quote or bracket

        1 error"#]],
    );
    check(
        general(&workload("    cluster_yaml: cluster.yaml\n    pools: {}\n    policy: {}\n")),
        expect![[r#"
            error: `workloads.w.pools` is given, and `cluster_yaml` too [OSTLER-C024]
             --> ostler.yaml:5:5
            5 |     pools: {}
              |     ^^^^^
             hint: keep one of them

            error: `workloads.w.policy` is given, and `cluster_yaml` too [OSTLER-C024]
             --> ostler.yaml:6:5
            6 |     policy: {}
              |     ^^^^^^
             hint: keep one of them

            2 errors"#]],
    );
}

#[test]
fn an_api_for_all_needs_a_token() {
    let base = "workloads: {}\n";
    check(
        general(&format!("{base}api: {{listen: 0.0.0.0:8270}}\n")),
        expect![[r#"
        error: the API would listen on 0.0.0.0:8270, for other hosts, without a token [OSTLER-C027]
         --> ostler.yaml:2:15
        2 | api: {listen: 0.0.0.0:8270}
          |               ^^^^^^^^^^^^
         hint: say `api.token_file`, or listen on 127.0.0.1

        1 error"#]],
    );
    check(general(&format!("{base}api: {{listen: 0.0.0.0:8270, token_file: t}}\n")), expect![["fine"]]);
    check(general(&format!("{base}api: {{listen: localhost:0}}\n")), expect![["fine"]]);
}
