//! `ostler.yaml`, the general form.

use crate::common::general;
use ostler_config::{Command, ProviderConfig, WorkloadKind};
use ostler_model::{Millis, Policy, Quantity};
use std::path::Path;

const TEXT: &str = r#"
workloads:
  main:
    kind: ray
    address: 127.0.0.1:6379
    policy: {head_pool: head, pending_idle_timeout: 90s, upscaling_speed: 0.25, timeouts: {request: 1.5min}}
    pools:
      head: {provider: here, resources: {CPU: 1}, max: 0}
      cpu:
        provider: here
        resources: {CPU: 4, memory: 8GiB, slots: 0.5}
        labels: {zone: a}
        min: 1
        max: 10
        idle_timeout: never
        template: {environment: {A: b}}
providers:
  here: {type: local, command: [ray, start, --block]}
"#;

#[test]
fn what_is_said_is_taken_and_the_rest_is_default() {
    let configuration = general(TEXT).unwrap_or_else(|mistakes| panic!("{mistakes}")).configuration;
    let workload = &configuration.workloads[0];
    let policy = &workload.policy;
    assert_eq!(policy.pending_idle_timeout, Some(Millis::secs(90)));
    assert_eq!((policy.upscaling_speed_percent, policy.timeouts.request), (25, Millis::secs(90)));
    let pool = &workload.pools[1].pool;
    assert_eq!(pool.resources.get("memory"), Quantity::units(8 << 30));
    assert_eq!(pool.resources.get("slots").to_string(), "0.5");
    assert!(pool.idle_timeout > Some(Millis::secs(86_400 * 365)), "never: {:?}", pool.idle_timeout);
    assert_eq!(workload.pools[1].template, serde_json::json!({"environment": {"A": "b"}}));
    let ProviderConfig::Local(local) = &configuration.providers["here"] else { panic!("a local one") };
    assert_eq!(local.command, Some(Command::Words(vec!["ray".into(), "start".into(), "--block".into()])));
    assert_eq!(local.state_dir, Path::new("/home/me/.local/state/ostler/ostler-here"));
    assert_eq!(configuration.store.path, Path::new("/home/me/.local/state/ostler/ostler.db"));
    assert!(configuration.api.listen.ip().is_loopback());
}

#[test]
fn the_defaults_of_the_tables_are_those_of_the_model() {
    let text = "workloads:\n  w:\n    kind: ray\n";
    let configuration = general(text).unwrap_or_else(|mistakes| panic!("{mistakes}")).configuration;
    let workload = &configuration.workloads[0];
    assert_eq!(workload.policy, Policy::default());
    let WorkloadKind::Ray(ray) = &workload.kind else { panic!("a Ray cluster") };
    assert_eq!(ray.poll_interval, Millis::secs(1));
}

#[test]
fn the_examples_are_fine() {
    for entry in
        std::fs::read_dir("../../examples").expect("examples").map(|entry| entry.expect("an entry").path())
    {
        let text = std::fs::read_to_string(&entry).expect("reads");
        let env = |_: &str| None;
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let none = ostler_config::Overrides::default();
        let loaded = match text.contains("cluster_name:") {
            true => ostler_config::load_ray(&text, &entry, &env, &none),
            false => ostler_config::load(&text, &entry, &env, &read, &none),
        };
        let loaded = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(loaded.warnings, [], "{}", entry.display());
    }
}
