//! The JSON schema of the configuration, made from the same table that reads it.
use ralph_core::judge::Api;
use serde_json::{Map, Value, json};

use super::keys::{AGENT_KEYS, CHECK_KEYS, CheckDraft, KEYS, Key, Place};
use super::settings::{AgentSettings, Settings};
use super::show::single;
use super::slot::{Bounds, CONTEXT, ISOLATION, LANDING, MATCHING, METHOD, ON_ERROR, OWN_FORMAT, SCOPE, Slot};
use ralph_agents::{Format, Permission};
use ralph_util::yaml::{self, Content, Node};

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

fn within(Bounds(least, most): Bounds, types: &[&str]) -> Value {
    let types = if let [one] = types { json!(one) } else { json!(types) };
    json!({ "type": types, "minimum": least, "maximum": most })
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
        Slot::Count(_, bounds) => within(*bounds, &["integer"]),
        Slot::Time(_) => whole(TIME, &["string", "integer"]),
        Slot::MaybeTime(_) => whole(TIME, &["string", "integer", "null"]),
        Slot::Size(_) => whole(SIZE, &["string", "integer"]),
        Slot::MaybeSize(_) => whole(SIZE, &["string", "integer", "null"]),
        Slot::MaybeCount(_, bounds) => within(*bounds, &["integer", "null"]),
        Slot::MaybeTokens(_) => whole(TOKENS, &["string", "integer", "null"]),
        Slot::MaybeMoney(_) => money(),
        Slot::MaybeFormat(_) => {
            one_of([OWN_FORMAT].into_iter().chain(Format::ALL.iter().map(|format| format.name())).map(Some))
        }
        Slot::MaybePermission(_) => {
            one_of(Permission::ALL.iter().map(|permission| Some(permission.name())).chain([None]))
        }
        Slot::Matching(_) => named(MATCHING),
        Slot::Context(_) => named(CONTEXT),
        Slot::Scope(_) => named(SCOPE),
        Slot::Method(_) => named(METHOD),
        Slot::Isolation(_) => named(ISOLATION),
        Slot::Landing(_) => named(LANDING),
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
        Slot::MaybeApi(_) => one_of(Api::ALL.iter().map(|api| Some(api.name())).chain([None])),
        Slot::OnError(_) => named(ON_ERROR),
        Slot::Agents(_) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": table(AGENT_KEYS, "", &mut AgentSettings::default()),
        }),
    }
}

/// An amount of more than nothing.
fn money() -> Value {
    json!({ "type": ["string", "number", "null"], "pattern": MONEY, "exclusiveMinimum": 0 })
}

/// One of the names of a table.
fn named<T>(table: &[(&'static str, T)]) -> Value {
    one_of(table.iter().map(|(name, _)| Some(*name)))
}

/// A number of at least 1, with or without a unit.
fn whole(pattern: &str, types: &[&str]) -> Value {
    json!({ "type": types, "pattern": pattern, "minimum": 1 })
}

fn one_of<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Value {
    json!({ "enum": names.collect::<Vec<_>>() })
}

fn check() -> Value {
    let mut schema = table(CHECK_KEYS, "", &mut CheckDraft::default());
    schema["type"] = json!("object");
    let parts =
        ["command", "template", "plugin", "stages", "check_for", "negative_patterns", "method", "config"];
    schema["anyOf"] = parts.iter().map(|part| json!({ "required": [part] })).collect();
    schema
}
