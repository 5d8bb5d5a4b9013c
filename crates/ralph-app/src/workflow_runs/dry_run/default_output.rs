//! Default outputs of nodes without a stub: values that fit the `output_format`, or that have the fields that others read.
use ralph_core::workflow::graph::{CompiledNode, Graph};
use ralph_core::workflow::{NodeKind, value_text};
use serde_json::{Map, Value, json};

use super::output_uses::{OutputUse, ValueUse};

/// How deep a default value is nested.
const MAX_DEPTH: usize = 32;
/// Most items and characters of a default value.
const MAX_LENGTH: u64 = 1_000;

/// Returns the default output of a node.
pub(super) fn default_output(graph: &Graph, node: &CompiledNode, usage: &OutputUse) -> String {
    if let Some(schema) = &node.definition.output_format {
        return default_for_schema(schema, 0).to_string();
    }
    if !usage.fields.is_empty() {
        let fields = usage.fields.iter().map(|(field, usage)| (field.clone(), default_for_use(*usage)));
        return Value::Object(fields.collect()).to_string();
    }
    match (usage.whole, promise_of_group(graph, node)) {
        (Some(usage @ (ValueUse::Number | ValueUse::List)), _) => value_text(&default_for_use(usage)).into_owned(),
        (Some(ValueUse::Text) | None, Some(promise)) => promise,
        (Some(ValueUse::Text) | None, None) => String::new(),
    }
}

fn default_for_use(usage: ValueUse) -> Value {
    match usage {
        ValueUse::Text => json!(""),
        ValueUse::Number => json!(0),
        ValueUse::List => json!(["item 1"]),
    }
}

/// The last nodes of a loop group that ends by a signal give the signal, so that its first iteration completes it.
fn promise_of_group(graph: &Graph, node: &CompiledNode) -> Option<String> {
    let group = graph.node(node.group?)?;
    let NodeKind::LoopGroup(definition) = &group.definition.kind else { return None };
    let control = &definition.control;
    let until = control.until.as_ref().filter(|_| control.until_bash.is_none())?;
    node.dependants.is_empty().then(|| format!("<promise>{until}</promise>"))
}

/// Returns a value that fits a schema, as far as the schema can be satisfied by a simple value.
pub(super) fn default_for_schema(schema: &Value, depth: usize) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema.get("enum").and_then(|values| values.get(0)) {
        return value.clone();
    }
    if depth >= MAX_DEPTH {
        return Value::Null;
    }
    if let Some(first) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.get(0)) {
        return merge(default_for_type(schema, depth), default_for_schema(first, depth + 1));
    }
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    parts.fold(default_for_type(schema, depth), |value, part| merge(value, default_for_schema(part, depth + 1)))
}

fn merge(value: Value, other: Value) -> Value {
    match (value, other) {
        (Value::Object(mut fields), Value::Object(others)) => {
            fields.extend(others);
            Value::Object(fields)
        }
        (_, other) => other,
    }
}

fn default_for_type(schema: &Value, depth: usize) -> Value {
    let declared = schema.get("type");
    let name = declared.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match name {
        Some("string") => json!("x".repeat(usize::try_from(least(schema, "minLength")).unwrap_or_default())),
        Some("number" | "integer") => default_number(schema),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("array") => default_array(schema, depth),
        Some("object") => default_object(schema, depth),
        // A schema without a type is that of an object, at the top or if it has properties.
        Some(_) | None if depth == 0 || schema.get("properties").is_some() => default_object(schema, depth),
        Some(_) | None => json!(""),
    }
}

fn least(schema: &Value, key: &str) -> u64 {
    schema.get(key).and_then(Value::as_u64).unwrap_or_default().min(MAX_LENGTH)
}

fn default_number(schema: &Value) -> Value {
    let limit = |key: &str| schema.get(key).filter(|limit| limit.is_number());
    match (limit("minimum"), limit("maximum")) {
        (Some(minimum), _) if minimum.as_f64() > Some(0.0) => minimum.clone(),
        (_, Some(maximum)) if maximum.as_f64() < Some(0.0) => maximum.clone(),
        (_, _) => json!(0),
    }
}

/// One item if the schema allows it: fan-outs and loops over the list have something to do.
fn default_array(schema: &Value, depth: usize) -> Value {
    let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(1);
    let count = least(schema, "minItems").max(most.min(1));
    let item = schema.get("items").map_or(json!("item 1"), |items| default_for_schema(items, depth + 1));
    (0..count).map(|_| item.clone()).collect()
}

fn default_object(schema: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut fields: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), default_for_schema(property, depth + 1)))
        .collect();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        fields.entry(name).or_insert_with(|| json!(""));
    }
    Value::Object(fields)
}
