//! Checks the answer of an agent against the `output_format` of its node. An answer that does not fit is an error with
//! a reason that the agent can act on.
mod find_json;
#[cfg(test)]
mod tests;
mod validate;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use self::find_json::{find_json_values, parse_whole};
pub use self::validate::SchemaViolation;
use self::validate::{find_violations, is_checked_keyword};
use super::output::{NodeOutput, TypedOutput};

/// Why an answer is not the output of its node.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OutputFormatError {
    #[error("the answer is empty")]
    Empty,
    #[error("the answer has no JSON object")]
    NoObject,
    #[error("the JSON object does not match the schema: {}", list_violations(.0))]
    Mismatch(Vec<SchemaViolation>),
}

fn list_violations(violations: &[SchemaViolation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Reads the value from the answer of an agent: the answer itself, the text in its code fence, or else the last JSON
/// object in its text that matches the schema.
pub fn read_typed_output(answer: &str, schema: &Value) -> Result<TypedOutput, OutputFormatError> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(OutputFormatError::Empty);
    }
    if let Some(value) = parse_whole(answer).filter(|value| value.is_object() || !wants_object(schema)) {
        return check_value(value, schema);
    }
    let mut first_error = OutputFormatError::NoObject;
    let mut is_first = true;
    for value in find_json_values(answer).into_iter().rev() {
        match check_value(value, schema) {
            Ok(typed) => return Ok(typed),
            Err(error) if is_first => first_error = error,
            Err(_) => {}
        }
        is_first = false;
    }
    Err(first_error)
}

fn check_value(value: Value, schema: &Value) -> Result<TypedOutput, OutputFormatError> {
    let violations = find_violations(&value, schema);
    if violations.is_empty() {
        let allows_other_fields =
            schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
        return Ok(TypedOutput { value, declared_fields: declared_fields(schema), allows_other_fields });
    }
    Err(OutputFormatError::Mismatch(violations))
}

/// The fields that a schema declares. `None`: it declares none.
#[must_use]
pub fn declared_fields(schema: &Value) -> Option<Vec<String>> {
    Some(schema.get("properties")?.as_object()?.keys().cloned().collect())
}

/// A schema without a type is that of an object.
fn wants_object(schema: &Value) -> bool {
    schema.get("type").is_none_or(|kind| kind == "object")
}

/// The paragraph of a prompt that asks for an answer with this schema.
#[must_use]
pub fn describe_output_format(schema: &Value) -> String {
    format!(
        "End with your answer as one JSON object that matches this schema. Write the object alone, without other text:\n\n\
         ```json\n{schema:#}\n```"
    )
}

/// The prompt that asks the agent again after an answer that does not fit.
#[must_use]
pub fn ask_again(error: &OutputFormatError, schema: &Value) -> String {
    format!("Your answer cannot be used: {error}.\n\n{}", describe_output_format(schema))
}

/// The keywords of a schema that are not checked, such as `pattern`. Each one occurs once.
#[must_use]
pub fn unchecked_keywords(schema: &Value) -> Vec<String> {
    let mut keywords = Vec::new();
    collect_unchecked(schema, &mut keywords);
    keywords
}

fn collect_unchecked(schema: &Value, keywords: &mut Vec<String>) {
    let Value::Object(object) = schema else { return };
    for (keyword, value) in object {
        match keyword.as_str() {
            "properties" => {
                value.as_object().into_iter().flatten().for_each(|(_, part)| collect_unchecked(part, keywords));
            }
            "items" | "additionalProperties" => collect_unchecked(value, keywords),
            "anyOf" | "oneOf" | "allOf" => {
                value.as_array().into_iter().flatten().for_each(|part| collect_unchecked(part, keywords));
            }
            _ if is_checked_keyword(keyword) || keywords.contains(keyword) => {}
            _ => keywords.push(keyword.to_owned()),
        }
    }
}

impl TypedOutput {
    /// The output of the node: its text is the value as compact JSON.
    #[must_use]
    pub fn into_output(self) -> NodeOutput {
        NodeOutput::Completed { text: self.value.to_string(), typed: Some(self) }
    }
}

/// Removes one code fence around a text.
pub(super) fn strip_code_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```").and_then(|inside| inside.strip_suffix("```")) else {
        return text;
    };
    // The first line may name the language.
    inside.split_once('\n').map_or(text, |(_, body)| body.trim())
}
