//! The tables as a page of documentation and as a schema for editors.

use crate::knob::{Default, Kind, Knob, Table, Tag};
use crate::mistake::Code;
use crate::table::{kubernetes, ostler, ray};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The JSON schema of `ostler.yaml` (draft 2020-12).
pub fn schema() -> Value {
    let mut schema = section_schema(&ostler::ROOT, None);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Configuration of Ostler");
    schema
}

fn section_schema(table: &Table, tag: Option<(&str, &str)>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    if let Some((key, variant)) = tag {
        properties.insert(key.to_owned(), json!({ "const": variant }));
        required.push(key);
    }
    for knob in table.knobs {
        let mut schema = kind_schema(&knob.kind);
        schema["description"] = json!(knob.doc);
        if let Default::Is(text) = knob.default {
            schema["default"] = default_json(&knob.kind, text);
        }
        properties.insert(knob.name.to_owned(), schema);
        if matches!(knob.default, Default::Required) {
            required.push(knob.name);
        }
    }
    // An empty section (`store:`) is none.
    let kinds = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
    json!({
        "type": kinds,
        "description": table.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn default_json(kind: &Kind, text: &str) -> Value {
    match kind {
        Kind::Flag | Kind::Count(_) | Kind::Integer | Kind::Factor | Kind::Price => {
            serde_json::from_str(text).unwrap_or_default()
        }
        _ => json!(text),
    }
}

fn kind_schema(kind: &Kind) -> Value {
    const DURATION: &str = r"^[0-9]+(\.[0-9]+)? ?(ms|s|min|m|h|d)$";
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    match kind {
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Address => json!({ "type": "string", "pattern": ":[0-9]+$" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Factor | Kind::Price | Kind::NumberOf(..) => json!({ "type": "number", "minimum": 0 }),
        Kind::Duration | Kind::DurationIn(..) => json!({ "type": "string", "pattern": DURATION }),
        Kind::DurationOrNever => {
            json!({ "anyOf": [{ "const": "never" }, { "type": "string", "pattern": DURATION }] })
        }
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Command => json!({ "anyOf": [{ "type": "string", "minLength": 1 }, texts] }),
        Kind::Texts => texts,
        Kind::Pairs | Kind::Variables => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        Kind::Amounts => {
            json!({ "type": "object", "additionalProperties": { "type": ["number", "string"], "minimum": 0 } })
        }
        Kind::Free => json!({}),
        Kind::Section(table) => section_schema(table, None),
        Kind::Named(table) => {
            json!({ "type": "object", "additionalProperties": section_schema(table, None) })
        }
        Kind::Variant(tag) => tag_schema(tag),
        Kind::Tagged(tag) => json!({ "type": "object", "additionalProperties": tag_schema(tag) }),
    }
}

fn tag_schema(tag: &Tag) -> Value {
    let variants = tag.variants.iter().map(|(name, table)| section_schema(table, Some((tag.key, name))));
    json!({ "oneOf": variants.collect::<Vec<_>>() })
}

/// `docs/reference/configuration.md`: every knob with its default, unit and meaning.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Configuration\n\nThis page is made from the tables that the reader uses (`crates/config/src/table`); a \
         test fails when it is stale.\n\nA length of time is written with its unit: `500ms`, `30s`, `5min`, `2h`, \
         `1d`. An unknown key is a mistake. `ostler check FILE` shows all mistakes at once. For editors there is a \
         schema, `docs/reference/ostler.schema.json`.\n",
    );
    page.push_str("\n# ostler.yaml\n");
    for table in tables_of(&ostler::ROOT) {
        write_table(&mut page, table);
    }
    write_table(&mut page, &ostler::LOCAL_TEMPLATE);
    write_table(&mut page, &kubernetes::KWOK_TEMPLATE);
    page.push_str("\n# Ray's own files\n");
    for table in tables_of(&ray::ROOT) {
        write_table(&mut page, table);
    }
    write_variables(&mut page);
    page
}

/// A section and all below it, in the order of their first mention.
fn tables_of(root: &'static Table) -> Vec<&'static Table> {
    let below = |knob: &'static Knob| match knob.kind {
        Kind::Section(table) | Kind::Named(table) => vec![table],
        Kind::Tagged(tag) | Kind::Variant(tag) => tag.variants.iter().map(|variant| variant.1).collect(),
        _ => Vec::new(),
    };
    let rest = root.knobs.iter().flat_map(below).flat_map(tables_of);
    std::iter::once(root).chain(rest).collect()
}

fn write_table(page: &mut String, table: &Table) {
    let rows = table.knobs.iter().map(|knob| {
        let default = match knob.default {
            Default::Required => "**required**".to_owned(),
            Default::Is(text) => format!("`{text}`"),
            Default::Absent(meaning) => meaning.to_owned(),
        };
        format!("| `{}` | {} | {default} | {} |\n", knob.name, knob.kind, knob.doc)
    });
    let head = "| key | value | default | meaning |\n|---|---|---|---|\n";
    page.push_str(&format!("\n## {}\n\n{}\n\n{head}", table.title, table.doc));
    page.extend(rows);
}

fn write_variables(page: &mut String) {
    page.push_str("\n## Environment variables\n\nOf Ray's autoscaler, read together with its cluster file; ");
    page.push_str("`RAY_ADDRESS` and `RAY_AUTH_…` also with `ostler.yaml`.\n\n");
    page.push_str("| variable | default | meaning |\n|---|---|---|\n");
    for variable in ray::VARIABLES {
        writeln!(page, "| `{}` | {} | {} |", variable.name, variable.default, variable.doc)
            .expect("a String takes every text");
    }
}

/// The rows of `docs/reference/errors.md` for mistakes in a configuration.
pub fn error_table() -> String {
    Code::ALL.iter().map(|code| format!("| `{code}` | {} |\n", code.meaning())).collect()
}
