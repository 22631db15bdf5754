//! What is made from the tables is fresh. `UPDATE_EXPECT=1 cargo test -p ostler-config` makes it anew.

use expect_test::expect_file;
use ostler_config::{Code, error_table, reference_page, schema};

#[test]
fn the_page_of_all_knobs_is_fresh() {
    expect_file!["../../../../docs/reference/configuration.md"].assert_eq(&reference_page());
}

#[test]
fn the_schema_for_editors_is_fresh() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    expect_file!["../../../../docs/reference/ostler.schema.json"].assert_eq(&text);
}

#[test]
fn the_page_of_errors_has_every_code_of_a_configuration() {
    let page = std::fs::read_to_string("../../docs/reference/errors.md").expect("the page is there");
    assert!(page.contains(&error_table()), "put this into docs/reference/errors.md:\n{}", error_table());
}

#[test]
fn codes_are_unique() {
    let mut texts: Vec<_> = Code::ALL.iter().map(|code| code.text()).collect();
    texts.dedup();
    assert_eq!(texts.len(), Code::ALL.len());
}
