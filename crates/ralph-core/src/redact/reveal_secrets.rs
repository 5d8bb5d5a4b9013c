//! Replaces redaction marks with the values of the variables that they name.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

const MARK_PREFIX: &str = "[redacted:";

/// Returns the JSON text with its secrets restored, or the names of the variables that have no value.
pub fn reveal_secrets(json: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, Vec<String>> {
    let (mut whole, mut missing) = (String::with_capacity(json.len()), Vec::new());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once(MARK_PREFIX) {
        whole.push_str(before);
        let Some((name, remainder)) = after.split_once(']') else {
            whole.push_str(MARK_PREFIX);
            rest = after;
            continue;
        };
        match value(name).map(escape_json_string) {
            Some(value) => whole.push_str(&value),
            None if missing.iter().any(|known| known == name) => {}
            None => missing.push(name.to_string()),
        }
        rest = remainder;
    }
    whole.push_str(rest);
    if missing.is_empty() { Ok(whole) } else { Err(missing) }
}

/// Escapes a text for the inside of a JSON string.
fn escape_json_string(text: String) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known_variable(name: &str) -> Option<String> {
        (name == "A_KEY").then(|| "hush \"quiet\"\\".to_string())
    }

    // spec: X3, L13
    #[test]
    fn a_mark_that_names_its_variable_is_replaced_by_the_json_escaped_value() {
        let json = r#"{"a":"x [redacted:A_KEY] y","b":"[redacted:A_KEY]"}"#;
        let whole = reveal_secrets(json, known_variable).unwrap();
        assert_eq!(whole, r#"{"a":"x hush \"quiet\"\\ y","b":"hush \"quiet\"\\"}"#);
        assert_eq!(
            reveal_secrets("nothing [redacted] [redacted:", known_variable).unwrap(),
            "nothing [redacted] [redacted:"
        );
    }

    // spec: X3, L13
    #[test]
    fn a_missing_variable_is_reported_once() {
        assert_eq!(
            reveal_secrets("[redacted:B] [redacted:A_KEY] [redacted:B]", known_variable),
            Err(["B".to_string()].into())
        );
    }
}
