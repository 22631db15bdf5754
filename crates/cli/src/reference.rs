//! The page about the command line, made from the commands themselves.

use crate::args::Cli;
use clap::{Command, CommandFactory};
use std::fmt::Write;

/// `UPDATE_DOCS=1` writes it.
#[test]
fn the_page_of_commands_is_fresh() {
    let page = page();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == page, "docs/reference/cli.md is stale: run the tests with UPDATE_DOCS=1");
}

fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = String::from(
        "# Command line\n\nGenerated from the code. Results go to stdout, talk to stderr; every error ends with its \
         code.\n\n| exit code | meaning |\n|---|---|\n| 0 | done |\n| 1 | done, and the answer is no: mistakes, \
         differences, nothing found |\n| 2 | called wrongly |\n| 3 | it could not be done |\n",
    );
    for command in root.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let name = command.get_name().to_owned();
        let _ = write!(page, "\n## `ostler {name}`\n\n```text\n{}\n```\n", help(command));
    }
    page
}

/// The long help, without what the environment of this run would put into it.
fn help(command: &mut Command) -> String {
    let quiet = std::mem::take(command).term_width(100).mut_args(|arg| arg.hide_env_values(true));
    *command = quiet;
    let text = command.render_long_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}
