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

/// Every error of the command line itself, as `docs/reference/cli.md` lists them.
const ERRORS: &[(&str, &str)] = &[
    ("OSTLER-U000", "Called wrongly; the message says how to call it."),
    ("OSTLER-U001", "A file cannot be read."),
    ("OSTLER-U002", "No Ostler answers at the address of the API."),
    ("OSTLER-U003", "The API wants its token, or another one."),
    ("OSTLER-U004", "What answers is not an Ostler of this kind: another program, or another format."),
    ("OSTLER-U005", "There is no store where stores usually are."),
    ("OSTLER-U006", "There are several stores where stores usually are."),
    ("OSTLER-U007", "The recording holds no plan to compare with."),
    ("OSTLER-U008", "The directory holds no recordings."),
    ("OSTLER-U009", "The system refused something, such as to write the result."),
    ("OSTLER-U010", "Nothing has the name that was asked for."),
    ("OSTLER-U011", "The address of the API is not of the form `http://HOST:PORT`."),
];

#[test]
fn the_list_of_errors_is_whole() {
    let sources = [include_str!("exit.rs"), include_str!("explain.rs")];
    let mut found: Vec<&str> =
        sources.iter().flat_map(|source| source.split("OSTLER-").skip(1)).map(|rest| &rest[..4]).collect();
    found.sort_unstable();
    found.dedup();
    let listed: Vec<&str> = ERRORS.iter().map(|(code, _)| &code["OSTLER-".len()..]).collect();
    assert_eq!(found, listed);
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
    page.push_str("\n## Errors\n\nThose of the commands themselves; [errors.md](errors.md) has those of files, stores and workloads.\n\n");
    page.push_str("| code | meaning |\n|---|---|\n");
    for (code, meaning) in ERRORS {
        let _ = writeln!(page, "| `{code}` | {meaning} |");
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
