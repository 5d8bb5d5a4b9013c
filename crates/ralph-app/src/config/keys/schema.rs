//! Generates the JSON schema of the configuration from the table of keys that the parser uses.
use ralph_core::judge::JudgeApi;
use serde_json::{Map, Value, json};

use crate::config::keys::key_list::{AGENT_KEYS, CHECK_KEYS, CONFIG_KEYS, CheckDraft, ConfigKey, KeyTarget};
use crate::config::keys::notify_keys::{NOTIFY_KEYS, NotifyDraft};
use crate::config::keys::show::slot_value;
use crate::config::keys::slot::{
    ADAPTER_JSON_FORMAT, COMMIT_CHOICES, CONTEXT_CHOICES, ISOLATION_CHOICES, LANDING_CHOICES, MATCHING_CHOICES,
    MESSAGE_CHOICES, METHOD_CHOICES, NumberBounds, ON_ERROR_CHOICES, PROTECTION_CHOICES, SCOPE_CHOICES, SettingSlot,
};
use crate::config::notify::notify_target::NotifyChannel;
use crate::config::settings::all_settings::{AgentSettings, Settings};
use crate::config::settings::origin::Setting;
use ralph_agents::{OutputFormat, PermissionLevel};
use ralph_util::yaml::{self, DocumentNode, NodeContent};

/// `30s`, `10m`, `2h`; a bare number is seconds.
const DURATION_PATTERN: &str = "^[0-9]+(ms|s|m|min|h|d)?$";
const SIZE_PATTERN: &str = "^[0-9]+[MG]?$";
const MONEY_PATTERN: &str = r"^\$?[0-9]+(\.[0-9]{1,6})?$";
const TOKENS_PATTERN: &str = "^[0-9]+[kM]?$";
/// Reference to the schema of a check. It is recursive, because stages are checks.
const CHECK_SCHEMA_REF: &str = "#/$defs/check";
const VARIABLE_NAME_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Returns the JSON schema of `config.yaml`.
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = table_schema(CONFIG_KEYS, "", &mut Settings::default());
    if let Some(top) = schema.as_object_mut() {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("ralph configuration"));
        top.insert("$defs".to_owned(), json!({ "check": check_schema() }));
    }
    schema
}

/// Returns the schema of the keys below `prefix`, with a nested table for each name before a dot.
fn table_schema<S>(keys: &[ConfigKey<S>], prefix: &str, defaults: &mut S) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let Some(rest) = key.path.strip_prefix(prefix) else { continue };
        match rest.split_once('.') {
            None => drop(properties.insert(rest.to_owned(), key_schema(key, defaults))),
            Some((name, _)) if properties.contains_key(name) => {}
            Some((name, _)) => {
                let below = table_schema(keys, &format!("{prefix}{name}."), defaults);
                properties.insert(name.to_owned(), below);
            }
        }
    }
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

fn key_schema<S>(key: &ConfigKey<S>, defaults: &mut S) -> Value {
    let (mut schema, help) = match &key.target {
        KeyTarget::Reserved { default } => (reserved_schema(default), format!("{} (not available yet)", key.help)),
        KeyTarget::Slot(slot) => (slot_schema_with_default(slot, defaults), key.help.to_owned()),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), help.into());
    }
    schema
}

fn reserved_schema(default: &str) -> Value {
    let default = yaml::parse(default).map(|node| yaml_to_json(&node)).unwrap_or_default();
    json!({ "const": default, "default": default })
}

/// Converts a YAML default to JSON.
fn yaml_to_json(node: &DocumentNode) -> Value {
    match &node.content {
        NodeContent::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        NodeContent::List(items) => items.iter().map(yaml_to_json).collect(),
        NodeContent::Null | NodeContent::Map(_) => Value::Null,
    }
}

fn slot_schema_with_default<S>(slot: &for<'a> fn(&'a mut S) -> SettingSlot<'a>, defaults: &mut S) -> Value {
    let mut schema = slot_schema(&slot(defaults));
    let Setting { value: default, .. } = slot_value(slot(defaults));
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("default".to_owned(), default);
    }
    schema
}

fn bounded_integer_schema(bounds: NumberBounds, types: &[&str]) -> Value {
    let types = if let [one] = types { json!(one) } else { json!(types) };
    json!({ "type": types, "minimum": bounds.min, "maximum": bounds.max })
}

