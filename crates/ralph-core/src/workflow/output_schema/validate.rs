//! Validates a value against a JSON schema, as far as schemas of workflows go.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value};

use crate::text::text_head;

/// An agent cannot act on more at once.
const MAX_VIOLATIONS: usize = 10;
/// How much of a value a message quotes.
const QUOTED_BYTES: usize = 60;

/// A part of a value that the schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// `steps[2].title`; empty for the whole value.
    pub path: String,
    pub problem: String,
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "it {}", self.problem)
        } else {
            write!(f, "`{}` {}", self.path, self.problem)
        }
    }
}

/// Whether values are checked against this keyword, or it only describes.
pub(super) fn is_checked_keyword(keyword: &str) -> bool {
    const CHECKED: &[&str] = &[
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "allOf",
    ];
    const DESCRIBING: &[&str] = &["title", "description", "default", "examples", "$schema", "$id", "$comment"];
    CHECKED.contains(&keyword) || DESCRIBING.contains(&keyword)
}

pub(super) fn find_violations(value: &Value, schema: &Value) -> Vec<SchemaViolation> {
    let mut validator = Validator { violations: Vec::new(), path: String::new() };
    validator.check(value, schema);
    validator.violations
}

struct Validator {
    violations: Vec<SchemaViolation>,
    path: String,
}

impl Validator {
    fn report(&mut self, problem: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(SchemaViolation { path: self.path.clone(), problem });
        }
    }

    /// Checks a part of the value under its path.
    fn check_part(&mut self, step: &str, value: &Value, schema: &Value) {
        let length = self.path.len();
        self.path.push_str(if length == 0 { step.trim_start_matches('.') } else { step });
        self.check(value, schema);
        self.path.truncate(length);
    }

    fn check(&mut self, value: &Value, schema: &Value) {
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                self.report("is not allowed".to_owned());
            }
            return;
        };
        if !self.check_type(value, schema) {
            return;
        }
        self.check_fixed_values(value, schema);
        match value {
            Value::Object(object) => self.check_object(object, schema),
            Value::Array(items) => self.check_array(items, schema),
            Value::String(text) => {
                self.check_size(text.chars().count(), schema, ["minLength", "maxLength"], "characters");
            }
            Value::Number(number) => self.check_number(number.as_f64(), schema),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_alternatives(value, schema);
    }

    fn check_type(&mut self, value: &Value, schema: &Map<String, Value>) -> bool {
        let Some(wanted) = schema.get("type") else { return true };
        let names: Vec<&str> = match wanted {
            Value::String(name) => Vec::from([name.as_str()]),
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return true,
        };
        let fits = names.iter().any(|name| has_type(value, name));
        if !fits {
            self.report(format!("is {}, not {}", describe(value), names.join(" or ")));
        }
        fits
    }

    fn check_fixed_values(&mut self, value: &Value, schema: &Map<String, Value>) {
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            self.report(format!("is {}, not one of {}", quote(value), allowed.join(", ")));
        }
        if let Some(only) = schema.get("const").filter(|only| *only != value) {
            self.report(format!("is {}, not {}", quote(value), quote(only)));
        }
    }

    fn check_object(&mut self, object: &Map<String, Value>, schema: &Map<String, Value>) {
        let required = schema.get("required").and_then(Value::as_array);
        for field in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(field) {
                self.report(format!("has no field `{field}`"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (field, part) in object {
            let step = format!(".{field}");
            match (properties.and_then(|properties| properties.get(field)), schema.get("additionalProperties")) {
                (Some(declared), _) => self.check_part(&step, part, declared),
                (None, Some(Value::Bool(false))) => {
                    self.check_part(&step, part, &Value::Bool(false));
                }
                (None, Some(others)) => self.check_part(&step, part, others),
                (None, None) => {}
            }
        }
    }

    fn check_array(&mut self, items: &[Value], schema: &Map<String, Value>) {
        self.check_size(items.len(), schema, ["minItems", "maxItems"], "items");
        let Some(item_schema) = schema.get("items") else { return };
        for (index, item) in items.iter().enumerate() {
            self.check_part(&format!("[{index}]"), item, item_schema);
        }
    }

    fn check_size(&mut self, size: usize, schema: &Map<String, Value>, [least, most]: [&str; 2], unit: &str) {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        if let Some(least) = limit(least).filter(|least| size < *least) {
            self.report(format!("has {size} {unit}, fewer than {least}"));
        }
        if let Some(most) = limit(most).filter(|most| size > *most) {
            self.report(format!("has {size} {unit}, more than {most}"));
        }
    }

    fn check_number(&mut self, number: Option<f64>, schema: &Map<String, Value>) {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let Some(number) = number else { return };
        if let Some(least) = limit("minimum").filter(|least| number < *least) {
            self.report(format!("is {number}, less than {least}"));
        }
        if let Some(most) = limit("maximum").filter(|most| number > *most) {
            self.report(format!("is {number}, more than {most}"));
        }
    }

    fn check_alternatives(&mut self, value: &Value, schema: &Map<String, Value>) {
        let parts = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
        for part in parts("allOf").into_iter().flatten() {
            self.check(value, part);
        }
        let matches = |parts: &[Value]| parts.iter().filter(|part| find_violations(value, part).is_empty()).count();
        if parts("anyOf").is_some_and(|parts| matches(parts) == 0) {
            self.report("matches none of the alternatives of `anyOf`".to_owned());
        }
        if let Some(count) = parts("oneOf").map(|parts| matches(parts)).filter(|count| *count != 1) {
            self.report(format!("matches {count} of the alternatives of `oneOf`, not exactly one"));
        }
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number" || name == "integer" && number.as_f64().is_none_or(|number| number % 1.0 == 0.0)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("the boolean {}", quote(value)),
        Value::Number(_) => format!("the number {}", quote(value)),
        Value::String(_) => format!("the text {}", quote(value)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn quote(value: &Value) -> String {
    let text = value.to_string();
    let head = text_head(&text, QUOTED_BYTES);
    if head.len() < text.len() { format!("{head}…") } else { text }
}
