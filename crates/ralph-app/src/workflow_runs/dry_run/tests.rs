//! Default outputs and stubs, without files.
use ralph_core::workflow::output_schema::read_typed_output;
use serde_json::{Value, json};

use super::default_output::default_for_schema;
use super::stubs::{StubError, StubSet};

fn fits(schema: &Value) -> bool {
    read_typed_output(&default_for_schema(schema, 0).to_string(), schema).is_ok()
}

// spec: W11
#[test]
fn a_default_value_fits_its_schema() {
    let text = json!({ "type": "string", "minLength": 3 });
    for property in [
        text.clone(),
        json!({ "type": "integer", "minimum": 7 }),
        json!({ "type": "number", "maximum": -1 }),
        json!({ "type": ["null", "string"] }),
        json!({ "type": "array", "items": text, "minItems": 2 }),
        json!({ "type": "array", "maxItems": 0 }),
        json!({ "enum": ["a", "b"] }),
        json!({ "const": 4 }),
        json!({ "anyOf": [{ "type": "boolean" }, { "type": "null" }] }),
        json!({ "type": "object", "properties": { "inner": { "type": "boolean" } }, "required": ["inner"] }),
    ] {
        let schema = json!({ "type": "object", "properties": { "field": property }, "required": ["field"] });
        assert!(fits(&schema), "{schema}");
    }
}

// spec: W11
#[test]
fn a_default_object_has_the_fields_of_all_parts() {
    let part =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "boolean" } }, "required": [name] });
    let schema = json!({ "type": "object", "allOf": [part("a"), part("b")] });
    assert_eq!(default_for_schema(&schema, 0), json!({ "a": true, "b": true }));
}

// spec: W11
#[test]
fn the_last_stub_of_a_list_repeats() {
    let stubs = StubSet::from_json(&json!({ "a": ["one", "two"] })).unwrap();
    let outputs = [0, 1, 5].map(|position| stubs.find("a", position).and_then(|stub| stub.output.clone()));
    assert_eq!(outputs, [Some(json!("one")), Some(json!("two")), Some(json!("two"))]);
}

// spec: W11
#[test]
fn a_stub_that_contradicts_itself_is_refused() {
    let error = StubSet::from_json(&json!({ "a": { "output": "x", "fail": "y" } })).unwrap_err();
    let reason = "a node has either `output` or `fail`".to_owned();
    assert_eq!(error, StubError::Invalid { node: "a".to_owned(), reason });
}
