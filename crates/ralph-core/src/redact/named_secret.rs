//! Finds the secret values in environment variables: values of variables with secret-like names, unless they are
//! clearly something else, and passwords in URLs regardless of the variable name.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::record_words::is_record_word;
use super::secret_names;
use super::value_redactor::MIN_SECRET_BYTES;

/// Values that are not secrets. Redacting them would only remove ordinary words.
const PLAIN_WORDS: &[&str] = &[
    "password",
    "passwords",
    "changeme",
    "required",
    "optional",
    "disabled",
    "undefined",
    "localhost",
    "keychain",
    "keyring",
    "redacted",
    "anonymous",
    "automatic",
    "development",
    "production",
    "postgres",
];

/// A line of a multi-line value is redacted separately if it has at least this many bytes.
const MIN_SECRET_LINE_BYTES: usize = 20;

/// A value to redact, and the name that the redaction mark shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The name of the variable that holds it.
    pub name: String,
    pub value: Vec<u8>,
}

impl NamedSecret {
    /// Returns the text that replaces the value. It is valid inside a JSON string.
    #[must_use]
    pub(super) fn redaction_mark(&self) -> String {
        let is_plain = self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        if is_plain && !self.name.is_empty() { format!("[redacted:{}]", self.name) } else { "[redacted]".to_string() }
    }
}

/// Returns the secrets that a variable of this name and value holds.
#[must_use]
pub fn secrets_of_variable(variable: &str, value: &[u8]) -> Vec<NamedSecret> {
    let secret = |value: &[u8]| NamedSecret { name: variable.to_string(), value: value.to_vec() };
    let mut secrets =
        if secret_names::is_secret_name(variable) { secrets_in_value(variable, value) } else { Vec::new() };
    let password = password_in_url(value.trim_ascii());
    secrets.extend(password.filter(|password| is_worth_hiding(password)).map(secret));
    secrets
}

/// Returns the secrets in a value that is known to be secret, regardless of the variable name.
#[must_use]
pub fn secrets_in_value(variable: &str, value: &[u8]) -> Vec<NamedSecret> {
    let secret = |value: &[u8]| NamedSecret { name: variable.to_string(), value: value.to_vec() };
    let value = value.trim_ascii();
    if !is_worth_hiding(value) || is_url(value) {
        return Vec::new();
    }
    let mut secrets: Vec<NamedSecret> = core::iter::once(value).chain(secret_lines(value)).map(secret).collect();
    let leaves = structured_leaves(value).into_iter().filter(|leaf| leaf != value);
    secrets.extend(leaves.flat_map(|leaf| secrets_in_value(variable, &leaf)));
    secrets
}

/// Returns the secret parts of a value with a structure: JSON, or pairs such as `Server=db;Password=x`.
fn structured_leaves(value: &[u8]) -> Vec<Vec<u8>> {
    let mut leaves = Vec::new();
    if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_slice::<Value>(value) {
        collect_json_leaves("", &json, &mut leaves);
        return leaves;
    }
    for pair in value.split(|byte| matches!(byte, b';' | b'&' | b'\n')) {
        let Some(at) = pair.iter().position(|byte| *byte == b'=') else { continue };
        let (name, leaf) = pair.split_at(at);
        if core::str::from_utf8(name).is_ok_and(|name| is_secret_key(name.trim())) {
            leaves.push(leaf.get(1..).unwrap_or_default().to_vec());
        }
    }
    leaves
}

