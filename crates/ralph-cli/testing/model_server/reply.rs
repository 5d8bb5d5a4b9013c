//! The model's reply in one turn, independent of the API.
use serde_json::Value;

/// The token counts in every answer.
pub(crate) const INPUT_TOKENS: u64 = 100;
pub(crate) const CACHED_TOKENS: u64 = 30;
pub(crate) const OUTPUT_TOKENS: u64 = 7;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Text(String),
    ToolCall(ToolCall),
}

/// A call of one of the offered tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) input: ToolInput,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolInput {
    /// Arguments by name.
    Named(Value),
    /// Free text, for a custom tool.
    Free(String),
}

impl ToolInput {
    pub(crate) fn named(&self) -> Value {
        match self {
            Self::Named(value) => value.clone(),
            Self::Free(text) => Value::String(text.clone()),
        }
    }
}

/// The number of a turn, from which the unique ids in its answer are built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn(pub(crate) usize);

impl Turn {
    pub(crate) fn id(self, kind: &str) -> String {
        format!("{kind}_{:04}", self.0)
    }
}

/// Splits a text into chunks, as models stream it.
pub(crate) fn split_into_pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
    if pieces.is_empty() {
        pieces.push(String::new());
    }
    pieces
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Frame {
    /// An event that is named by its own `type`.
    pub(crate) fn typed(value: &Value) -> Self {
        let name = value["type"].as_str().map(str::to_owned);
        Self { name, data: value.to_string() }
    }

    pub(crate) fn bare(value: &Value) -> Self {
        Self { name: None, data: value.to_string() }
    }

    pub(crate) fn text(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}
