//! Records of earlier Cline versions: `say` (what the agent does) and `ask` (where it waits for the user).
use super::record::ClineRecord;
use super::stream::ClineStreamReader;
use crate::failure::classify;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use ralph_util::json::{self, RawJson};

/// The usage of the current request. It is reported repeatedly while it grows, with the same timestamp.
#[derive(Debug, Default)]
pub(crate) struct ClineRequestUsage {
    timestamp: Option<u64>,
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
}

impl ClineStreamReader {
    pub(crate) fn read_say(&mut self, record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
        let (say, text) = (json::as_name(record.say), record.text);
        match say {
            _ if json::is_true(record.partial) => {}
            "text" => self.push_message(json::decode_string(text), out),
            "completion_result" => {
                self.push_message(json::decode_string(text), out);
                out.push(AgentEvent::Finished { ok: true });
            }
            "task" | "user_feedback" | "user_feedback_diff" => out.push(AgentEvent::Prompted),
            "reasoning" => out.push(AgentEvent::Thinking { text: text_excerpt(text) }),
            "command" | "tool" | "use_mcp_server" | "browser_action" => {
                out.push(tool_call_event(say, text));
            }
            "command_output" | "mcp_server_response" | "browser_action_result" => {
                out.push(AgentEvent::ToolResult { ok: true, excerpt: tool_summary::result_excerpt(text) });
            }
            "api_req_started" => out.extend(self.request_usage.usage_event(json::parse_u64(record.timestamp), text)),
            "error" | "api_req_retried" => out.push(error_event(text, ClineErrorSeverity::Recoverable)),
            _ => {}
        }
    }

    pub(crate) fn read_ask(&mut self, record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
        let (ask, text) = (json::as_name(record.ask), record.text);
        match ask {
            _ if json::is_true(record.partial) => {}
            "completion_result" => out.push(AgentEvent::Finished { ok: true }),
            "followup" | "plan_mode_respond" => self.push_message(question_text(text), out),
            "api_req_failed" | "mistake_limit_reached" => {
                out.push(error_event(text, ClineErrorSeverity::Fatal));
                out.push(AgentEvent::Finished { ok: false });
            }
            "command" | "tool" | "use_mcp_server" => out.push(tool_call_event(ask, text)),
            _ => {}
        }
    }
}

impl ClineRequestUsage {
    /// Returns the increase in usage, which is JSON inside the record's text.
    fn usage_event(&mut self, timestamp: Option<u64>, text: Option<RawJson<'_>>) -> Option<AgentEvent> {
        let inner = json::decode_string(text)?;
        let [input, output, cost] =
            json::pick_members_or_none(Some(inner.as_bytes()), ["tokensIn", "tokensOut", "cost"]);
        let (input, output, cost) = (json::parse_u64(input), json::parse_u64(output), json::parse_amount(cost));
        if input.is_none() && output.is_none() && cost.is_none() {
            return None;
        }
        if self.timestamp != timestamp || timestamp.is_none() {
            *self = Self { timestamp, ..Self::default() };
        }
        let added = AgentEvent::Usage {
            input_tokens: input.map(|input| input.saturating_sub(self.input_tokens)),
            output_tokens: output.map(|output| output.saturating_sub(self.output_tokens)),
            cost_usd: cost.map(|cost| (cost - self.cost_usd).max(0.0)),
        };
        self.input_tokens = input.unwrap_or(self.input_tokens);
        self.output_tokens = output.unwrap_or(self.output_tokens);
        self.cost_usd = cost.unwrap_or(self.cost_usd);
        Some(added)
    }
}

#[derive(Clone, Copy)]
enum ClineErrorSeverity {
    Fatal,
    Recoverable,
}

fn error_event(text: Option<RawJson<'_>>, severity: ClineErrorSeverity) -> AgentEvent {
    let message = json::decode_string(text).unwrap_or_default();
    let kind = if message.is_empty() { AgentErrorKind::Unknown } else { classify::kind_from_message(&message) };
    AgentEvent::Error { kind, message, fatal: matches!(severity, ClineErrorSeverity::Fatal) }
}

fn text_excerpt(text: Option<RawJson<'_>>) -> String {
    to_one_line(&json::decode_string_prefix(text, EXCERPT_CHARS * 2).unwrap_or_default(), EXCERPT_CHARS)
}

/// The text is the command itself, or JSON that names another tool.
fn tool_call_event(name: &str, text: Option<RawJson<'_>>) -> AgentEvent {
    let inner = json::decode_string(text).unwrap_or_default();
    let [tool] = json::pick_members_or_none(Some(inner.as_bytes()), ["tool"]);
    match json::decode_string(tool) {
        Some(name) => AgentEvent::ToolCall { name, detail: tool_summary::summarize_tool_input(Some(inner.as_bytes())) },
        None => AgentEvent::ToolCall { name: name.to_owned(), detail: tool_summary::result_excerpt(text) },
    }
}

/// The text is the question itself, or JSON that contains it.
fn question_text(text: Option<RawJson<'_>>) -> Option<String> {
    let inner = json::decode_string(text)?;
    let [question, response] = json::pick_members_or_none(Some(inner.as_bytes()), ["question", "response"]);
    json::decode_string(question).or_else(|| json::decode_string(response)).or(Some(inner))
}
