//! Today's records. A text arrives in pieces that repeat what was said so far; only its end is read.
use super::reader::Reader;
use super::record::{Event, Model, Record};
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::{AgentEvent, ErrorKind};
use crate::failing::fatal;
use ralph_util::json;

/// What is known about the run so far.
#[derive(Debug, Default)]
pub(super) struct Run {
    total_cost: f64,
    error: Option<ErrorKind>,
    task: Option<String>,
    model: Option<String>,
}

impl Reader {
    pub(super) fn run_start(&mut self, record: &Record<'_>) {
        self.run.model = json::string(record.model_id);
    }

    pub(super) fn hook_event(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let starts = json::name(record.hook) == "agent_start" && !json::is_set(record.parent);
        if starts && self.run.task.is_none() {
            self.run.task = json::string(record.task);
            out.push(self.run.started());
        }
    }

    pub(super) fn agent_event(&mut self, event: &Event<'_>, out: &mut Vec<AgentEvent>) {
        match (json::name(event.kind), json::name(event.content)) {
            ("content_end", "text") => self.speak(json::string(event.text), out),
            ("content_end", "reasoning") => out.extend(thinking(event)),
            ("content_start", "tool") => out.push(tool_call(event)),
            ("content_end", "tool") => out.push(tool_result(event)),
            ("usage", _) => out.extend(self.run.usage(event)),
            ("error", _) => out.push(self.run.failure(event)),
            _ => {}
        }
    }

    pub(super) fn run_result(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.run.model_named(record.model.unwrap_or_default()));
        let reason = json::name(record.finish_reason);
        let (ok, text) = (reason == "completed", json::string(record.text));
        if !ok {
            let message = text.unwrap_or_else(|| reason.to_owned());
            let kind = self.run.error.unwrap_or_else(|| classify::by_words(&message));
            fatal(kind, message, out);
        } else if !self.has_spoken {
            self.speak(text, out);
        }
        out.push(AgentEvent::Finished { ok });
    }
}

impl Run {
    fn started(&self) -> AgentEvent {
        AgentEvent::Started { session: self.task.clone(), model: self.model.clone() }
    }

    /// Without `--verbose` the model is named only at the end.
    fn model_named(&mut self, model: Model<'_>) -> Option<AgentEvent> {
        let is_news = self.model.is_none() && model.id.is_some();
        self.model = self.model.take().or_else(|| json::string(model.id));
        is_news.then(|| self.started())
    }

    /// Tokens are those of one call; the cost is the whole run's.
    fn usage(&mut self, event: &Event<'_>) -> Option<AgentEvent> {
        let cost_usd = json::amount(event.total_cost).map(|total| {
            let added = (total - self.total_cost).max(0.0);
            self.total_cost = self.total_cost.max(total);
            added
        });
        let (input_tokens, output_tokens) =
            (json::count(event.input_tokens), json::count(event.output_tokens));
        let known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
        known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
    }

    /// Whether it was fatal the final record says.
    fn failure(&mut self, event: &Event<'_>) -> AgentEvent {
        let [message] = json::pick_in(event.error, ["message"]);
        let message = json::string(message).or_else(|| json::string(event.error)).unwrap_or_default();
        let kind = match json::name(event.error_class) {
            "auth" => ErrorKind::Auth,
            "rate_limit" => ErrorKind::RateLimit,
            _ => classify::by_words(&message),
        };
        self.error = Some(kind);
        AgentEvent::Error { kind, message, fatal: false }
    }
}

fn thinking(event: &Event<'_>) -> Option<AgentEvent> {
    let text = json::start_of_string(event.text.or(event.reasoning), EXCERPT * 2)?;
    Some(AgentEvent::Thinking { text: one_line(&text, EXCERPT) })
}

fn tool_call(event: &Event<'_>) -> AgentEvent {
    let name = json::start_of_string(event.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: detail::of_input(event.input) }
}

/// The output is one answer or a list of them; the first one is shown.
fn tool_result(event: &Event<'_>) -> AgentEvent {
    let first = event.output.map(|output| json::first_element(output).unwrap_or(output));
    let [result, success] = json::pick_in(first, ["result", "success"]);
    let ok = !json::is_set(event.error) && success != Some(b"false");
    AgentEvent::ToolResult { ok, excerpt: detail::excerpt(event.error.or(result).or(event.output)) }
}

pub(super) fn aborted(record: &Record<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::string(record.message).unwrap_or_default();
    out.push(AgentEvent::Error { kind: ErrorKind::Crash, message, fatal: true });
    out.push(AgentEvent::Finished { ok: false });
}

pub(super) fn error_record(record: &Record<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::string(record.message).unwrap_or_default();
    fatal(classify::by_words(&message), message, out);
}
