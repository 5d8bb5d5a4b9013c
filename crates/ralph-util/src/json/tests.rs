//! Compares the scanner with serde_json, and feeds it malformed records.
use super::*;
use proptest::prelude::*;

#[test] // spec: A5
fn wanted_members_are_found_in_any_order_and_spacing() {
    let line = br#" { "skip" : [1, {"type":"x"}, "]}\"" ] , "result" :"a\"b", "type": "result"} "#;
    let [kind, result, missing] = pick_members(line, ["type", "result", "nothing"]).unwrap();
    assert_eq!(as_name(kind), "result");
    assert_eq!(decode_string(result).unwrap(), "a\"b");
    assert_eq!(missing, None);
}

#[test] // spec: A5
fn a_truncated_record_or_trailing_bytes_are_refused() {
    let line = br#"{"type":"text","part":{"text":"\\\"done"}}"#;
    for end in 0..line.len() {
        assert_eq!(pick_members(&line[..end], ["type"]), Err(MalformedJson), "cut at {end}");
    }
    assert!(pick_members(line, ["type"]).is_ok());
    for bad in ["[]", "{} {}", "{,}", "{\"a\":}", "{\"a\":[}]}", "{\"a\" 1}", "null", "", "{\"a\":1,}"] {
        assert_eq!(pick_members(bad.as_bytes(), ["a"]), Err(MalformedJson), "{bad}");
    }
}

#[test] // spec: A5
fn a_needed_key_must_not_be_repeated() {
    assert_eq!(pick_members(br#"{"type":"a","type":"b"}"#, ["type"]), Err(MalformedJson));
    assert!(pick_members(br#"{"other":1,"other":2,"type":"b"}"#, ["type"]).is_ok());
}

#[test] // spec: A5, F2
fn deep_nesting_is_refused_without_recursion() {
    let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(pick_members(deep(127).as_bytes(), ["a"]).is_ok());
    assert_eq!(pick_members(deep(128).as_bytes(), ["a"]), Err(MalformedJson));
    assert_eq!(pick_members(deep(100_000).as_bytes(), ["a"]), Err(MalformedJson));
    assert_eq!(pick_members("{\"a\":".repeat(100_000).as_bytes(), ["a"]), Err(MalformedJson));
}

#[test] // spec: A5
fn absurdly_large_numbers_are_unknown() {
    let huge = format!("{{\"n\":{}}}", "9".repeat(10_000));
    let [number] = pick_members(huge.as_bytes(), ["n"]).unwrap();
    assert_eq!(parse_u64(number), None);
    assert_eq!(parse_amount(number), None);
    assert_eq!(parse_amount(Some(b"1e999")), None);
    assert_eq!(parse_amount(Some(b"-1")), None);
    assert_eq!(parse_amount(Some(b"1.5e-5")), Some(1.5e-5));
}

#[test] // spec: S8
fn text_survives_stray_bytes_and_half_a_surrogate_pair() {
    assert_eq!(decode_string(Some(br#""\ud83c\udf89 \ud83c \udf89 \u00e9""#)).unwrap(), "🎉 \u{fffd} \u{fffd} é");
    assert_eq!(decode_string(Some(b"\"a\xff\\n\xc3\x28\"")).unwrap(), "a\u{fffd}\n\u{fffd}(");
    assert_eq!(decode_string(Some(br#""\q\u12""#)).unwrap(), "\u{fffd}q\u{fffd}12");
}

#[test] // spec: A4
fn only_the_prefix_of_a_long_string_is_decoded_and_it_ends_at_a_character() {
    let start = |text: &str, limit| decode_string_prefix(Some(text.as_bytes()), limit).unwrap();
    let long = format!("\"{}\"", "\\ud83c\\udf89".repeat(100_000));
    assert_eq!(start(&long, 9), "🎉🎉🎉…");
    assert_eq!(start("\"完了完了\"", 4), "完了…");
    assert_eq!(start("\"a\\nb\\nc\"", 3), "a\nb…");
    assert_eq!(start("\"ab\"", 30), "ab");
    assert_eq!(start("\"ab\"", 0), "…");
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        "[\"\\\\{}\\[\\]:,]{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::hash_map("[a-e\"\\\\]{0,3}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test] // spec: A5
    fn picked_members_equal_what_serde_reads(a in any_json(), b in any_json(), text in any::<String>()) {
        let whole = serde_json::json!({ "first": a, "skipped": b, "text": text });
        let line = serde_json::to_vec(&whole).unwrap();
        let [first, found] = pick_members(&line, ["first", "text"]).unwrap();
        prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(first.unwrap()).unwrap(), a);
        prop_assert_eq!(decode_string(found).unwrap(), text);
    }

    #[test] // spec: A4
    fn a_decoded_prefix_is_a_prefix_of_the_whole(text in any::<String>(), limit in 0_usize..40) {
        let raw = serde_json::to_vec(&text).unwrap();
        let start = decode_string_prefix(Some(&raw), limit).unwrap();
        let kept = if start == text { start.as_str() } else { start.strip_suffix('…').unwrap() };
        prop_assert!(text.starts_with(kept));
        prop_assert!(kept.len() >= limit.min(text.len()) && kept.len() < limit + 4);
    }

    #[test] // spec: A5
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = pick_members(&bytes, ["type", "a"]);
        let _ = decode_string(Some(&bytes));
        let _ = decode_string_prefix(Some(&bytes), 5);
    }

    #[test] // spec: A5
    fn json_like_bytes_never_panic(text in "[\\[\\]{}\",:\\\\u0-9a type]{0,60}") {
        let _ = pick_members(text.as_bytes(), ["type", "a"]);
        let _ = pick_members(format!("{{{text}}}").as_bytes(), ["type", "a"]);
        let _ = decode_string(Some(format!("\"{text}\"").as_bytes()));
    }
}
