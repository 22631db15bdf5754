//! Ray's own files become what Ray makes of them.

use crate::common::{check, ray_in};
use expect_test::{Expect, expect};
use ostler_config::{Configuration, Overrides, ProviderConfig, RayAuth, RayConfig, WorkloadKind, load_ray};
use ostler_model::Scoring;
use std::fmt::Write;
use std::path::Path;

const MINIMAL: &str = include_str!("../data/minimal.yaml");
const MANY: &str = include_str!("../data/many_types.yaml");

/// A configuration as text, without what is at its default.
fn show(configuration: &Configuration) -> String {
    let mut text = String::new();
    for workload in &configuration.workloads {
        let policy = &workload.policy;
        let _ = writeln!(
            text,
            "{} head {:?} max {:?} idle {:?} speed {} % launches {} replace {} gpu last {}",
            workload.id,
            policy.head_pool,
            policy.max_workers,
            policy.idle_timeout,
            policy.upscaling_speed_percent,
            policy.max_concurrent_launches,
            policy.replace_outdated,
            policy.conserve_gpu,
        );
        for config in &workload.pools {
            let pool = &config.pool;
            let _ = writeln!(
                text,
                "  {} of {}: {}; {:?} {}..{} idle {:?} priority {}\n    {}",
                pool.id,
                pool.provider,
                pool.resources,
                pool.labels,
                pool.min,
                pool.max,
                pool.idle_timeout,
                pool.priority,
                config.template,
            );
        }
    }
    for (id, provider) in &configuration.providers {
        let ProviderConfig::Local(local) = provider else { panic!("a local one") };
        let _ = writeln!(text, "{id}: {local:?}");
    }
    let _ = writeln!(text, "store {}", configuration.store.path.display());
    text
}

