//! The launch hash: the same for the same way of making a machine, on every host and in every version.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// 32 hex digits over the canonical text of a value: keys sorted, no spaces. 128 bits, since it becomes the tag of
/// a machine and tags are short.
pub(crate) fn launch_hash(parts: &Value) -> String {
    let mut text = String::new();
    canonical(parts, &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest[..16].iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes every text");
        hex
    })
}

/// Sorts by itself, since the order of `serde_json`'s maps depends on a feature that any crate may turn on.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|entry| entry.0);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_is_stable_and_blind_to_the_order_of_keys_only() {
        let hash = launch_hash(&json!({"a": 1, "b": [true, null, "x"]}));
        assert_eq!(hash, "789d459d6c0115cb329e9f1ecc0c3926");
        assert_eq!(hash, launch_hash(&json!({"b": [true, null, "x"], "a": 1})));
        for other in [
            json!({"a": 1, "b": [null, true, "x"]}),
            json!({"a": 1}),
            json!({"a": "1", "b": [true, null, "x"]}),
        ] {
            assert_ne!(hash, launch_hash(&other));
        }
    }
}
