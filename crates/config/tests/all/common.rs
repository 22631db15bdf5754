//! The harness: text in, text out.

use expect_test::Expect;
use ostler_config::{Loaded, Mistakes, Overrides, load, load_ray};
use std::path::Path;

/// An environment of these variables.
pub(crate) fn env(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    move |name| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

pub(crate) fn ray_in(text: &str, variables: &[(&str, &str)]) -> Result<Loaded, Mistakes> {
    load_ray(text, Path::new("cluster.yaml"), &env(variables), &Overrides::default())
}

pub(crate) fn general(text: &str) -> Result<Loaded, Mistakes> {
    let read = |path: &Path| match path.to_str() {
        Some("cluster.yaml") => Ok(include_str!("../data/minimal.yaml").to_owned()),
        Some("bad.yaml") => Ok("cluster_name: [\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    load(text, Path::new("ostler.yaml"), &env(&[("HOME", "/home/me")]), &read, &Overrides::default())
}

/// What there is to say about a file: its mistakes, its warnings, or `fine`.
pub(crate) fn check(loaded: Result<Loaded, Mistakes>, expected: Expect) {
    let said = match loaded {
        Err(mistakes) => mistakes.to_string(),
        Ok(loaded) if loaded.warnings.is_empty() => "fine".to_owned(),
        Ok(loaded) => loaded.warnings.iter().map(|warning| format!("{warning}\n")).collect(),
    };
    expected.assert_eq(&said);
}
