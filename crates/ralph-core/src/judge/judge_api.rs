//! The HTTP APIs of judges: builds requests and parses replies. This module does no network access.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::judge_question::{JUDGE_SYSTEM_PROMPT, answer_schema};
use crate::attempt::ModelSpend;

/// The name of the answer schema, for APIs that require one.
const FINDINGS_SCHEMA_NAME: &str = "findings";
/// Enough for a few hundred findings. The Anthropic API requires a limit.
const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// Model names and error messages of an API are truncated to this length.
const MAX_QUOTED_CHARS: usize = 300;

/// The supported API protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeApi {
    /// The Anthropic Messages API.
    Anthropic,
    /// The OpenAI Chat Completions API, which other providers implement too.
    #[serde(rename = "openai")]
    OpenAi,
}

/// The endpoint of a judge. It holds the name of the variable with the key, not the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeEndpoint {
    pub api: JudgeApi,
    /// The full URL.
    pub url: String,
    pub key_env: Option<String>,
}

impl JudgeEndpoint {
    /// Returns the host of the URL, with its port if there is one. Messages use it as the name of the judge.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or(rest)
    }
}

/// The reply of an API: the judge's text or the reason why there is none, and the usage in both cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeApiReply {
    pub text: Result<String, String>,
    pub model: Option<String>,
    pub spend: ModelSpend,
}

impl JudgeApi {
    pub const ALL: &[Self] = &[Self::Anthropic, Self::OpenAi];

    /// Returns its name in configuration files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// Returns the URL of its vendor.
    #[must_use]
    pub fn default_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1/messages",
            Self::OpenAi => "https://api.openai.com/v1/chat/completions",
        }
    }

    /// Returns the environment variable that usually holds the key for that URL.
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
        let content_type = ("content-type", "application/json".to_string());
        let (version, key) = match self {
            Self::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_string());
                (Some(version), key.map(|key| ("x-api-key", key.to_string())))
            }
            Self::OpenAi => (None, key.map(|key| ("authorization", format!("Bearer {key}")))),
        };
        [Some(content_type), version, key].into_iter().flatten().collect()
    }

    /// Returns the request body: the question and the schema of the answer.
    #[must_use]
    pub fn request_body(self, model: &str, question: &str) -> String {
        let user = json!({"role": "user", "content": question});
        let body = match self {
            // All Anthropic models support a forced tool call; it is the only way to pass a schema to all of them.
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

    /// Parses the body of a successful response.
    #[must_use]
    pub fn parse_reply(self, body: &[u8]) -> JudgeApiReply {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            let text = Err("its response is not JSON".to_string());
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
    if text_at(choice, "/message/refusal").is_some_and(|refusal| !refusal.is_empty()) {
        return Err(declined_reply_error());
    }
    text_at(choice, "/message/content").map(str::to_string).ok_or_else(foreign_reply_error)
}

/// Returns the text at a JSON pointer.
fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn truncated_reply_error() -> String {
    "its answer was truncated at the token limit".to_string()
}

fn declined_reply_error() -> String {
    "it declined to answer".to_string()
}

fn foreign_reply_error() -> String {
    "its response does not match this API".to_string()
}

/// Returns the truncated error message of an error response, if there is one.
#[must_use]
pub fn error_message(body: &[u8]) -> Option<String> {
    let body = serde_json::from_slice::<Value>(body).ok()?;
    let message = ["/error/message", "/message", "/error"].iter().find_map(|pointer| text_at(&body, pointer))?;
    let message: String = message.chars().take(MAX_QUOTED_CHARS).collect();
    Some(message).filter(|message| !message.trim().is_empty())
}
