//! The JSON schema of the configuration, made from the same table that reads it.
use ralph_core::judge::Api;
use serde_json::{Map, Value, json};

use super::keys::{AGENT_KEYS, CHECK_KEYS, CheckDraft, KEYS, Key, Place};
use super::settings::{AgentSettings, Settings};
use super::show::single;
use super::slot::{Bounds, CONTEXT, ISOLATION, MATCHING, METHOD, ON_ERROR, OWN_FORMAT, SCOPE, Slot};
use crate::agent::{Format, Permission};
use crate::yaml::{self, Content, Node};

/// The pattern of `30s`, `10m`, `2h`; a bare number is seconds.
const TIME: &str = "^[0-9]+(ms|s|m|min|h|d)?$";
const SIZE: &str = "^[0-9]+[MG]?$";
const MONEY: &str = r"^\$?[0-9]+(\.[0-9]{1,6})?$";
const TOKENS: &str = "^[0-9]+[kM]?$";
/// Where the schema of a check stands: stages are checks again.
const CHECK: &str = "#/$defs/check";
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Returns the schema.
#[must_use]
pub fn schema() -> Value {
    let mut schema = table(KEYS, "", &mut Settings::default());
    if let Some(top) = schema.as_object_mut() {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("ralph configuration"));
        top.insert("$defs".to_owned(), json!({ "check": check() }));
    }
    schema
}

/// Returns the schema of the keys that begin with `inside`, with a table for each name before a dot.
fn table<S>(keys: &[Key<S>], inside: &str, defaults: &mut S) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let Some(rest) = key.path.strip_prefix(inside) else { continue };
        match rest.split_once('.') {
            None => drop(properties.insert(rest.to_owned(), describe(key, defaults))),
            Some((name, _)) if properties.contains_key(name) => {}
            Some((name, _)) => {
                let below = table(keys, &format!("{inside}{name}."), defaults);
                properties.insert(name.to_owned(), below);
            }
        }
    }
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

fn describe<S>(key: &Key<S>, defaults: &mut S) -> Value {
    let (mut schema, help) = match &key.place {
        Place::Later { default } => (later(default), format!("{} (not available yet)", key.help)),
        Place::Slot(slot) => (with_default(slot, defaults), key.help.to_owned()),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), help.into());
    }
    schema
}

fn later(default: &str) -> Value {
    let default = yaml::parse(default).map(|node| value(&node)).unwrap_or_default();
    json!({ "const": default, "default": default })
}

/// Returns what YAML makes of a default.
fn value(node: &Node) -> Value {
    match &node.content {
        Content::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Content::List(items) => items.iter().map(value).collect(),
        Content::Nothing | Content::Map(_) => Value::Null,
    }
}

fn with_default<S>(slot: &for<'a> fn(&'a mut S) -> Slot<'a>, defaults: &mut S) -> Value {
    let mut schema = kind(&slot(defaults));
    let (default, _) = single(slot(defaults));
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("default".to_owned(), default);
    }
    schema
}

fn kind(slot: &Slot<'_>) -> Value {
    match slot {
        Slot::Text(_) => json!({ "type": "string", "minLength": 1 }),
        Slot::MaybeText(_) => json!({ "type": ["string", "null"], "minLength": 1 }),
        Slot::MaybeTexts(_) => json!({ "type": ["array", "null"], "items": { "type": "string" } }),
        Slot::Table(_) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": NAME },
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        }),
        Slot::Texts(_) => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        Slot::Flag(_) => json!({ "type": "boolean" }),
        Slot::Switch(_) => json!({ "enum": [true, false, "on", "off"] }),
        Slot::Count(_, Bounds(least, most)) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Slot::Time(_) => json!({ "type": ["string", "integer"], "pattern": TIME, "minimum": 1 }),
        Slot::Size(_) => json!({ "type": ["string", "integer"], "pattern": SIZE, "minimum": 1 }),
        Slot::MaybeSize(_) => json!({ "type": ["string", "integer", "null"], "pattern": SIZE, "minimum": 1 }),
        Slot::MaybeMoney(_) => {
            json!({ "type": ["string", "number", "null"], "pattern": MONEY, "exclusiveMinimum": 0 })
        }
        Slot::MaybeTokens(_) => {
            json!({ "type": ["string", "integer", "null"], "pattern": TOKENS, "minimum": 1 })
        }
        Slot::MaybeFormat(_) => {
            let own = std::iter::once(OWN_FORMAT);
            json!({ "enum": own.chain(Format::ALL.iter().map(|format| format.name())).collect::<Vec<_>>() })
        }
        Slot::MaybePermission(_) => {
            let names = Permission::ALL.iter().map(|permission| Some(permission.name()));
            json!({ "enum": names.chain([None]).collect::<Vec<_>>() })
        }
        Slot::Matching(_) => json!({ "enum": MATCHING.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Context(_) => json!({ "enum": CONTEXT.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Scope(_) => json!({ "enum": SCOPE.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Method(_) => json!({ "enum": METHOD.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Isolation(_) => json!({ "enum": ISOLATION.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Contradictions(_) => json!({ "type": ["boolean", "array"], "items": { "type": "string" } }),
        Slot::Checks(_) => json!({
            "type": ["array", "null"],
            "items": { "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": CHECK }] },
        }),
        Slot::Stages(_) => json!({ "type": ["array", "null"], "items": { "$ref": CHECK } }),
        Slot::Command(_) => json!({
            "type": ["string", "array", "null"], "minLength": 1, "items": { "type": "string" }, "minItems": 1,
        }),
        Slot::Strings(_) => json!({ "type": ["array", "string", "null"], "items": { "type": "string" } }),
        Slot::Json(_) => json!({}),
        Slot::With(_) => json!({
            "type": ["object", "null"],
            "additionalProperties": {
                "type": ["string", "number", "boolean", "array"],
                "items": { "type": ["string", "number", "boolean"] },
            },
        }),
        Slot::MaybeApi(_) => {
            let names = Api::ALL.iter().map(|api| Some(api.name()));
            json!({ "enum": names.chain([None]).collect::<Vec<_>>() })
        }
        Slot::OnError(_) => json!({ "enum": ON_ERROR.iter().map(|(name, _)| name).collect::<Vec<_>>() }),
        Slot::Agents(_) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": table(AGENT_KEYS, "", &mut AgentSettings::default()),
        }),
    }
}

fn check() -> Value {
    let mut schema = table(CHECK_KEYS, "", &mut CheckDraft::default());
    schema["type"] = json!("object");
    let parts =
        ["command", "template", "plugin", "stages", "check_for", "negative_patterns", "method", "config"];
    schema["anyOf"] = parts.iter().map(|part| json!({ "required": [part] })).collect();
    schema
}
