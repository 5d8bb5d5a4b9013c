//! Judges that are asked over HTTP: what is sent to them, and what of their answer counts. Nothing here knows a network.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::judge_question::{JUDGE_SYSTEM_PROMPT, answer_schema};
use crate::attempt::ModelSpend;

/// What the findings are called, where an API wants a name for them.
const FINDINGS_SCHEMA_NAME: &str = "findings";
/// Room for a few hundred findings; one of the APIs wants to be told.
const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// How much of an API's own words is repeated.
const MAX_QUOTED_CHARS: usize = 300;

/// The two that everybody speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeApi {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    #[serde(rename = "openai")]
    OpenAi,
}

/// Where a judge is asked. The key is not in it, only the variable that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeEndpoint {
    pub api: JudgeApi,
    /// The whole address.
    pub url: String,
    pub key_env: Option<String>,
}

impl JudgeEndpoint {
    /// Returns what the judge is called: the host of its address, and the port where one is written.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or(rest)
    }
}

/// What an API told: the judge's words, or why there are none, and what they cost either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeApiReply {
    pub text: Result<String, String>,
    pub model: Option<String>,
    pub spend: ModelSpend,
}

impl JudgeApi {
    pub const ALL: &[Self] = &[Self::Anthropic, Self::OpenAi];

    /// Returns the name under which it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// Returns the address that its vendor has for it.
    #[must_use]
    pub fn default_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1/messages",
            Self::OpenAi => "https://api.openai.com/v1/chat/completions",
        }
    }

    /// Returns the variable in which people keep the key for that address.
    #[must_use]
    pub fn default_key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// Returns the headers of a request, by name.
    #[must_use]
    pub fn request_headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let kind = ("content-type", "application/json".to_string());
        let (version, key) = match self {
            Self::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_string());
                (Some(version), key.map(|key| ("x-api-key", key.to_string())))
            }
            Self::OpenAi => (None, key.map(|key| ("authorization", format!("Bearer {key}")))),
        };
        [Some(kind), version, key].into_iter().flatten().collect()
    }

    /// Returns the body of a request: the question, and the schema that the answer must have.
    #[must_use]
    pub fn request_body(self, model: &str, question: &str) -> String {
        let user = json!({"role": "user", "content": question});
        let body = match self {
            // A tool that must be called is the one way of giving a schema that all of its models know.
            Self::Anthropic => json!({
                "model": model,
                "max_tokens": MAX_OUTPUT_TOKENS,
                "system": JUDGE_SYSTEM_PROMPT,
                "messages": [user],
                "tools": [{"name": FINDINGS_SCHEMA_NAME, "description": "Gives the answer.", "input_schema": answer_schema()}],
                "tool_choice": {"type": "tool", "name": FINDINGS_SCHEMA_NAME},
            }),
            Self::OpenAi => json!({
                "model": model,
                "messages": [{"role": "system", "content": JUDGE_SYSTEM_PROMPT}, user],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": FINDINGS_SCHEMA_NAME, "strict": true, "schema": answer_schema()},
                },
            }),
        };
        body.to_string()
    }

    /// Reads the body of an answer that its server calls a success.
    #[must_use]
    pub fn parse_reply(self, body: &[u8]) -> JudgeApiReply {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            let text = Err("its answer is no JSON".to_string());
            return JudgeApiReply { text, model: None, spend: ModelSpend::default() };
        };
        let (text, [input, output]) = match self {
            Self::Anthropic => (text_from_messages(&body), ["input_tokens", "output_tokens"]),
            Self::OpenAi => (text_from_completions(&body), ["prompt_tokens", "completion_tokens"]),
        };
        let count = |name: &str| body.get("usage")?.get(name)?.as_u64();
        let spend = ModelSpend { input_tokens: count(input), output_tokens: count(output), cost_micros: None };
        JudgeApiReply {
            text,
            model: text_at(&body, "/model").map(|name| name.chars().take(MAX_QUOTED_CHARS).collect()),
            spend,
        }
    }
}

fn text_from_messages(body: &Value) -> Result<String, String> {
    match text_at(body, "/stop_reason") {
        Some("max_tokens") => return Err(truncated_reply_error()),
        Some("refusal") => return Err(declined_reply_error()),
        Some(_) | None => {}
    }
    let blocks = body.get("content").and_then(Value::as_array).ok_or_else(foreign_reply_error)?;
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| text_at(block, "/type") == Some(kind));
    let mut calls = of_kind("tool_use");
    match (calls.next(), calls.next()) {
        (Some(_), Some(_)) => Err("it answered more than once".to_string()),
        (Some(call), None) => call.get("input").map(Value::to_string).ok_or_else(foreign_reply_error),
        (None, _) => Ok(of_kind("text").filter_map(|block| text_at(block, "/text")).collect()),
    }
}

fn text_from_completions(body: &Value) -> Result<String, String> {
    let choices = body.get("choices").and_then(Value::as_array).ok_or_else(foreign_reply_error)?;
    let [choice] = choices.as_slice() else { return Err("it did not answer exactly once".to_string()) };
    match text_at(choice, "/finish_reason") {
        Some("length") => return Err(truncated_reply_error()),
        Some("content_filter") => return Err(declined_reply_error()),
        Some(_) | None => {}
    }
    if text_at(choice, "/message/refusal").is_some_and(|words| !words.is_empty()) {
        return Err(declined_reply_error());
    }
    text_at(choice, "/message/content").map(str::to_string).ok_or_else(foreign_reply_error)
}

/// Returns the text at a place.
fn text_at<'a>(value: &'a Value, place: &str) -> Option<&'a str> {
    value.pointer(place).and_then(Value::as_str)
}

fn truncated_reply_error() -> String {
    "its answer was cut off by the limit of tokens".to_string()
}

fn declined_reply_error() -> String {
    "it declined to answer".to_string()
}

fn foreign_reply_error() -> String {
    "its answer is not one of this API".to_string()
}

/// Returns the words of an answer that tells of an error, bounded; nothing where there are none.
#[must_use]
pub fn error_message(body: &[u8]) -> Option<String> {
    let body = serde_json::from_slice::<Value>(body).ok()?;
    let words = ["/error/message", "/message", "/error"].iter().find_map(|place| text_at(&body, place))?;
    let words: String = words.chars().take(MAX_QUOTED_CHARS).collect();
    Some(words).filter(|words| !words.trim().is_empty())
}
