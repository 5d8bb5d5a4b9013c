//! Records of current Cline versions. Text arrives in pieces that repeat the text so far, so only its end is read.
use super::record::{ClineAgentEvent, ClineModel, ClineRecord};
use super::stream::ClineStreamReader;
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use ralph_util::json;

/// The state of the Cline run so far.
#[derive(Debug, Default)]
pub(crate) struct ClineRunState {
    total_cost: f64,
    last_error_kind: Option<AgentErrorKind>,
    task_id: Option<String>,
    model: Option<String>,
}

impl ClineStreamReader {
    pub(crate) fn read_run_start(&mut self, record: &ClineRecord<'_>) {
        self.run_state.model = json::decode_string(record.model_id);
    }

    pub(crate) fn read_hook_event(&mut self, record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
        let starts = json::as_name(record.hook) == "agent_start" && !json::is_set(record.parent);
        if starts && self.run_state.task_id.is_none() {
            self.run_state.task_id = json::decode_string(record.task);
            out.push(self.run_state.started_event());
        }
    }

    pub(crate) fn read_agent_event(&mut self, event: &ClineAgentEvent<'_>, out: &mut Vec<AgentEvent>) {
        match (json::as_name(event.kind), json::as_name(event.content)) {
            ("content_end", "text") => self.push_message(json::decode_string(event.text), out),
            ("content_end", "reasoning") => out.extend(thinking_event(event)),
            ("content_start", "tool") => out.push(tool_call_event(event)),
            ("content_end", "tool") => out.push(tool_result_event(event)),
            ("usage", _) => out.extend(self.run_state.usage_event(event)),
            ("error", _) => out.push(self.run_state.error_event(event)),
            _ => {}
        }
    }

    pub(crate) fn read_run_result(&mut self, record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.run_state.report_model(record.model.unwrap_or_default()));
        let reason = json::as_name(record.finish_reason);
        let (ok, text) = (reason == "completed", json::decode_string(record.text));
        if !ok {
            let message = text.unwrap_or_else(|| reason.to_owned());
            let kind = self.run_state.last_error_kind.unwrap_or_else(|| classify::kind_from_message(&message));
            push_fatal_error(kind, message, out);
        } else if !self.has_spoken {
            self.push_message(text, out);
        }
        out.push(AgentEvent::Finished { ok });
    }
}

impl ClineRunState {
    fn started_event(&self) -> AgentEvent {
        AgentEvent::Started { session: self.task_id.clone(), model: self.model.clone() }
    }

    /// Without `--verbose` the model is named only at the end.
    fn report_model(&mut self, model: ClineModel<'_>) -> Option<AgentEvent> {
        let is_new = self.model.is_none() && model.id.is_some();
        self.model = self.model.take().or_else(|| json::decode_string(model.id));
        is_new.then(|| self.started_event())
    }

    /// Tokens are reported per request, the cost for the whole run.
    fn usage_event(&mut self, event: &ClineAgentEvent<'_>) -> Option<AgentEvent> {
        let cost_usd = json::parse_amount(event.total_cost).map(|total| {
            let added = (total - self.total_cost).max(0.0);
            self.total_cost = self.total_cost.max(total);
            added
        });
        let (input_tokens, output_tokens) = (json::parse_u64(event.input_tokens), json::parse_u64(event.output_tokens));
        let known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
        known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
    }

    /// Reports the error as not fatal: the final record decides.
    fn error_event(&mut self, event: &ClineAgentEvent<'_>) -> AgentEvent {
        let [message] = json::pick_members_or_none(event.error, ["message"]);
        let message = json::decode_string(message).or_else(|| json::decode_string(event.error)).unwrap_or_default();
        let kind = match json::as_name(event.error_class) {
            "auth" => AgentErrorKind::Auth,
            "rate_limit" => AgentErrorKind::RateLimit,
            _ => classify::kind_from_message(&message),
        };
        self.last_error_kind = Some(kind);
        AgentEvent::Error { kind, message, fatal: false }
    }
}

fn thinking_event(event: &ClineAgentEvent<'_>) -> Option<AgentEvent> {
    let text = json::decode_string_prefix(event.text.or(event.reasoning), EXCERPT_CHARS * 2)?;
    Some(AgentEvent::Thinking { text: to_one_line(&text, EXCERPT_CHARS) })
}

fn tool_call_event(event: &ClineAgentEvent<'_>) -> AgentEvent {
    let name = json::decode_string_prefix(event.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: tool_summary::summarize_tool_input(event.input) }
}

/// The output is one result or a list of results, of which the first is shown.
fn tool_result_event(event: &ClineAgentEvent<'_>) -> AgentEvent {
    let first = event.output.map(|output| json::first_element(output).unwrap_or(output));
    let [result, success] = json::pick_members_or_none(first, ["result", "success"]);
    let ok = !json::is_set(event.error) && success != Some(b"false");
    AgentEvent::ToolResult { ok, excerpt: tool_summary::result_excerpt(event.error.or(result).or(event.output)) }
}

pub(crate) fn read_run_aborted(record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::decode_string(record.message).unwrap_or_default();
    out.push(AgentEvent::Error { kind: AgentErrorKind::Crash, message, fatal: true });
    out.push(AgentEvent::Finished { ok: false });
}

pub(crate) fn read_error_record(record: &ClineRecord<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::decode_string(record.message).unwrap_or_default();
    push_fatal_error(classify::kind_from_message(&message), message, out);
}