/// Collects the texts below keys with a secret name, and those that look random.
fn collect_json_leaves(key: &str, json: &Value, leaves: &mut Vec<Vec<u8>>) {
    match json {
        Value::String(text) if is_secret_key(key) || is_random_looking(text.as_bytes()) => {
            leaves.push(text.as_bytes().to_vec());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_json_leaves(key, item, leaves)),
        Value::Object(entries) => entries.iter().for_each(|(key, item)| collect_json_leaves(key, item, leaves)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a key has a secret name, in any writing: `private_key`, `privateKey`, `Password`.
fn is_secret_key(key: &str) -> bool {
    let mut name = String::with_capacity(key.len());
    let mut was_lower = false;
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        name.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' });
    }
    secret_names::is_secret_name(&name)
}

/// Returns whether a value is long enough and not clearly something else.
fn is_worth_hiding(value: &[u8]) -> bool {
    let mut letters = value.to_vec();
    letters.sort_unstable();
    letters.dedup();
    let is_word = PLAIN_WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let is_in_records = core::str::from_utf8(value).is_ok_and(is_record_word);
    value.len() >= MIN_SECRET_BYTES && letters.len() > 2 && !is_word && !is_in_records && !is_file_path(value)
}

/// A path has several parts, and none of them looks random.
fn is_file_path(value: &[u8]) -> bool {
    let begins = [b"/".as_slice(), b"~/", b"./", b"../"].iter().any(|start| value.starts_with(start));
    let mut parts = value.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    begins && value.iter().filter(|byte| **byte == b'/').count() > 1 && !parts.any(is_random_looking)
}

fn is_random_looking(part: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| part.iter().any(kind);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    part.iter().any(|byte| matches!(byte, b'+' | b'=')) || part.len() > 12 && mixed
}

fn is_url(value: &[u8]) -> bool {
    let scheme = value.iter().position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.'));
    scheme.is_some_and(|end| end > 0 && value.get(end..).is_some_and(|rest| rest.starts_with(b"://")))
}

/// Returns the password of a URL such as `scheme://user:password@host`.
fn password_in_url(value: &[u8]) -> Option<&[u8]> {
    if !is_url(value) {
        return None;
    }
    let start = value.windows(3).position(|window| window == b"://")? + 3;
    let rest = value.get(start..)?;
    let authority = rest.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next()?;
    let at = authority.iter().rposition(|byte| *byte == b'@')?;
    let user = authority.get(..at)?;
    let colon = user.iter().position(|byte| *byte == b':')?;
    user.get(colon + 1..)
}

/// Returns the lines of a multi-line key, which tools often print line by line. Skips markers and sentences.
fn secret_lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let several = value.contains(&b'\n');
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(move |line| {
        several && line.len() >= MIN_SECRET_LINE_BYTES && !line.contains(&b' ') && !line.starts_with(b"-----")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_values(name: &str, value: &str) -> Vec<String> {
        secrets_of_variable(name, value.as_bytes())
            .into_iter()
            .map(|secret| String::from_utf8(secret.value).unwrap())
            .collect()
    }

    #[test] // spec: X3
    fn the_trimmed_value_of_a_secret_variable_is_a_secret() {
        assert_eq!(secret_values("API_KEY", " abcdef123456\n"), ["abcdef123456"]);
        assert_eq!(secret_values("AWS_SECRET_ACCESS_KEY", "/abcdefGHIJ12345/xyz"), ["/abcdefGHIJ12345/xyz"]);
        assert_eq!(secret_values("DB_PASSWORD", "helloworld"), ["helloworld"]);
    }

    #[test] // spec: X3
    fn short_values_paths_words_and_placeholders_are_not_secrets() {
        for value in [
            "",
            "short",
            "1234567",
            "/home/me/.ssh/id_rsa",
            "~/.config/key.json",
            "password",
            "Changeme",
            "xxxxxxxxxxxx",
            "abababab",
            "iteration",
            "run.finished",
        ] {
            assert_eq!(secret_values("API_KEY", value), [""; 0], "{value}");
        }
        assert_eq!(secret_values("HOME_PAGE", "abcdef123456"), [""; 0]);
    }

    #[test] // spec: X3
    fn the_password_in_a_url_is_a_secret_regardless_of_the_variable_name() {
        assert_eq!(secret_values("DATABASE_URL", "postgres://app:s3cr3tpw@db:5432/app"), ["s3cr3tpw"]);
        assert_eq!(secret_values("API_KEY", "https://example.org/keys/public"), [""; 0]);
        assert_eq!(secret_values("PROXY", "http://proxy:8080/a@b:c"), [""; 0]);
    }

    #[test] // spec: X3
    fn each_line_of_a_key_is_a_secret_too() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nshort\n-----END PRIVATE KEY-----";
        assert_eq!(secret_values("DEPLOY_KEY", key), [key, "MIIEvQIBADANBgkqhkiG9w0BAQ"]);
    }

    // spec: X3
    // finding: N45
    #[test]
    fn the_secret_leaves_of_a_structured_value_are_secrets_too() {
        let json = r#"{"type":"service_account","privateKey":"hush hush hush","nested":[{"password":"tr0ub4dor"}],"host":"db.example.org"}"#;
        let mut found = secret_values("GCP_CREDENTIALS", json);
        found.sort();
        assert_eq!(found, ["hush hush hush", "tr0ub4dor", json]);
        let pairs = "Server=db.example.org;User=app;Password=tr0ub4dor";
        assert_eq!(secret_values("DB_SECRET", pairs), [pairs, "tr0ub4dor"]);
    }

    #[test] // spec: X3
    fn a_mark_contains_the_name_if_it_needs_no_json_escaping() {
        let mark = |name: &str| NamedSecret { name: name.to_string(), value: Vec::new() }.redaction_mark();
        assert_eq!(
            (mark("API_KEY").as_str(), mark("a\"b").as_str(), mark("").as_str()),
            ("[redacted:API_KEY]", "[redacted]", "[redacted]")
        );
    }
}