fn slot_schema(slot: &SettingSlot<'_>) -> Value {
    match slot {
        SettingSlot::Text(_) => json!({ "type": "string", "minLength": 1 }),
        SettingSlot::MaybeText(_) => json!({ "type": ["string", "null"], "minLength": 1 }),
        SettingSlot::MaybeTexts(_) => json!({ "type": ["array", "null"], "items": { "type": "string" } }),
        SettingSlot::Table(_) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": VARIABLE_NAME_PATTERN },
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        }),
        SettingSlot::Texts(_) => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        SettingSlot::Flag(_) => json!({ "type": "boolean" }),
        SettingSlot::Switch(_) => json!({ "enum": [true, false, "on", "off"] }),
        SettingSlot::Count(_, bounds) => bounded_integer_schema(*bounds, &["integer"]),
        SettingSlot::Time(_) => positive_number_schema(DURATION_PATTERN, &["string", "integer"]),
        SettingSlot::MaybeTime(_) => positive_number_schema(DURATION_PATTERN, &["string", "integer", "null"]),
        SettingSlot::Size(_) => positive_number_schema(SIZE_PATTERN, &["string", "integer"]),
        SettingSlot::MaybeSize(_) => positive_number_schema(SIZE_PATTERN, &["string", "integer", "null"]),
        SettingSlot::MaybeCount(_, bounds) => bounded_integer_schema(*bounds, &["integer", "null"]),
        SettingSlot::MaybeTokens(_) => positive_number_schema(TOKENS_PATTERN, &["string", "integer", "null"]),
        SettingSlot::MaybeMoney(_) => money_schema(),
        SettingSlot::MaybeFormat(_) => enum_schema(
            [ADAPTER_JSON_FORMAT].into_iter().chain(OutputFormat::ALL.iter().map(|format| format.name())).map(Some),
        ),
        SettingSlot::MaybePermission(_) => {
            enum_schema(PermissionLevel::ALL.iter().map(|permission| Some(permission.name())).chain([None]))
        }
        SettingSlot::Matching(_) => choice_schema(MATCHING_CHOICES),
        SettingSlot::Context(_) => choice_schema(CONTEXT_CHOICES),
        SettingSlot::Scope(_) => choice_schema(SCOPE_CHOICES),
        SettingSlot::Method(_) => choice_schema(METHOD_CHOICES),
        SettingSlot::Protection(_) => choice_schema(PROTECTION_CHOICES),
        SettingSlot::Isolation(_) => choice_schema(ISOLATION_CHOICES),
        SettingSlot::Commit(_) => choice_schema(COMMIT_CHOICES),
        SettingSlot::Landing(_) => choice_schema(LANDING_CHOICES),
        SettingSlot::Messages(_) => choice_schema(MESSAGE_CHOICES),
        SettingSlot::Contradictions(_) => {
            json!({ "type": ["boolean", "array"], "items": { "type": "string" } })
        }
        SettingSlot::Checks(_) => json!({
            "type": ["array", "null"],
            "items": { "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": CHECK_SCHEMA_REF }] },
        }),
        SettingSlot::Stages(_) => json!({ "type": ["array", "null"], "items": { "$ref": CHECK_SCHEMA_REF } }),
        SettingSlot::Command(_) => json!({
            "type": ["string", "array", "null"], "minLength": 1, "items": { "type": "string" }, "minItems": 1,
        }),
        SettingSlot::Strings(_) => {
            json!({ "type": ["array", "string", "null"], "items": { "type": "string" } })
        }
        SettingSlot::Json(_) => json!({}),
        SettingSlot::With(_) => template_arguments_schema(),
        SettingSlot::MaybeApi(_) => enum_schema(JudgeApi::ALL.iter().map(|api| Some(api.name())).chain([None])),
        SettingSlot::OnError(_) => choice_schema(ON_ERROR_CHOICES),
        SettingSlot::Agents(_) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": table_schema(AGENT_KEYS, "", &mut AgentSettings::default()),
        }),
        SettingSlot::Notify(_) => json!({ "type": ["array", "null"], "items": target_schema() }),
    }
}

fn template_arguments_schema() -> Value {
    json!({
        "type": ["object", "null"],
        "additionalProperties": {
            "type": ["string", "number", "boolean", "array"],
            "items": { "type": ["string", "number", "boolean"] },
        },
    })
}

/// A positive amount.
fn money_schema() -> Value {
    json!({ "type": ["string", "number", "null"], "pattern": MONEY_PATTERN, "exclusiveMinimum": 0 })
}

/// One of the names in `table`.
fn choice_schema<T>(table: &[(&'static str, T)]) -> Value {
    enum_schema(table.iter().map(|(name, _)| Some(*name)))
}

/// A number of at least 1, with or without a unit.
fn positive_number_schema(pattern: &str, types: &[&str]) -> Value {
    json!({ "type": types, "pattern": pattern, "minimum": 1 })
}

fn enum_schema<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Value {
    json!({ "enum": names.collect::<Vec<_>>() })
}

fn target_schema() -> Value {
    let mut schema = table_schema(NOTIFY_KEYS, "", &mut NotifyDraft::default());
    schema["type"] = json!("object");
    schema["required"] = json!(["kind"]);
    schema["properties"]["kind"] =
        json!({ "enum": NotifyChannel::NAMES, "description": schema["properties"]["kind"]["description"] });
    schema
}

fn check_schema() -> Value {
    let mut schema = table_schema(CHECK_KEYS, "", &mut CheckDraft::default());
    schema["type"] = json!("object");
    let parts = ["command", "template", "plugin", "stages", "check_for", "negative_patterns", "method", "config"];
    schema["anyOf"] = parts.iter().map(|part| json!({ "required": [part] })).collect();
    schema
}
