//! Tests of the answers that an `output_format` accepts, and of the reasons for a refusal.
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::format;

use serde_json::json;

use super::*;

fn plan_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "type": "string", "enum": ["bug", "feature"] },
            "count": { "type": "integer", "minimum": 1 },
            "steps": { "type": "array", "minItems": 1, "items": { "type": "object", "required": ["title"] } },
            "note": { "type": ["string", "null"] },
        },
        "required": ["kind"],
        "additionalProperties": false,
    })
}

fn read(answer: &str) -> Result<Value, String> {
    read_typed_output(answer, &plan_schema()).map(|typed| typed.value).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_reason(answer: &str, reason: &str) {
    assert_eq!(read(answer), Err(format!("the JSON object does not match the schema: {reason}")));
}

// spec: W3
#[test]
fn an_answer_that_is_the_object_is_accepted() {
    assert_eq!(read("  {\"kind\": \"bug\", \"note\": null}\n"), Ok(json!({ "kind": "bug", "note": null })));
}

// spec: W3
#[test]
fn one_code_fence_around_the_object_is_removed() {
    for answer in ["```json\n{\"kind\": \"bug\"}\n```", "```\n{\"kind\": \"bug\"}\n```\n"] {
        assert_eq!(read(answer), Ok(json!({ "kind": "bug" })));
    }
}

// spec: W3
#[test]
fn text_around_the_object_is_ignored() {
    let answer = "I looked at `f() { }` and {this}.\n\n```json\n{\"kind\": \"bug\"}\n```\nDone {for now}.";
    assert_eq!(read(answer), Ok(json!({ "kind": "bug" })));
}

// spec: W3
#[test]
fn the_last_object_that_matches_is_the_answer() {
    let answer = "First {\"kind\": \"bug\"}, then {\"kind\": \"feature\"}, not {\"kind\": 1} or {\"a\": 2}";
    assert_eq!(read(answer), Ok(json!({ "kind": "feature" })));
}

// spec: W3
#[test]
fn an_answer_without_an_object_is_an_error_with_the_reason() {
    assert_eq!(read(" \n"), Err("the answer is empty".to_string()));
    assert_eq!(read("It is a bug."), Err("the answer has no JSON object".to_string()));
    assert_eq!(read("[1, 2]"), Err("the answer has no JSON object".to_string()));
    assert_eq!(read("{\"kind\": \"bug\""), Err("the answer has no JSON object".to_string()));
}

// spec: W3
#[test]
fn each_part_that_does_not_fit_is_named_with_its_path() {
    assert_reason("{}", "it has no field `kind`");
    assert_reason("{\"kind\": \"chore\"}", "`kind` is \"chore\", not one of \"bug\", \"feature\"");
    assert_reason("{\"kind\": true}", "`kind` is the boolean true, not string");
    assert_reason("{\"kind\": \"bug\", \"count\": 1.5}", "`count` is the number 1.5, not integer");
    assert_reason("{\"kind\": \"bug\", \"count\": 0}", "`count` is 0, less than 1");
    assert_reason("{\"kind\": \"bug\", \"steps\": []}", "`steps` has 0 items, fewer than 1");
    assert_reason("{\"kind\": \"bug\", \"note\": []}", "`note` is a list, not string or null");
    assert_reason("{\"kind\": \"bug\", \"other\": 1}", "`other` is not allowed");
    assert_reason(
        "{\"kind\": \"bug\", \"steps\": [{\"title\": 1}, {}, 3]}",
        "`steps[1]` has no field `title`; `steps[2]` is the number 3, not object",
    );
}

// spec: W3
#[test]
fn a_whole_number_with_a_fraction_of_zero_is_an_integer() {
    assert!(read("{\"kind\": \"bug\", \"count\": 2.0}").is_ok());
}

// spec: W3
#[test]
fn alternatives_are_checked() {
    let schema = json!({ "properties": { "x": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } });
    assert!(read_typed_output("{\"x\": null}", &schema).is_ok());
    let error = read_typed_output("{\"x\": 1}", &schema).unwrap_err().to_string();
    assert_eq!(error, "the JSON object does not match the schema: `x` matches none of the alternatives of `anyOf`");
}

// spec: W3
#[test]
fn keywords_that_are_not_checked_are_listed() {
    let schema = json!({
        "type": "object",
        "description": "A plan",
        "properties": { "pattern": { "pattern": "^a" }, "b": { "items": { "format": "date", "pattern": "x" } } },
    });
    assert_eq!(unchecked_keywords(&schema), ["format", "pattern"]);
    assert!(unchecked_keywords(&plan_schema()).is_empty());
}

// spec: W3
#[test]
fn the_question_after_a_wrong_answer_has_the_reason_and_the_schema() {
    let schema = json!({ "type": "object", "required": ["kind"] });
    let error = read_typed_output("{}", &schema).unwrap_err();
    let question = ask_again(&error, &schema);
    assert!(
        question.starts_with("Your answer cannot be used: the JSON object does not match the schema: it has no field")
    );
    assert!(question.contains("\"required\": [\n    \"kind\"\n  ]"));
}

// spec: W3
#[test]
fn an_answer_of_open_braces_is_read_in_linear_time() {
    let answers: Vec<String> = ["{", "{\"a\":", "{}", "{\"a\":{} "].iter().map(|part| part.repeat(200_000)).collect();
    for answer in answers {
        assert!(read(&answer).is_err());
    }
}
