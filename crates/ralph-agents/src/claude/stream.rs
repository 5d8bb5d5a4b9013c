//! Parses Claude's stream into events. Only assistant text of the main thread is agent text: a record with a parent
//! tool call comes from a sub-agent, and user records are prompts, hook feedback or tool results.
use super::failure;
use super::record::{ClaudeContent, ClaudeContentBlock, ClaudeMessage, ClaudeRecord};
use super::tool_result_skip::ToolResultDetector;
use super::usage::ClaudeUsageTracker;
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::failure::limit_reset::LimitReset;
use crate::stream::event::{
    AgentErrorKind, AgentEvent, AgentFailure, name_of_nested_call, permission_denied_event, push_at_work_once,
};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, PriorUsage, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use crate::stream::usage_totals::UsageTotals;
use ralph_util::json::{self, JsonCursor, MalformedJson, RawJson};

/// The model name of messages that Claude Code itself writes in place of an answer.
pub(super) const SYNTHETIC_MODEL: &str = "<synthetic>";

/// The prefix of API errors that compatible programs write as agent text.
const API_ERROR_PREFIX: &str = "[API Error: ";

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<ClaudeStreamReader>::default()
}

/// Returns a parser for programs with the same format that write API errors as agent text.
pub(crate) fn compatible_stream_parser() -> impl StreamParser {
    JsonLinesParser::with_reader(ClaudeStreamReader {
        api_error_style: ApiErrorStyle::AsText,
        ..ClaudeStreamReader::default()
    })
}

#[derive(Debug, Default)]
struct ClaudeStreamReader {
    numbering: MessageNumbering,
    usage: ClaudeUsageTracker,
    last_started: Option<AgentEvent>,
    /// Whether there was agent text: then the text of a result only repeats it, possibly from an earlier turn.
    has_spoken: bool,
    /// The kind of the last API failure since the last result.
    last_api_error: Option<AgentErrorKind>,
    event_detail: ClaudeEventDetail,
    api_error_style: ApiErrorStyle,
    totals: UsageTotals,
    /// Whether a separate record has reported when the rate limit ends.
    is_reset_known: bool,
    tool_result_detector: ToolResultDetector,
}

/// How API errors are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ApiErrorStyle {
    #[default]
    Marked,
    AsText,
}

/// Whether tools and reasoning are reported in detail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ClaudeEventDetail {
    #[default]
    Full,
    ActivityOnly,
}

impl RecordReader for ClaudeStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        if self.event_detail == ClaudeEventDetail::ActivityOnly && self.tool_result_detector.is_only_tool_result(line) {
            push_at_work_once(out);
            return Ok(RecordStatus::Recognised);
        }
        let record = ClaudeRecord::parse(line)?;
        match record.kind {
            "assistant" => self.read_assistant(line, &record, out),
            "user" => self.read_user(&record, out),
            "result" => self.read_result(line, out)?,
            "system" => self.read_system(line, record.subtype, out),
            "stream_event" => self.read_stream_event(&record, out),
            "rate_limit_event" => self.read_rate_limit(line, out),
            "control_request" | "control_response" | "keep_alive" | "tool_progress" | "auth_status" => {}
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }

    fn is_tool_record(&self, head: &[u8]) -> bool {
        head.starts_with(br#"{"type":"user","#)
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.totals.continue_from(before);
    }

    fn skip_display_events(&mut self) {
        self.event_detail = ClaudeEventDetail::ActivityOnly;
    }
}

impl ClaudeStreamReader {
    fn read_assistant(&mut self, line: &[u8], record: &ClaudeRecord<'_>, out: &mut Vec<AgentEvent>) {
        let is_failure = !record.error.is_empty() || json::as_name(record.message.model) == SYNTHETIC_MODEL;
        if is_failure && !record.is_nested {
            self.read_api_error(line, record, out);
            return;
        }
        if let (ClaudeContent::Text(text), false) = (&record.message.content, record.is_nested) {
            self.push_text(&record.message, Some(text), out);
        }
        for block in content_blocks(&record.message) {
            match json::as_name(block.kind) {
                "text" if !record.is_nested => self.push_text(&record.message, block.text, out),
                "tool_use" | "server_tool_use" if self.event_detail == ClaudeEventDetail::ActivityOnly => {
                    out.push(AgentEvent::ToolCall { name: tool_name(block, record.is_nested), detail: String::new() });
                }
                "thinking" if self.event_detail == ClaudeEventDetail::ActivityOnly => {
                    out.push(AgentEvent::Thinking { text: String::new() });
                }
                "tool_use" | "server_tool_use" => out.push(tool_call_event(block, record.is_nested)),
                "thinking" if !record.is_nested => out.extend(thinking_event(block.thinking)),
                _ => {}
            }
        }
    }

