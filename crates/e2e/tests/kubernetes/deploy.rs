//! The manifests and the chart of `deploy/`, as a real API server takes them.

use ostler_testkit::kube::Lab;
use std::path::PathBuf;
use std::process::Command;

pub(crate) fn manifest(name: &str) -> String {
    project(&format!("deploy/{name}"))
}

fn project(name: &str) -> String {
    format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What Helm makes of the chart, in a file.
fn rendered(folder: &tempfile::TempDir, values: &[&str]) -> PathBuf {
    let built = Command::new(project("tools/helm/build.sh")).output().expect("a shell");
    assert!(built.status.success(), "tools/helm/build.sh: {}", String::from_utf8_lossy(&built.stderr));
    let helm = String::from_utf8(built.stdout).expect("a path");
    let chart = project("deploy/helm/ostler");
    let done = Command::new(helm.trim())
        .args(["template", "ostler", &chart, "--namespace", "ostler"])
        .args(values)
        .output()
        .expect("Helm runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = folder.path().join("rendered.yaml");
    std::fs::write(&file, done.stdout).expect("a file");
    file
}

fn taken(lab: &Lab, arguments: &[&str]) {
    let output = lab.kubectl(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    assert!(!said.contains("Warning"), "{arguments:?}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifests_and_the_chart_are_taken() {
    let lab = Lab::shared().await;
    // The namespace must be there for the others to be tried in.
    taken(lab, &["apply", "--server-side", "-f", &project("deploy/rbac.yaml")]);
    let tried = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f"];
    let try_file = |file: &str| taken(lab, &[&tried[..], &[file]].concat());
    try_file(&project("deploy/ostler.yaml"));
    let folder = tempfile::TempDir::new().expect("a folder");
    let other = ["--set", "persistence.enabled=false,shadow=true,image.pullSecrets[0].name=mine"];
    for values in [&[][..], &other[..]] {
        try_file(rendered(&folder, values).to_str().expect("a path in UTF-8"));
    }
}
