//! The output of a node, which the nodes after it read.
use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::output_schema::strip_code_fence;

/// The output of a node. The text is whole; blanks around it are removed by the caller if the kind of the node says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NodeOutput {
    /// The node has completed.
    Completed {
        text: String,
        /// The value of a node with an `output_format`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed: Option<TypedOutput>,
    },
    Failed,
    Skipped,
    /// The node has not settled.
    NotRun,
}

/// An output that its `output_format` has accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TypedOutput {
    pub value: Value,
    /// The fields that the schema declares. `None`: it declares none, so that any field may occur.
    pub declared_fields: Option<Vec<String>>,
    /// Whether the schema allows other fields by name (`additionalProperties`).
    #[serde(default)]
    pub allows_other_fields: bool,
}

/// Why a reference to an output has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    #[error("the node has failed")]
    NodeFailed,
    #[error("the node was skipped, so it has no field `{field}`")]
    NodeSkipped { field: String },
    #[error("the node has not run")]
    NodeNotRun,
    #[error("the `output_format` of the node has no property `{field}`{}", list_fields(.declared))]
    UndeclaredField { field: String, declared: Vec<String> },
    #[error("the output is not a JSON object, so it has no field `{field}`")]
    NotAnObject { field: String },
    #[error("the output has no field `{field}`{}", list_fields(.present))]
    MissingField { field: String, present: Vec<String> },
}

fn list_fields(fields: &[String]) -> String {
    if fields.is_empty() { String::new() } else { alloc::format!("; it has {}", fields.join(", ")) }
}

impl NodeOutput {
    /// A completed output without a schema.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Completed { text: text.into(), typed: None }
    }

    /// Returns the whole output, or the text form of one field. A skipped node has an empty output and no fields.
    pub fn read(&self, field: Option<&str>) -> Result<Cow<'_, str>, OutputError> {
        match (self, field) {
            (Self::Failed, _) => Err(OutputError::NodeFailed),
            (Self::NotRun, _) => Err(OutputError::NodeNotRun),
            (Self::Skipped, None) => Ok(Cow::Borrowed("")),
            (Self::Skipped, Some(field)) => Err(OutputError::NodeSkipped { field: field.to_owned() }),
            (Self::Completed { text, .. }, None) => Ok(Cow::Borrowed(text)),
            (Self::Completed { typed: Some(typed), .. }, Some(field)) => typed.read_field(field),
            (Self::Completed { text, typed: None }, Some(field)) => read_untyped_field(text, field),
        }
    }
}

impl TypedOutput {
    fn read_field(&self, field: &str) -> Result<Cow<'_, str>, OutputError> {
        let Value::Object(object) = &self.value else {
            return Err(OutputError::NotAnObject { field: field.to_owned() });
        };
        let Some(declared) = &self.declared_fields else {
            return read_present_field(object, field).map(value_text);
        };
        let is_declared = declared.iter().any(|name| name == field);
        if !is_declared && self.allows_other_fields {
            return read_present_field(object, field).map(value_text);
        }
        if !is_declared {
            return Err(OutputError::UndeclaredField { field: field.to_owned(), declared: declared.clone() });
        }
        Ok(object.get(field).map_or(Cow::Borrowed(""), value_text))
    }
}

/// A node without a schema: its output must be an object that has the field.
fn read_untyped_field(text: &str, field: &str) -> Result<Cow<'static, str>, OutputError> {
    let parsed = serde_json::from_str::<Map<String, Value>>(strip_code_fence(text));
    let object = parsed.map_err(|_| OutputError::NotAnObject { field: field.to_owned() })?;
    read_present_field(&object, field).map(|value| Cow::Owned(value_text(value).into_owned()))
}

fn read_present_field<'a>(object: &'a Map<String, Value>, field: &str) -> Result<&'a Value, OutputError> {
    let present = || object.keys().take(20).cloned().collect();
    object.get(field).ok_or_else(|| OutputError::MissingField { field: field.to_owned(), present: present() })
}

/// The text form of a value: texts as they are, null as nothing, all else as compact JSON.
#[must_use]
pub fn value_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: W3
    #[test]
    fn the_text_of_a_value_has_no_quotes_of_its_own() {
        let text = |value: Value| value_text(&value).into_owned();
        assert_eq!(text(json!("a \"b\"\n")), "a \"b\"\n");
        assert_eq!(text(json!(7)), "7");
        assert_eq!(text(json!(0.5)), "0.5");
        assert_eq!(text(json!(false)), "false");
        assert_eq!(text(json!(null)), "");
        assert_eq!(text(json!({ "a": ["b", 1] })), "{\"a\":[\"b\",1]}");
    }

    // spec: W3
    #[test]
    fn an_output_without_a_schema_may_be_an_object_in_a_code_fence() {
        let output = NodeOutput::text("```json\n{\"a\": \"b\"}\n```");
        assert_eq!(output.read(Some("a")), Ok(Cow::Borrowed("b")));
    }

    // spec: W3
    #[test]
    fn a_schema_that_allows_other_fields_gives_those_that_are_present() {
        let declared_fields = Some(Vec::from(["a".to_owned()]));
        let output = TypedOutput { value: json!({ "b": 1 }), declared_fields, allows_other_fields: true }.into_output();
        assert_eq!(output.read(Some("a")), Ok(Cow::Borrowed("")));
        assert_eq!(output.read(Some("b")), Ok(Cow::Owned("1".to_owned())));
        let missing = OutputError::MissingField { field: "c".to_owned(), present: Vec::from(["b".to_owned()]) };
        assert_eq!(output.read(Some("c")), Err(missing));
    }

    // spec: W3
    #[test]
    fn a_whole_output_is_read_as_it_is() {
        assert_eq!(NodeOutput::text(" a\n\n").read(None), Ok(Cow::Borrowed(" a\n\n")));
    }

    // spec: W3
    #[test]
    fn an_output_is_the_same_after_it_was_stored() {
        let typed = TypedOutput { value: json!({ "a": 1 }), declared_fields: None, allows_other_fields: true };
        for output in [typed.into_output(), NodeOutput::text("x"), NodeOutput::Skipped] {
            let stored = serde_json::to_string(&output).unwrap();
            assert_eq!(serde_json::from_str::<NodeOutput>(&stored).unwrap(), output);
        }
    }
}