    fn read_user(&self, record: &ClaudeRecord<'_>, out: &mut Vec<AgentEvent>) {
        if matches!(record.message.content, ClaudeContent::Text(_)) && !record.is_nested {
            out.push(AgentEvent::Prompted);
        }
        for block in content_blocks(&record.message) {
            match json::as_name(block.kind) {
                "text" if !record.is_nested => out.push(AgentEvent::Prompted),
                "tool_result" if self.event_detail == ClaudeEventDetail::ActivityOnly => push_at_work_once(out),
                "tool_result" => out.push(AgentEvent::ToolResult {
                    ok: !json::is_true(block.is_error),
                    excerpt: tool_summary::result_excerpt(block.content),
                }),
                _ => {}
            }
        }
    }

    fn push_text(&mut self, message: &ClaudeMessage<'_>, text: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) {
        let text = json::decode_string(text).unwrap_or_default();
        if self.api_error_style == ApiErrorStyle::AsText && text.starts_with(API_ERROR_PREFIX) {
            let kind = classify::kind_from_message(&text);
            self.last_api_error = Some(kind);
            out.push(AgentEvent::Error { kind, message: text, fatal: false });
            return;
        }
        let event = self.numbering.number_whole_message(json::decode_string(message.id), text);
        self.has_spoken |= event.is_some();
        out.extend(event);
    }

    /// Reads an API failure in the form of an answer. It is not fatal, because a later answer may follow.
    fn read_api_error(&mut self, line: &[u8], record: &ClaudeRecord<'_>, out: &mut Vec<AgentEvent>) {
        let text = content_blocks(&record.message).iter().find_map(|block| json::decode_string(block.text));
        let message = text.unwrap_or_else(|| record.error.to_owned());
        let [status] = json::pick_members_or_none(Some(line), ["api_error_status"]);
        let kind = failure::api_error_kind(record.error, json::parse_u64(status), &message);
        self.last_api_error = Some(kind);
        out.push(AgentEvent::Error { kind, message, fatal: false });
    }

    fn read_result(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<(), MalformedJson> {
        let [is_error, subtype, text, denials] =
            json::pick_members(line, ["is_error", "subtype", "result", "permission_denials"])?;
        push_denials(denials, out);
        let failed = json::is_true(is_error) || json::as_name(subtype).starts_with("error");
        if self.last_started.is_none() {
            self.report_started(line, out);
        }
        if !failed && !self.has_spoken {
            out.extend(json::decode_string(text).and_then(|text| self.numbering.number_whole_message(None, text)));
        }
        out.extend(match self.api_error_style {
            ApiErrorStyle::Marked => self.usage.usage_from_result(line),
            ApiErrorStyle::AsText => self.usage_from_compatible_result(line),
        });
        if failed {
            let AgentFailure { kind, message } = failure::failure_from_result(line, self.last_api_error);
            match self.is_reset_known {
                true => out.push(AgentEvent::Error { kind, message, fatal: true }),
                false => push_fatal_error(kind, message, out),
            }
        }
        out.push(AgentEvent::Finished { ok: !failed });
        self.last_api_error = None;
        self.is_reset_known = false;
        Ok(())
    }

    /// Compatible programs report totals of the whole session.
    fn usage_from_compatible_result(&mut self, line: &[u8]) -> Option<AgentEvent> {
        let [usage] = json::pick_members_or_none(Some(line), ["usage"]);
        let [input, output] = json::pick_members_or_none(usage, ["input_tokens", "output_tokens"]);
        self.totals.advance_to(json::parse_u64(input), json::parse_u64(output))
    }

    fn read_system(&mut self, line: &[u8], subtype: &str, out: &mut Vec<AgentEvent>) {
        match subtype {
            "init" => self.report_started(line, out),
            "api_retry" => out.push(retry_event(line)),
            "retry" => out.push(compatible_retry_event(line)),
            _ => {}
        }
    }

    /// Reports the session and the model, unless they are unchanged: a session may be announced again, for example
    /// after a background task. If only a result is printed, the result names the session.
    fn report_started(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let [session, model] = json::pick_members_or_none(Some(line), ["session_id", "model"]);
        let (session, model) = (json::decode_string(session), json::decode_string(model));
        let is_named = session.is_some() || model.is_some();
        let event = AgentEvent::Started { session, model };
        if is_named && self.last_started.as_ref() != Some(&event) {
            out.push(event.clone());
            self.last_started = Some(event);
        }
    }

    /// Only a rejection counts. The same record type also warns about an approaching limit.
    fn read_rate_limit(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let [info] = json::pick_members_or_none(Some(line), ["rate_limit_info"]);
        let [status, resets_at, window] = json::pick_members_or_none(info, ["status", "resetsAt", "rateLimitType"]);
        if json::as_name(status) == "rejected" {
            let message = format!("usage limit reached ({})", json::as_name(window));
            let reset =
                json::parse_i64(resets_at).map_or(LimitReset::Unknown {}, |reset_at| LimitReset::At { reset_at });
            self.is_reset_known = reset != LimitReset::Unknown {};
            out.push(AgentEvent::RateLimit { reset, message });
        }
    }

    fn read_stream_event(&mut self, record: &ClaudeRecord<'_>, out: &mut Vec<AgentEvent>) {
        let [kind, delta] = json::pick_members_or_none(record.event, ["type", "delta"]);
        match json::as_name(kind) {
            _ if record.is_nested => {}
            "message_start" => self.numbering.end_message(),
            "content_block_delta" => self.read_delta(delta, out),
            _ => {}
        }
    }

    fn read_delta(&mut self, delta: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) {
        let [kind, text] = json::pick_members_or_none(delta, ["type", "text"]);
        if let ("text_delta", Some(text)) = (json::as_name(kind), json::decode_string(text)) {
            self.has_spoken = true;
            out.push(self.numbering.number_piece(text));
        }
    }
}

fn content_blocks<'m, 'a>(message: &'m ClaudeMessage<'a>) -> &'m [ClaudeContentBlock<'a>] {
    match &message.content {
        ClaudeContent::Blocks(blocks) => blocks,
        ClaudeContent::Text(_) | ClaudeContent::Empty => &[],
    }
}

