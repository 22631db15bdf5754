//! The manifests and the chart say the same.
#![allow(clippy::print_stdout, reason = "what is left out is said")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(file: &str) -> String {
    let path = project().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every line of the rules of a file of roles, without its indentation.
fn rules(file: &str) -> Vec<String> {
    let is_rule = |line: &&str| {
        ["- apiGroups:", "resources:", "resourceNames:", "verbs:"].iter().any(|key| line.starts_with(key))
    };
    text(file).lines().map(str::trim).filter(is_rule).map(str::to_owned).collect()
}

/// As far as can be seen without Helm.
#[test]
fn the_chart_gives_the_rights_of_the_manifest_and_no_more() {
    let plain = rules("deploy/rbac.yaml");
    assert!(plain.len() > 20, "{plain:?}");
    let chart = rules("deploy/helm/ostler/templates/rbac.yaml");
    let chart: Vec<_> = chart.iter().map(|line| line.replace("{{ $leases }}", "[ostler]")).collect();
    assert_eq!(plain, chart);
}

// ---- with Helm, where `make helm` has built it ----

/// Objects by kind and name.
type Objects = BTreeMap<String, Value>;

fn objects(yaml: &str) -> Objects {
    let documents = yaml.split("\n---\n").map(|text| serde_saphyr::from_str::<Value>(text).expect("YAML"));
    let named = documents.filter(|object| !object.is_null()).map(|object| {
        let at = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        (format!("{} {}/{}", at("/kind"), at("/metadata/namespace"), at("/metadata/name")), object)
    });
    named.collect()
}

struct Helm(PathBuf);

impl Helm {
    /// `None`, and a word about it, where it has not been built.
    fn built() -> Option<Self> {
        let asked =
            Command::new(project().join("tools/helm/build.sh")).arg("--where").output().expect("a shell");
        let program = PathBuf::from(String::from_utf8(asked.stdout).expect("a path").trim());
        if !program.exists() {
            println!("left out: Helm is not there; `make helm` builds it");
            return None;
        }
        Some(Self(program))
    }

    fn run(&self, arguments: &[&str], values: Option<&str>) -> Result<String, String> {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("values.yaml");
        std::fs::write(&file, values.unwrap_or("{}")).expect("a file");
        let mut command = Command::new(&self.0);
        command.args(arguments).arg(project().join("deploy/helm/ostler")).arg("--values").arg(&file);
        // Nothing of whoever runs this: neither settings nor a cluster.
        command.env_clear().env("HOME", folder.path());
        let done = command.output().expect("Helm runs");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok(String::from_utf8(done.stdout).expect("text")) } else { Err(said) }
    }

    /// What the chart makes of these values.
    fn renders(&self, namespace: &str, values: Option<&str>) -> Objects {
        let rendered = self.run(&["template", "ostler", "--namespace", namespace], values);
        objects(&rendered.unwrap_or_else(|said| panic!("{said}")))
    }
}

fn configuration(objects: &Objects, at: &str) -> Value {
    serde_saphyr::from_str(objects[at]["data"]["ostler.yaml"].as_str().expect("a text")).expect("YAML")
}

#[test]
fn the_chart_makes_the_objects_of_the_manifests() {
    let Some(helm) = Helm::built() else { return };
    let mut plain = objects(&text("deploy/rbac.yaml"));
    plain.extend(objects(&text("deploy/ostler.yaml")));
    let mut chart = helm.renders("ostler", None);

    let config = "ConfigMap ostler/ostler";
    let mut ours = configuration(&plain, config);
    ours["workloads"]["cluster"]["namespace"] = json!("ostler");
    assert_eq!(configuration(&chart, config), ours, "the namespace is said");
    plain.remove(config);
    chart.remove(config);

    // Helm makes namespaces itself, and marks what belongs to a release.
    assert!(plain.remove("Namespace /ostler").is_some());
    let deployment = chart.get_mut("Deployment ostler/ostler").expect("a Deployment");
    for labels in ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
        let labels = deployment.pointer_mut(labels).and_then(Value::as_object_mut).expect("labels");
        assert_eq!(labels.remove("app.kubernetes.io/instance"), Some(json!("ostler")));
    }
    let annotations =
        deployment["spec"]["template"]["metadata"]["annotations"].as_object_mut().expect("some");
    assert!(annotations.remove("checksum/config").is_some());
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    let version = concat!("ostler:", env!("CARGO_PKG_VERSION"));
    assert_eq!(container["image"], json!(version), "the chart's version is the program's");
    container["image"] = json!("ostler:latest");
    assert!(container.as_object_mut().expect("a container").remove("imagePullPolicy").is_some());

    for (at, object) in &chart {
        assert_eq!(plain.remove(at).as_ref(), Some(object), "{at}");
    }
    assert_eq!(plain, Objects::new(), "the chart leaves nothing out");
}