fn check_read(text: &str, expected: Expect) {
    let loaded = ray_in(text, &[("HOME", "/home/me")]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    expected.assert_eq(&show(&loaded.configuration));
}

#[test]
fn a_small_file_gets_rays_defaults() {
    check_read(
        MINIMAL,
        expect![[r#"
            small head Some("head") max Some(4) idle Some(5 min) speed 100 % launches 10 replace false gpu last true
              head of local: CPU 0; {} 0..0 idle None priority 0
                null
              worker of local: CPU 2; {} 1..4 idle None priority 0
                null
            local: LocalProvider { command: Some(Shell("ray start --address=$RAY_ADDRESS --block")), environment: [], stop_grace: 10 s, state_dir: "/home/me/.local/state/ostler/small-local", max_machines: 64 }
            store /home/me/.local/state/ostler/small.db
        "#]],
    );
}

#[test]
fn many_types_with_merged_sections() {
    check_read(
        MANY,
        expect![[r#"
            vision-team head Some("head.default") max Some(40) idle Some(30 s) speed 250 % launches 10 replace true gpu last true
              head.default of local: nothing; {} 0..0 idle None priority 0
                {}
              cpu.small of local: CPU 4, memory 17179869184; {"ray.io/market-type": "spot", "team": "vision"} 1..20 idle None priority 0
                {}
              cpu.large of local: CPU 32, custom resource 0.25, memory 137438953472; {"ray.io/market-type": "spot", "team": "vision"} 0..20 idle Some(90 s) priority -5
                {}
              gpu of local: CPU 16, GPU 4, accelerator_type:A100 1; {"ray.io/market-type": "spot", "team": "vision"} 1..2 idle None priority 0
                {"command":"exec ray start --address=127.0.0.1:6379 --num-gpus=4 --block","environment":{"CUDA_VISIBLE_DEVICES":""}}
            local: LocalProvider { command: Some(Words(["ray", "start", "--address=127.0.0.1:6379", "--block"])), environment: ["RAY_BACKEND_LOG_LEVEL"], stop_grace: 2.5 s, state_dir: "machines", max_machines: 64 }
            store /home/me/.local/state/ostler/vision-team.db
        "#]],
    );
    check(ray_in(MANY, &[]), expect![["fine"]]);
}

#[test]
fn a_cloud_is_refused_and_nothing_else_is_wrong() {
    check(
        ray_in(include_str!("../data/cloud.yaml"), &[]),
        expect![[r#"
        warning: `docker` is known to Ray and has no effect here [OSTLER-C032]
         --> cluster.yaml:5:1
        5 | docker:
          | ^^^^^^

        error: `provider.type`: `aws` is not there yet in this version of Ostler [OSTLER-C023]
          --> cluster.yaml:12:9
        12 |   type: aws
           |         ^^^
         hint: there is `ostler-local`

        warning: `file_mounts` is known to Ray and has no effect here [OSTLER-C032]
          --> cluster.yaml:38:1
        38 | file_mounts: {"/data": "./data"}
           | ^^^^^^^^^^^

        1 error, 2 warnings"#]],
    );
}

#[test]
fn every_provider_of_ray_is_refused_by_a_code_of_its_own() {
    for name in
        ["local", "aws", "gcp", "azure", "aliyun", "vsphere", "kuberay", "external", "readonly", "spark"]
    {
        let mistakes = ray_in(&MINIMAL.replace("ostler-local", name), &[]).expect_err("refused");
        assert_eq!(mistakes.all[0].code.text(), "OSTLER-C023", "{mistakes}");
    }
}

fn ray_of(variables: &[(&str, &str)]) -> (Configuration, RayConfig) {
    let loaded = ray_in(MINIMAL, variables).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let WorkloadKind::Ray(ray) = loaded.configuration.workloads[0].kind.clone() else {
        panic!("a Ray cluster")
    };
    (loaded.configuration, ray)
}

#[test]
fn rays_variables_are_honoured() {
    let (configuration, ray) = ray_of(&[
        ("AUTOSCALER_UPDATE_INTERVAL_S", "5"),
        ("AUTOSCALER_MAX_CONCURRENT_LAUNCHES", "inf"),
        ("AUTOSCALER_CONSERVE_GPU_NODES", "0"),
        ("RAY_AUTOSCALER_AVAILABILITY_RECOVERY_S", "60"),
        ("RAY_AUTOSCALER_PENDING_NODE_IDLE_TIMEOUT_S", "120"),
        ("RAY_AUTOSCALER_RECONCILE_REQUEST_STATUS_TIMEOUT_S", "1"),
        ("RAY_AUTOSCALER_RECONCILE_MAX_NUM_RETRY_REQUEST_TO_ALLOCATE", "2"),
        ("RAY_AUTOSCALER_RECONCILE_ALLOCATE_STATUS_TIMEOUT_S", "3"),
        ("RAY_AUTOSCALER_RECONCILE_RAY_INSTALL_STATUS_TIMEOUT_S", "4"),
        ("RAY_AUTOSCALER_RECONCILE_RAY_STOP_REQUESTED_STATUS_TIMEOUT_S", "6"),
        ("RAY_AUTOSCALER_RECONCILE_TERMINATING_STATUS_TIMEOUT_S", "7"),
        ("RAY_AUTOSCALER_RECONCILE_TRANSIENT_STATUS_WARN_INTERVAL_S", "8"),
        ("RAY_ADDRESS", "10.0.0.1:6380"),
    ]);
    let policy = &configuration.workloads[0].policy;
    expect![[r#"
        RayConfig { address: "10.0.0.1:6380", auth: None, poll_interval: 5 s }
        Policy {
            scoring: Ray,
            head_pool: Some(
                "head",
            ),
            max_workers: Some(
                4,
            ),
            idle_timeout: Some(
                5 min,
            ),
            pending_idle_timeout: Some(
                2 min,
            ),
            upscaling_speed_percent: 100,
            max_concurrent_launches: 4294967295,
            replace_outdated: false,
            conserve_gpu: false,
            availability_recovery: 1 min,
            launch_backoff: 30 s,
            launch_backoff_max: 10 min,
            drain_grace: 10 min,
            install: false,
            blind_pools: {},
            kube: None,
            timeouts: Timeouts {
                request: 1 s,
                request_retries: 2,
                allocate: 3 s,
                install: 4 s,
                drain_request: 6 s,
                terminate: 7 s,
                node_missing: 10 s,
                warn: 8 s,
            },
        }
    "#]]
    .assert_eq(&format!("{ray:?}\n{policy:#?}\n"));
}

#[test]
fn without_variables_rays_defaults_hold() {
    let (configuration, ray) = ray_of(&[]);
    let mut policy = configuration.workloads[0].policy.clone();
    policy.head_pool = None;
    policy.max_workers = None;
    assert_eq!(policy, ostler_model::Policy::default());
    assert_eq!((ray.address.as_str(), ray.poll_interval.0), ("127.0.0.1:6379", 1000));
}

#[test]
fn wrong_variables_are_mistakes_too() {
    check(
        ray_in(
            MINIMAL,
            &[
                ("AUTOSCALER_UPDATE_INTERVAL_S", "0"),
                ("AUTOSCALER_MAX_CONCURRENT_LAUNCHES", "ten"),
                ("RAY_ADDRESS", "ray://10.0.0.1:10001"),
                ("RAY_AUTH_MODE", "sure"),
            ],
        ),
        expect![[r#"
            error: `AUTOSCALER_MAX_CONCURRENT_LAUNCHES` is `ten`, expected a whole number or `inf` [OSTLER-C026]
             --> environment
             hint: set it right, or unset it

            error: `RAY_ADDRESS` is `ray://10.0.0.1:10001`, an address for Ray clients and not of the GCS [OSTLER-C026]
             --> environment
             hint: give `HOST:PORT` of the GCS, such as `127.0.0.1:6379`

            error: `RAY_AUTH_MODE` is `sure`, expected `token` or `disabled` [OSTLER-C026]
             --> environment
             hint: set it right, or say `auth.mode`

            error: `AUTOSCALER_UPDATE_INTERVAL_S` is 0, expected 1 or more [OSTLER-C026]
             --> environment
             hint: set it right, or unset it

            4 errors"#]],
    );
}

#[test]
fn the_token_is_where_ray_looks_for_it() {
    let home = ("HOME", "/home/me");
    let auth = |variables: &[(&str, &str)]| ray_of(variables).1.auth;
    let default = || "/home/me/.ray/auth_token".into();
    assert_eq!(auth(&[]), RayAuth::None);
    assert_eq!(auth(&[home]), RayAuth::FileIfThere(default()));
    assert_eq!(auth(&[home, ("RAY_AUTH_MODE", "token")]), RayAuth::File(default()));
    assert_eq!(auth(&[home, ("RAY_AUTH_MODE", "disabled"), ("RAY_AUTH_TOKEN", "x")]), RayAuth::None);
    assert_eq!(auth(&[home, ("RAY_AUTH_TOKEN_PATH", "/t")]), RayAuth::File("/t".into()));
    let both = auth(&[("RAY_AUTH_TOKEN", "sesame"), ("RAY_AUTH_TOKEN_PATH", "/t")]);
    assert_eq!(both, RayAuth::Variable("RAY_AUTH_TOKEN".into()));
}

#[test]
fn the_launch_hash_follows_what_makes_a_machine_and_nothing_else() {
    let hash = |text: &str| {
        let loaded = ray_in(text, &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        loaded.configuration.workloads[0].pools[1].pool.launch_hash.clone()
    };
    let first = hash(MINIMAL);
    for (same, with) in [("CPU: 2", "CPU: 3"), ("max_workers: 4", "max_workers: 3"), ("small", "other")] {
        assert_eq!(hash(&MINIMAL.replace(same, with)), first, "{with}");
    }
    let more = |line: &str| hash(&format!("{MINIMAL}{line}\n"));
    assert_eq!(more("head_setup_commands: [x]"), first);
    for changed in [
        hash(&MINIMAL.replace("--block", "--block --verbose")),
        hash(&MINIMAL.replace("min_workers: 1", "node_config: {command: x}")),
        more("setup_commands: [x]"),
        more("worker_setup_commands: [x]"),
        more("worker_start_ray_commands: [x]"),
        more("initialization_commands: [x]"),
    ] {
        assert_ne!(changed, first);
    }
}

#[test]
fn the_command_line_has_the_last_word() {
    let overrides = Overrides {
        address: Some("10.1.1.1:6379".into()),
        store_path: Some("/s/x.db".into()),
        listen: Some("127.0.0.1:0".parse().expect("an address")),
        scoring: Some(Scoring::RayExact),
        ..Overrides::default()
    };
    let env = crate::common::env(&[("RAY_ADDRESS", "10.0.0.1:6380")]);
    let loaded = load_ray(MINIMAL, Path::new("c.yaml"), &env, &overrides).expect("fine");
    let WorkloadKind::Ray(ray) = &loaded.configuration.workloads[0].kind else { panic!("a Ray cluster") };
    assert_eq!(ray.address, "10.1.1.1:6379");
    assert_eq!(loaded.configuration.workloads[0].policy.scoring, Scoring::RayExact);
    assert_eq!(loaded.configuration.store.path, Path::new("/s/x.db"));
    let ProviderConfig::Local(local) = &loaded.configuration.providers["local"] else {
        panic!("a local one")
    };
    assert_eq!(local.state_dir, Path::new("/s/x-local"));

    let open = Overrides { listen: Some("0.0.0.0:80".parse().expect("an address")), ..Overrides::default() };
    check(
        load_ray(MINIMAL, Path::new("c.yaml"), &env, &open),
        expect![[r#"
        error: the API would listen on 0.0.0.0:80, for other hosts, without a token [OSTLER-C027]
         --> command line
         hint: say `api.token_file`, or listen on 127.0.0.1

        1 error"#]],
    );
}

#[test]
fn a_cluster_that_is_only_looked_at_may_have_any_provider() {
    let text = "cluster_name: prod\nmax_workers: 4\nprovider:\n  type: aws\n  region: eu-west-1\nhead_node_type: head\n\
                available_node_types:\n  head:\n    resources: {CPU: 0}\n    node_config: {}\n  w:\n    \
                resources: {CPU: 2}\n    max_workers: 4\n    node_config: {InstanceType: m5.large}\n";
    let load = |look_only| {
        let overrides = Overrides { look_only, ..Overrides::default() };
        ostler_config::load_ray(text, std::path::Path::new("c.yaml"), &|_| None, &overrides)
    };
    assert!(load(false).expect_err("no such provider yet").to_string().contains("not there yet"));
    let looked = load(true).expect("the provider is not looked at").configuration;
    assert_eq!(looked.workloads[0].pools.len(), 2);
    assert!(looked.providers.is_empty());
}
