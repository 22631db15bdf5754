//! The manifests and the chart say the same.

use std::path::Path;

/// Every line of the rules of a file of roles, without its indentation.
fn rules(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let is_rule = |line: &&str| {
        ["- apiGroups:", "resources:", "resourceNames:", "verbs:"].iter().any(|key| line.starts_with(key))
    };
    text.lines().map(str::trim).filter(is_rule).map(str::to_owned).collect()
}

#[test]
fn the_chart_gives_the_rights_of_the_manifest_and_no_more() {
    let plain = rules("deploy/rbac.yaml");
    assert!(plain.len() > 20, "{plain:?}");
    assert_eq!(plain, rules("deploy/helm/ostler/templates/rbac.yaml"));
}