/// Returns the name of a called tool. It marks the calls of a sub-agent, which gives no signals for the agent.
fn tool_name(block: &ClaudeContentBlock<'_>, is_nested: bool) -> String {
    let name = json::decode_string_prefix(block.name, 80).unwrap_or_default();
    if is_nested { name_of_nested_call(name) } else { name }
}

fn tool_call_event(block: &ClaudeContentBlock<'_>, is_nested: bool) -> AgentEvent {
    AgentEvent::ToolCall { name: tool_name(block, is_nested), detail: tool_summary::summarize_tool_input(block.input) }
}

/// Reports the tool calls that were denied since the last result. A malformed list is not worth a failure.
fn push_denials(denials: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) {
    let Some(denials) = denials else { return };
    let _ = JsonCursor::new(denials).visit_array(|cursor| {
        let [name, input] = json::pick_members_or_none(Some(cursor.take_raw()?), ["tool_name", "tool_input"]);
        let name = json::decode_string_prefix(name, 80).unwrap_or_default();
        out.push(permission_denied_event(&name, &tool_summary::summarize_tool_input(input)));
        Ok(())
    });
}

fn thinking_event(text: Option<RawJson<'_>>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(text, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn retry_event(line: &[u8]) -> AgentEvent {
    let [error, status, attempt, max] =
        json::pick_members_or_none(Some(line), ["error", "error_status", "attempt", "max_retries"]);
    let (error, status) = (json::as_name(error), json::parse_u64(status));
    let (attempt, max) = (json::parse_u64(attempt).unwrap_or(0), json::parse_u64(max).unwrap_or(0));
    let message = format!("{error}, retry {attempt} of {max}");
    let kind = match (failure::api_error_kind(error, status, &message), status) {
        // Without a status, no server was reached.
        (AgentErrorKind::Unknown, None) => AgentErrorKind::Network,
        (kind, _) => kind,
    };
    AgentEvent::Error { kind, message, fatal: false }
}

/// The record gives no reason. Waits of minutes were observed only for rate limits.
fn compatible_retry_event(line: &[u8]) -> AgentEvent {
    let [data] = json::pick_members_or_none(Some(line), ["data"]);
    let [attempt, max, delay] = json::pick_members_or_none(data, ["attempt", "maxRetries", "delayMs"]);
    let message = match (json::parse_u64(attempt), json::parse_u64(max), json::parse_u64(delay)) {
        (Some(attempt), Some(max), Some(delay)) => {
            format!("retry {attempt} of {max} in {} s", delay / 1_000)
        }
        _ => "retry".to_owned(),
    };
    AgentEvent::Error { kind: AgentErrorKind::RateLimit, message, fatal: false }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
