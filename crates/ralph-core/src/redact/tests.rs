//! Tests with whole streams: what is redacted, what is not, and that splitting makes no difference.
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, vec};

use proptest::prelude::*;

use super::*;

fn secret_matcher(values: &[(&str, &str)]) -> Arc<SecretMatcher> {
    let secret =
        |(name, value): &(&str, &str)| NamedSecret { name: name.to_string(), value: value.as_bytes().to_vec() };
    Arc::new(SecretMatcher::new(&values.iter().map(secret).collect::<Vec<_>>()))
}

fn redact_to_string(secrets: &Arc<SecretMatcher>, text: &str) -> String {
    secrets.redact_text(text).into_owned()
}

fn redact_in_pieces<'a>(secrets: &Arc<SecretMatcher>, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, usize) {
    let mut redactor = StreamRedactor::new(Arc::clone(secrets));
    let mut out = Vec::new();
    let mut max_pending = 0;
    for piece in pieces {
        redactor.push(piece, &mut |part| out.extend_from_slice(part));
        max_pending = max_pending.max(redactor.pending_bytes());
    }
    redactor.finish(&mut |part| out.extend_from_slice(part));
    assert_eq!(redactor.pending_bytes(), 0);
    (out, max_pending)
}

const SECRET_VALUE: &str = "hunter2-hunter2";

#[test] // spec: X3
fn a_registered_value_is_redacted_wherever_it_occurs() {
    let secrets = secret_matcher(&[("MY_TOKEN", SECRET_VALUE)]);
    for (before, after) in [("", ""), ("a", "b"), ("{\"key\":\"", "\"}"), ("hunter2-hunter", "2"), ("\n", "\n")] {
        let text = format!("{before}{SECRET_VALUE}{after}");
        let clean = redact_to_string(&secrets, &text);
        assert_eq!(clean, format!("{before}[redacted:MY_TOKEN]{after}"), "{text}");
    }
    assert_eq!(redact_to_string(&secrets, "hunter2 hunter2"), "hunter2 hunter2");
}

#[test] // spec: X3
fn the_longer_of_two_values_at_one_position_is_redacted() {
    let secrets = secret_matcher(&[("SHORT", "abcdefgh"), ("LONG", "abcdefghijkl")]);
    assert_eq!(redact_to_string(&secrets, "abcdefghijkl abcdefghij"), "[redacted:LONG] [redacted:SHORT]ij");
}

// Generated here, so that secret scanners do not report them.
fn sample_secrets() -> Vec<String> {
    let many = |unit: &str, times: usize| unit.repeat(times);
    vec![
        format!("sk-ant-{}", many("api03-Ab9", 8)),
        format!("sk-proj-{}", many("x_Y-9", 8)),
        format!("sk-{}", many("a1B2", 12)),
        format!("sk-or-v1-{}", many("0af9", 16)),
        format!("ghp_{}", many("a1B2c3", 6)),
        format!("gho_{}", many("a1B2c3", 6)),
        format!("ghs_{}", many("a1B2c3", 6)),
        format!("github_pat_{}", many("11ABC_x", 8)),
        format!("glpat-{}", many("x1-Y_", 4)),
        format!("xoxb-{}", many("123456-", 4)),
        format!("AKIA{}", many("ABCD2345", 2)),
        format!("ASIA{}", many("ABCD2345", 2)),
        format!("AIza{}", many("Sy_-9", 7)),
        format!("npm_{}", many("a1B2c3", 6)),
        format!("pypi-AgE{}", many("IcHlwaS5vcmc", 4)),
        format!("hf_{}", many("aBcDeF", 6)),
        format!("eyJ{}.eyJ{}.{}", many("hbGciOi", 4), many("zdWIiOi", 6), many("x-Y_9", 9)),
    ]
}

#[test] // spec: X3
fn every_known_shape_is_redacted_completely() {
    let none = secret_matcher(&[]);
    for shape in sample_secrets() {
        for (before, after) in [("", ""), ("key=", " "), ("\"", "\""), ("line\\n", "\\n"), ("(", ").")] {
            let text = format!("{before}{shape}{after}");
            let dotted = after.starts_with(')');
            assert_eq!(redact_to_string(&none, &text), format!("{before}[redacted]{after}"), "{shape} {dotted}");
        }
    }
}

