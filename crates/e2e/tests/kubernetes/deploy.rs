//! The manifests of `deploy/`, as a real API server takes them.

use ostler_testkit::kube::Lab;

pub(crate) fn manifest(name: &str) -> String {
    format!("{}/../../deploy/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifests_are_taken() {
    let lab = Lab::shared().await;
    for arguments in [
        ["apply", "--server-side", "-f", &manifest("rbac.yaml")].as_slice(),
        ["apply", "--server-side", "--dry-run=server", "-f", &manifest("ostler.yaml")].as_slice(),
    ] {
        let output = lab.kubectl(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
    }
}
