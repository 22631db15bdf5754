//! A request's body, from bytes to a wish; every mistake names its field.

use super::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ostler_model::{InstanceId, Wish};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a body may take to come. The scheduler gives up after five seconds.
const BODY_WITHIN: Duration = Duration::from_secs(5);
/// Longest name that one of our workers can have; a longer one is nobody's.
const NAME_BYTES_MAX: usize = 200;

/// Reads the wish of a request.
pub(super) async fn wish(request: Request<Body>, max_bytes: usize) -> Result<Wish, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::not_json());
    }
    let body = read(request.into_body(), max_bytes).await?;
    let value: Value =
        serde_json::from_slice(&body).map_err(|error| Problem::malformed(&error.to_string()))?;
    match value {
        Value::Object(fields) => from_fields(&fields),
        _ => Err(Problem::malformed("it is another kind of value")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}

async fn read(body: Body, max_bytes: usize) -> Result<Bytes, Problem> {
    let limited = Limited::new(body, max_bytes);
    match tokio::time::timeout(BODY_WITHIN, limited.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::too_large(max_bytes)),
        Ok(Err(error)) => Err(Problem::malformed(&error.to_string())),
        Err(_) => Err(Problem::too_slow()),
    }
}

fn from_fields(fields: &Map<String, Value>) -> Result<Wish, Problem> {
    Ok(Wish {
        amount: amount(fields.get("amount"))?,
        keep: names(fields, "workers_to_keep")?,
        delete: names(fields, "workers_to_delete")?,
    })
}

/// Any whole number of 32 bits, however it is written: JSON has one kind of number.
fn amount(value: Option<&Value>) -> Result<u32, Problem> {
    let wrong = |what: &str| Err(Problem::field("amount", what));
    let number = match value {
        None => return wrong("is missing: give the number of workers in all"),
        Some(Value::Number(number)) => number,
        Some(_) => return wrong("must be a whole number"),
    };
    if let Some(whole) = number.as_u64() {
        return u32::try_from(whole).or_else(|_| wrong("must be at most 4294967295"));
    }
    match number.as_f64() {
        Some(n) if n < 0.0 => wrong("must not be negative"),
        Some(n) if n.fract() != 0.0 => wrong("must be a whole number"),
        Some(n) if n <= f64::from(u32::MAX) => Ok(n as u32),
        _ => wrong("must be at most 4294967295"),
    }
}

/// Absent, `null` and empty all mean nobody.
fn names(fields: &Map<String, Value>, field: &str) -> Result<BTreeSet<InstanceId>, Problem> {
    let list = match fields.get(field) {
        None | Some(Value::Null) => return Ok(BTreeSet::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Problem::field(field, "must be a list of names, or null")),
    };
    let name = |(n, value): (usize, &Value)| match value {
        Value::String(name) => Ok(Some(name.as_str()).filter(|name| is_name(name)).map(InstanceId::from)),
        _ => Err(Problem::field(format!("{field}[{n}]"), "must be a text")),
    };
    list.iter().enumerate().filter_map(|one| name(one).transpose()).collect()
}

/// Can it be the name of a worker of ours? What cannot means nothing.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(body: &str, expected: &Expect) {
        let value: Value = serde_json::from_str(body).expect("the tests write JSON");
        let text = match from_fields(value.as_object().expect("the tests write objects")) {
            Ok(wish) => format!("{} keep {:?} delete {:?}", wish.amount, wish.keep, wish.delete),
            Err(problem) => format!("{problem:?}"),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn the_specifications_example() {
        check(
            r#"{"amount": 6, "workers_to_keep": ["worker-a", "worker-b"], "workers_to_delete": ["worker-c"]}"#,
            &expect![[r#"6 keep {"worker-a", "worker-b"} delete {"worker-c"}"#]],
        );
    }

    #[test]
    fn whole_numbers_of_32_bits_in_any_spelling() {
        for body in
            [r#"{"amount": 3}"#, r#"{"amount": 3.0}"#, r#"{"amount": 0.3e1, "workers_to_keep": null}"#]
        {
            check(body, &expect!["3 keep {} delete {}"]);
        }
        check(r#"{"amount": 4294967295, "more": 1}"#, &expect!["4294967295 keep {} delete {}"]);
        check(r#"{"amount": -0}"#, &expect!["0 keep {} delete {}"]);
    }

    #[test]
    fn every_mistake_names_its_field() {
        let field = |body: &str| match from_fields(&serde_json::from_str(body).expect("JSON")) {
            Err(Problem { .. }) => format!("{:?}", from_fields(&serde_json::from_str(body).expect("JSON"))),
            Ok(_) => panic!("{body} is accepted"),
        };
        for body in [
            r#"{}"#,
            r#"{"amount": null}"#,
            r#"{"amount": "3"}"#,
            r#"{"amount": true}"#,
            r#"{"amount": [3]}"#,
            r#"{"amount": -1}"#,
            r#"{"amount": 1.5}"#,
            r#"{"amount": 4294967296}"#,
            r#"{"amount": 99999999999999999999}"#,
            r#"{"amount": 1e300}"#,
        ] {
            assert!(field(body).contains(r#"field: Some("amount")"#), "{body}: {}", field(body));
        }
        for (body, name) in [
            (r#"{"amount": 1, "workers_to_keep": "a"}"#, "workers_to_keep"),
            (r#"{"amount": 1, "workers_to_delete": {"a": 1}}"#, "workers_to_delete"),
            (r#"{"amount": 1, "workers_to_keep": ["a", 2]}"#, "workers_to_keep[1]"),
            (r#"{"amount": 1, "workers_to_delete": [null]}"#, "workers_to_delete[0]"),
        ] {
            assert!(field(body).contains(&format!("field: Some({name:?})")), "{body}: {}", field(body));
        }
    }
}