#[test] // spec: X3
fn headers_and_urls_keep_everything_but_the_secret() {
    let none = secret_matcher(&[]);
    for (text, clean) in [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
        (r#"{\"Authorization\": \"Basic dXNlcjpwYXNz\"}"#, r#"{\"Authorization\": \"Basic [redacted]\"}"#),
        ("-H 'authorization: token 0123456789abcdef' x", "-H 'authorization: token [redacted]' x"),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
        ("postgres://app:s3cr3t@db:5432/app", "postgres://app:[redacted]@db:5432/app"),
        ("https://oauth2:a:b@git.example/x.git", "https://oauth2:[redacted]@git.example/x.git"),
        ("redis://:pw@cache", "redis://:[redacted]@cache"),
        ("https://0123456789abcdef0123:x-oauth@h", "https://[redacted]@h"),
    ] {
        assert_eq!(redact_to_string(&none, text), clean);
    }
}

#[test] // spec: X3
fn a_private_key_is_redacted_between_its_markers() {
    let none = secret_matcher(&[]);
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    for (kind, newline) in [("RSA PRIVATE KEY", "\n"), ("PRIVATE KEY", "\\n"), ("OPENSSH PRIVATE KEY", "\\n   2→")] {
        let text = format!("a -----BEGIN {kind}-----{newline}{body}{newline}{body}{newline}-----END {kind}----- b");
        let clean = format!("a -----BEGIN {kind}-----[redacted]-----END {kind}----- b");
        assert_eq!(redact_to_string(&none, &text), clean);
    }
    let cut = format!("{{\"x\":\"-----BEGIN PRIVATE KEY-----\\n{body}\\nMII\"}}\n{{\"y\":1}}");
    assert_eq!(redact_to_string(&none, &cut), "{\"x\":\"-----BEGIN PRIVATE KEY-----[redacted]\"}\n{\"y\":1}");
}

#[test] // spec: X3
fn text_that_only_resembles_a_secret_is_kept() {
    let none = secret_matcher(&[]);
    for text in [
        "task-1234567890123456789012345678 disk-0",
        "sk-learn-is-a-library-for-machine-learning",
        "ask-me",
        "eyJ",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "ghp_short",
        "xxghp_a1B2c3a1B2c3a1B2c3a1B2c3a1B2c3a1B2c3",
        "AKIAABCD2345ABCD23456",
        "AKIAABCD",
        "http://localhost:3000/a@b",
        "see http://a:b",
        "http://user@host",
        "https://$USER:$PASSWORD@host",
        "https://u:${PW}@h",
        "Authorization: required",
        "the Authorization header",
        "Bearer authentication is used here",
        "const BEGIN = \"-----BEGIN RSA PRIVATE KEY-----\";",
        "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
        "-----BEGIN PRIVATE KEY----- is how it begins",
        "[redacted]",
        "npm_config_cache",
        "https://user:***@host",
    ] {
        assert_eq!(redact_to_string(&none, text), text);
        assert!(matches!(none.redact_text(text), Cow::Borrowed(_)));
    }
}

#[test] // spec: X3, A4
fn json_stays_valid_even_if_a_value_starts_inside_an_escape() {
    let secrets = secret_matcher(&[("A", "nabcdefgh"), ("B", "00e9wxyzw"), ("C", "\"quoted\"pass\\")]);
    for text in [
        "nabcdefgh",
        "\nabcdefgh",
        "\\nabcdefgh",
        "é00e9wxyzw",
        "\u{e9}wxyzw",
        "x\"quoted\"pass\\",
        "y\"quoted\"pass\\\"",
    ] {
        let line = serde_json::json!({ "text": text, "ascii": "x" }).to_string();
        let ascii = line.replace('é', "\\u00e9");
        for line in [line, ascii] {
            let clean = redact_to_string(&secrets, &line);
            assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{line} became {clean}");
        }
    }
}

fn noise_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "[a-z\\\\\"\n]{0,12}",
        proptest::sample::select(sample_secrets()),
        proptest::sample::select(vec![
            "sk-",
            "eyJ",
            "://",
            "a:b@",
            "Authorization: Bearer ",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "--",
            "\\",
            "\\n",
            "🎉",
            "é"
        ])
        .prop_map(str::to_string),
        Just(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
            "MIIEvQIBADANBgkqhkiG9w0".repeat(9)
        )),
    ]
}

