//! The agent's tool calls. A call is reported once it has a specific description or has started, its result when it has
//! finished.
use std::collections::VecDeque;

use super::message::{AcpSessionUpdate, AcpToolLocation};
use crate::stream::event::{AgentEvent, push_at_work_once};
use crate::stream::tool_summary;
use ralph_util::json::{self, MalformedJson};

/// Maximum number of open calls that are remembered. The oldest is dropped first.
const MAX_OPEN_CALLS: usize = 64;
const MAX_NAME_BYTES: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct AcpToolCalls {
    open_calls: VecDeque<OpenToolCall>,
    event_detail: AcpEventDetail,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AcpEventDetail {
    #[default]
    Full,
    ActivityOnly,
}

#[derive(Debug, Default)]
struct OpenToolCall {
    id: String,
    kind: String,
    is_reported: bool,
}

impl AcpToolCalls {
    pub(crate) fn skip_display_events(&mut self) {
        self.event_detail = AcpEventDetail::ActivityOnly;
    }

    /// Records a tool update from any message and appends its events.
    pub(crate) fn record_update(
        &mut self,
        update: &AcpSessionUpdate<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let description = describe_tool_call(update)?;
        let status = json::as_name(update.status);
        let is_pending = matches!(status, "pending" | "");
        let event_detail = self.event_detail;
        let tool = self.touch_open_call(update);
        if !tool.is_reported && (!is_pending || description.is_specific) {
            tool.is_reported = true;
            let name = json::decode_string_prefix(update.name, MAX_NAME_BYTES).unwrap_or_else(|| tool.display_name());
            push_tool_event(event_detail, AgentEvent::ToolCall { name, detail: description.detail }, out);
        }
        if matches!(status, "completed" | "failed") {
            self.open_calls.pop_back();
            let excerpt = tool_summary::result_excerpt(tool_output(update));
            push_tool_event(event_detail, AgentEvent::ToolResult { ok: status == "completed", excerpt }, out);
        }
        Ok(())
    }

    /// Returns the kind of a tool, which an earlier message may have reported.
    pub(crate) fn tool_kind(&mut self, update: &AcpSessionUpdate<'_>) -> String {
        self.touch_open_call(update).kind.clone()
    }

    /// Returns the call and moves it to the end of the queue, so that the least recently updated call is dropped first.
    fn touch_open_call(&mut self, update: &AcpSessionUpdate<'_>) -> &mut OpenToolCall {
        let id = json::decode_string_prefix(update.tool_call_id, MAX_NAME_BYTES * 4).unwrap_or_default();
        let known = self.open_calls.iter().position(|tool| tool.id == id).and_then(|at| self.open_calls.remove(at));
        let mut tool = known.unwrap_or_else(|| OpenToolCall { id, ..OpenToolCall::default() });
        if let Some(kind) = json::decode_string_prefix(update.tool_kind, MAX_NAME_BYTES) {
            tool.kind = kind;
        }
        if self.open_calls.len() >= MAX_OPEN_CALLS {
            self.open_calls.pop_front();
        }
        self.open_calls.push_back(tool);
        let last = self.open_calls.len() - 1;
        &mut self.open_calls[last]
    }
}

impl OpenToolCall {
    fn display_name(&self) -> String {
        if self.kind.is_empty() { "tool".to_owned() } else { self.kind.clone() }
    }
}

fn push_tool_event(event_detail: AcpEventDetail, event: AgentEvent, out: &mut Vec<AgentEvent>) {
    match (event_detail, event) {
        (AcpEventDetail::Full, event) => out.push(event),
        (AcpEventDetail::ActivityOnly, AgentEvent::ToolCall { name, .. }) => {
            out.push(AgentEvent::ToolCall { name, detail: String::new() });
        }
        (AcpEventDetail::ActivityOnly, _) => push_at_work_once(out),
    }
}

/// One line about a tool call.
struct ToolCallDetail {
    detail: String,
    /// Whether it says more than the title, which every call has from the start.
    is_specific: bool,
}

fn describe_tool_call(update: &AcpSessionUpdate<'_>) -> Result<ToolCallDetail, MalformedJson> {
    let detail = tool_summary::summarize_tool_input(update.input);
    if !detail.is_empty() {
        return Ok(ToolCallDetail { detail, is_specific: true });
    }
    let title = tool_summary::summarize_value(update.title);
    let locations = AcpToolLocation::list(update.locations)?;
    let path = locations.first().map(|location| tool_summary::summarize_value(location.path)).unwrap_or_default();
    let detail = if path.is_empty() { title } else { path };
    Ok(ToolCallDetail { detail, is_specific: false })
}

/// Returns the output of a tool: its first content block, or else its raw output.
fn tool_output<'a>(update: &AcpSessionUpdate<'a>) -> Option<json::RawJson<'a>> {
    let block = update.content.and_then(json::first_element);
    let [content, text] = json::pick_members_or_none(block, ["content", "text"]);
    let [inner] = json::pick_members_or_none(content, ["text"]);
    inner.or(text).or(update.output)
}