const VALUES: &str = r#"
shadow: true
image: {repository: registry.example/ostler, tag: "1.2", pullSecrets: [{name: mine}]}
persistence: {enabled: false}
nodeSelector: {role: system}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {}}
volumes: [{name: tls, secret: {secretName: provider}}]
volumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
config: |
  workloads:
    a: {kind: kubernetes, lease: {name: first}, pools: {small: {provider: p, max: 1}}}
    b: {kind: kubernetes, namespace: elsewhere, pools: {large: {provider: p, max: 1}}}
    c: {kind: ray}
  providers: {p: {type: externalgrpc, address: "localhost:1"}}
"#;

#[test]
fn values_are_honoured() {
    let Some(helm) = Helm::built() else { return };
    let chart = helm.renders("mine", Some(VALUES));
    let config = configuration(&chart, "ConfigMap mine/ostler");
    let workloads = &config["workloads"];
    assert_eq!(workloads["a"]["namespace"], json!("mine"), "where its rights are");
    assert_eq!(workloads["b"]["namespace"], json!("elsewhere"));
    assert_eq!(workloads["c"], json!({"kind": "ray"}));
    assert_eq!(workloads.as_object().expect("a map").len(), 3, "nothing of the example is left");

    let pod = &chart["Deployment mine/ostler"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["image"], json!("registry.example/ostler:1.2"));
    let arguments = container["args"].as_array().expect("a list");
    assert_eq!(arguments.last(), Some(&json!("--shadow")));
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "mine"}]));
    assert_eq!(pod["nodeSelector"], json!({"role": "system"}));
    assert_eq!(pod["tolerations"], json!([{"key": "dedicated", "operator": "Exists"}]));
    assert_eq!(pod["affinity"], json!({"nodeAffinity": {}}));
    assert_eq!(pod["volumes"][1], json!({"name": "store", "emptyDir": {}}));
    assert_eq!(pod["volumes"][2], json!({"name": "tls", "secret": {"secretName": "provider"}}));
    assert_eq!(container["volumeMounts"][2], json!({"name": "tls", "mountPath": "/tls", "readOnly": true}));
    assert!(!chart.contains_key("PersistentVolumeClaim mine/ostler"));

    let leases = chart["Role mine/ostler"]["rules"].as_array().expect("rules");
    let leases: Vec<_> = leases.iter().filter_map(|rule| rule.get("resourceNames")).collect();
    assert_eq!(leases, [&json!(["ostler-status"]), &json!(["first"])]);
    assert_eq!(chart["ClusterRoleBinding /ostler"]["subjects"][0]["namespace"], json!("mine"));

    let alone = helm.renders("mine", Some("config: 'workloads: {a: {kind: kubernetes}}'"));
    assert!(!alone["Role mine/ostler"].to_string().contains("leases"), "no right that is not used");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let Some(helm) = Helm::built() else { return };
    for (values, why) in
        [("config: 'a: ['", "config is no YAML"), ("config: 'a: 1'", "config names no workloads")]
    {
        let said = helm.run(&["template", "ostler"], Some(values)).expect_err("it is refused");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn helm_finds_nothing_to_say_against_the_chart() {
    let Some(helm) = Helm::built() else { return };
    for values in [None, Some(VALUES)] {
        helm.run(&["lint", "--strict"], values).unwrap_or_else(|said| panic!("{said}"));
    }
}
