//! The pages that speak of this crate are in step with it.

use std::fs;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Every Rust source of the workspace's crates, as one text.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// The page maps every line to tests by name, or says why not; the names are those of tests that are there.
#[test]
fn ray_behaviours_names_tests_that_exist() {
    let page = fs::read_to_string(docs().join("ray-behaviours.md")).expect("docs/ray-behaviours.md");
    let mut code = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut code);
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for number in 1..=103 {
        let cell = format!("| {number} |");
        assert_eq!(rows.iter().filter(|row| row.starts_with(&cell)).count(), 1, "line {number}");
    }
    let mut named = 0;
    for test in page.split('`').skip(1).step_by(2).filter(|word| is_test_name(word)) {
        assert!(
            code.contains(&format!("fn {test}(")),
            "docs/ray-behaviours.md names {test}, which is no test"
        );
        named += 1;
    }
    assert!(named > 90, "only {named} tests are named");
}

/// Tests are named by sentences or by the line that they show.
fn is_test_name(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    plain && word.matches('_').count() >= 3
}

/// `UPDATE_DOCS=1` writes the page.
#[test]
fn reasons_page_is_current() {
    let page = docs().join("reference/reasons.md");
    let text = reasons();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(docs().join("reference")).expect("a folder");
        fs::write(&page, &text).expect("docs/reference/reasons.md");
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
    assert!(found == text, "docs/reference/reasons.md is stale: run this test with UPDATE_DOCS=1");
}

fn reasons() -> String {
    let mut page = String::from(
        "# Reasons\n\nEvery launch, removal, refusal and wait has one of these codes. `ostler explain` and \
         `ostler journal` show them.\n\nThis page is generated from `ostler_planner::REASONS`; \
         `UPDATE_DOCS=1 cargo test -p ostler-planner` writes it.\n\n| code | what it means | what to do |\n\
         |---|---|---|\n",
    );
    for reason in ostler_planner::REASONS {
        page += &format!("| `{}` | {} | {} |\n", reason.code, reason.meaning, reason.advice);
    }
    page
}

#[test]
fn codes_are_told_apart() {
    let mut codes: Vec<&str> = ostler_planner::REASONS.iter().map(|reason| reason.code).collect();
    codes.sort_unstable();
    let all = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), all);
}