/// A stream of noise and values, the values in it, and where it is split.
fn random_stream() -> impl Strategy<Value = (Vec<u8>, Vec<String>, Vec<usize>)> {
    let values = proptest::collection::vec("[a-zA-Z0-9/+=%\"\\\\@: é-]{8,40}".prop_map(|value| value), 0..4);
    values.prop_flat_map(|values| {
        let known = if values.is_empty() { vec!["nothing".to_string()] } else { values.clone() };
        let part = prop_oneof![noise_text(), proptest::sample::select(known)];
        let parts = proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes());
        (parts, Just(values), proptest::collection::vec(0_usize..400, 0..8))
    })
}

fn split_at_places<'a>(stream: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (stream.len() + 1)).collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in places.into_iter().chain([stream.len()]) {
        pieces.push(&stream[from..place]);
        from = place;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    // fault: 84
    #[test] // spec: X3
    fn splitting_makes_no_difference_and_no_value_is_written((stream, values, places) in random_stream()) {
        let named: Vec<(&str, &str)> = values.iter().map(|value| ("V", value.trim())).filter(|(_, value)| value.len() >= 8).collect();
        let secrets = secret_matcher(&named);
        let (whole, _) = redact_in_pieces(&secrets, [stream.as_slice()]);
        let (pieces, max_pending) = redact_in_pieces(&secrets, split_at_places(&stream, &places));
        let (single, _) = redact_in_pieces(&secrets, stream.chunks(1));
        prop_assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&pieces));
        prop_assert_eq!(&whole, &single);
        prop_assert!(max_pending < 8 * 1024);
        let text = String::from_utf8_lossy(&whole);
        for (_, value) in named {
            let value = value.trim_end_matches('\\');
            prop_assert!(value.len() < 8 || !text.contains(value), "{value} in {text}");
        }
    }

    #[test] // spec: X3, A4
    fn a_stream_without_secrets_is_unchanged(bytes in proptest::collection::vec(any::<u8>(), 0..600), places in proptest::collection::vec(0_usize..600, 0..5)) {
        let secrets = secret_matcher(&[("A", "not in there at all")]);
        let (out, _) = redact_in_pieces(&secrets, split_at_places(&bytes, &places));
        prop_assert_eq!(out, bytes);
    }

    #[test] // spec: X3
    fn base64_of_a_value_among_other_bytes_is_redacted(before in "[ -~]{0,9}", value in "[!-~]{12,40}", after in "[ -~]{0,9}") {
        let secrets = secret_matcher(&[("V", &value)]);
        let encoded = encode_base64(format!("{before}{value}{after}").as_bytes());
        let clean = redact_to_string(&secrets, &encoded);
        let inner = encode_base64(value.as_bytes());
        prop_assert!(clean.contains("[redacted:V]"), "{encoded}");
        prop_assert!(!clean.contains(&inner[..inner.len() - 4]), "{clean}");
    }

    #[test] // spec: X3, A4
    fn redacted_json_is_json(text in "[ -~én\\n\\\\\"]{0,30}", value in "[a-z\\\\\"n0-9/é]{8,16}", more in "[ -~\\n]{0,20}") {
        let secrets = secret_matcher(&[("V", value.trim())]);
        let line = serde_json::json!({ "text": format!("{text}{value}{more}") }).to_string();
        let clean = redact_to_string(&secrets, &line);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{line} became {clean}");
    }
}

/// A simple encoder to compare with.
fn encode_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut all = [0_u8; 3];
        all[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, all[0], all[1], all[2]]);
        for letter in 0..4 {
            let six = (bits >> (18 - 6 * letter)) & 63;
            text.push(if letter <= group.len() { char::from(LETTERS[six as usize]) } else { '=' });
        }
    }
    text
}
