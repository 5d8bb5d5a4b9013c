//! Generates the JSON schema of workflow files from the tables of keys that the parser uses.
use serde_json::{Map, Value, json};

use super::keys::{KeyShape, KeySupport, KindKey, NODE_KEYS, TOP_KEYS, WorkflowKey};
use crate::config::config_schema;

const NODE_SCHEMA_REF: &str = "#/$defs/node";
const CHECK_SCHEMA_REF: &str = "#/$defs/check";

/// Returns the JSON schema of workflow files, for editors.
#[must_use]
pub fn workflow_schema() -> Value {
    let mut schema = table_schema(TOP_KEYS);
    if let Some(top) = schema.as_object_mut() {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("ralph workflow"));
        top.insert("patternProperties".to_owned(), json!({ "^x-": {} }));
        top.insert("required".to_owned(), json!(["name", "description"]));
        let forms = [
            json!({ "required": ["nodes"] }),
            json!({ "required": ["steps"] }),
            json!({ "required": ["loop", "prompt"] }),
        ];
        top.insert("oneOf".to_owned(), forms.into_iter().collect());
        let check = config_schema().pointer("/$defs/check").cloned().unwrap_or_default();
        top.insert("$defs".to_owned(), json!({ "node": node_schema(), "check": check }));
    }
    schema
}

fn node_schema() -> Value {
    let mut schema = table_schema(NODE_KEYS);
    if let Some(node) = schema.as_object_mut() {
        node.insert("required".to_owned(), json!(["id"]));
        let kinds = KindKey::ALL.into_iter().map(|kind| json!({ "required": [kind.name()] }));
        node.insert("oneOf".to_owned(), kinds.collect());
    }
    schema
}

fn table_schema(keys: &[WorkflowKey]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), key_schema(key))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn key_schema(key: &WorkflowKey) -> Value {
    let mut schema = shape_schema(key.shape);
    let about = match key.support {
        KeySupport::Used => key.about.to_owned(),
        KeySupport::NoEffect(reason) => format!("No effect: {reason}"),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), about.into());
    }
    schema
}

fn shape_schema(shape: KeyShape) -> Value {
    match shape {
        KeyShape::Text => json!({ "type": "string", "minLength": 1 }),
        KeyShape::Flag => json!({ "type": "boolean" }),
        KeyShape::FlagOrText => json!({ "type": ["string", "boolean", "number"] }),
        KeyShape::Number(min, u64::MAX) => json!({ "type": "integer", "minimum": min }),
        KeyShape::Number(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        KeyShape::Money => json!({ "type": "number", "exclusiveMinimum": 0 }),
        KeyShape::Texts => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        KeyShape::Choice(names) => json!({ "enum": names }),
        KeyShape::Any => json!({}),
        KeyShape::MapOf(shape) => json!({ "type": "object", "additionalProperties": shape_schema(*shape) }),
        KeyShape::Table(keys) => table_schema(keys),
        KeyShape::ListOf(keys) => json!({ "type": "array", "items": table_schema(keys) }),
        KeyShape::Nodes => json!({ "type": "array", "minItems": 1, "items": { "$ref": NODE_SCHEMA_REF } }),
        KeyShape::Checks => json!({
            "type": "array",
            "minItems": 1,
            "items": { "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": CHECK_SCHEMA_REF }] },
        }),
    }
}
