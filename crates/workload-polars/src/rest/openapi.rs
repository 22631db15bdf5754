//! The description of the service: the specification's own, and our error answers.

use serde_json::{Value, json};

/// The specification's document as it is.
const SPECIFICATION: &str = include_str!("openapi.json");

/// Answers that the specification leaves open, by call.
const CONFIG_ERRORS: &[(&str, &str)] = &[
    ("401", "The bearer token is missing or wrong."),
    ("403", "The caller's address may not ask."),
    ("503", "The state has not been read yet."),
];
const SCALE_ERRORS: &[(&str, &str)] = &[
    ("400", "The body is not a JSON object."),
    ("401", "The bearer token is missing or wrong."),
    ("403", "The caller's address may not ask."),
    ("408", "The body did not come in time."),
    (
        "409",
        "Workers would have to go of which the provider cannot spare the protected ones. Nothing has changed.",
    ),
    ("413", "The body is too large."),
    ("415", "The body is not declared as JSON."),
    ("422", "A field is missing or wrong; `field` names it."),
    ("429", "Too many ask at once."),
    ("503", "Nothing could be written. Nothing has changed for all that is known; ask again."),
];

/// The document of a service below this path.
pub(super) fn document(path: &str) -> Value {
    let mut document: Value = serde_json::from_str(SPECIFICATION).expect("the file is JSON, a test reads it");
    document["servers"] = json!([{ "url": if path.is_empty() { "/" } else { path } }]);
    // What the specification says by `format`, in the words of JSON Schema, which does not know that format.
    document["components"]["schemas"]["ScaleToBody"]["properties"]["amount"]["maximum"] = json!(u32::MAX);
    document["components"]["schemas"]["Problem"] = problem();
    for (call, method, errors) in
        [("/scale_config", "get", CONFIG_ERRORS), ("/scale_to", "post", SCALE_ERRORS)]
    {
        let responses = &mut document["paths"][call][method]["responses"];
        for (status, description) in errors {
            responses[*status] = json!({
                "description": description,
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
            });
        }
    }
    document
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "What is wrong (RFC 9457).",
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What is wrong and what to do." },
            "code": { "type": "string", "description": "The stable code." },
            "field": { "type": "string", "description": "The field that it is about." },
        },
        "required": ["type", "title", "status", "detail", "code"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the specification says stands in the document, unchanged.
    #[test]
    fn the_specification_is_whole() {
        fn holds(ours: &Value, theirs: &Value) -> bool {
            match (ours, theirs) {
                (Value::Object(ours), Value::Object(theirs)) => {
                    theirs.iter().all(|(key, value)| ours.get(key).is_some_and(|mine| holds(mine, value)))
                }
                _ => ours == theirs,
            }
        }
        let theirs: Value = serde_json::from_str(SPECIFICATION).expect("JSON");
        let ours = document("/a/b");
        assert!(holds(&ours, &theirs));
        assert_eq!(ours["servers"][0]["url"], "/a/b");
        assert_eq!(document("")["servers"][0]["url"], "/");
    }
}
