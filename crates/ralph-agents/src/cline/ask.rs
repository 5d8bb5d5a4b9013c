//! The earlier records: what the agent says, and where it stops to ask.
use super::reader::Reader;
use super::record::Record;
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::{AgentEvent, ErrorKind};
use ralph_util::json::{self, Raw};

/// The spend of the request that is under way. It is repeated as it grows, under the same time stamp.
#[derive(Debug, Default)]
pub(super) struct Requests {
    stamp: Option<u64>,
    input: u64,
    output: u64,
    cost: f64,
}

impl Reader {
    pub(super) fn say(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let (say, text) = (json::name(record.say), record.text);
        match say {
            _ if json::is_true(record.partial) => {}
            "text" => self.speak(json::string(text), out),
            "completion_result" => {
                self.speak(json::string(text), out);
                out.push(AgentEvent::Finished { ok: true });
            }
            "task" | "user_feedback" | "user_feedback_diff" => out.push(AgentEvent::Prompted),
            "reasoning" => out.push(AgentEvent::Thinking { text: excerpt(text) }),
            "command" | "tool" | "use_mcp_server" | "browser_action" => {
                out.push(tool_call(say, text));
            }
            "command_output" | "mcp_server_response" | "browser_action_result" => {
                out.push(AgentEvent::ToolResult { ok: true, excerpt: detail::excerpt(text) });
            }
            "api_req_started" => out.extend(self.asks.spend(json::count(record.stamp), text)),
            "error" | "api_req_retried" => out.push(failure(text, Fatal::No)),
            _ => {}
        }
    }

    pub(super) fn ask(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let (ask, text) = (json::name(record.ask), record.text);
        match ask {
            _ if json::is_true(record.partial) => {}
            "completion_result" => out.push(AgentEvent::Finished { ok: true }),
            "followup" | "plan_mode_respond" => self.speak(question(text), out),
            "api_req_failed" | "mistake_limit_reached" => {
                out.push(failure(text, Fatal::Yes));
                out.push(AgentEvent::Finished { ok: false });
            }
            "command" | "tool" | "use_mcp_server" => out.push(tool_call(ask, text)),
            _ => {}
        }
    }
}

impl Requests {
    /// The spend stands as JSON inside the record's text.
    fn spend(&mut self, stamp: Option<u64>, text: Option<Raw<'_>>) -> Option<AgentEvent> {
        let inner = json::string(text)?;
        let [input, output, cost] = json::pick_in(Some(inner.as_bytes()), ["tokensIn", "tokensOut", "cost"]);
        let (input, output, cost) = (json::count(input), json::count(output), json::amount(cost));
        if input.is_none() && output.is_none() && cost.is_none() {
            return None;
        }
        if self.stamp != stamp || stamp.is_none() {
            *self = Self { stamp, ..Self::default() };
        }
        let added = AgentEvent::Usage {
            input_tokens: input.map(|input| input.saturating_sub(self.input)),
            output_tokens: output.map(|output| output.saturating_sub(self.output)),
            cost_usd: cost.map(|cost| (cost - self.cost).max(0.0)),
        };
        self.input = input.unwrap_or(self.input);
        self.output = output.unwrap_or(self.output);
        self.cost = cost.unwrap_or(self.cost);
        Some(added)
    }
}

#[derive(Clone, Copy)]
enum Fatal {
    Yes,
    No,
}

fn failure(text: Option<Raw<'_>>, fatal: Fatal) -> AgentEvent {
    let message = json::string(text).unwrap_or_default();
    let kind = if message.is_empty() { ErrorKind::Unknown } else { classify::by_words(&message) };
    AgentEvent::Error { kind, message, fatal: matches!(fatal, Fatal::Yes) }
}

fn excerpt(text: Option<Raw<'_>>) -> String {
    one_line(&json::start_of_string(text, EXCERPT * 2).unwrap_or_default(), EXCERPT)
}

/// A command stands as it is; any other tool as JSON that names it.
fn tool_call(name: &str, text: Option<Raw<'_>>) -> AgentEvent {
    let inner = json::string(text).unwrap_or_default();
    let [tool] = json::pick_in(Some(inner.as_bytes()), ["tool"]);
    match json::string(tool) {
        Some(name) => AgentEvent::ToolCall { name, detail: detail::of_input(Some(inner.as_bytes())) },
        None => AgentEvent::ToolCall { name: name.to_owned(), detail: detail::excerpt(text) },
    }
}

/// A question stands as it is, or as JSON around it.
fn question(text: Option<Raw<'_>>) -> Option<String> {
    let inner = json::string(text)?;
    let [question, response] = json::pick_in(Some(inner.as_bytes()), ["question", "response"]);
    json::string(question).or_else(|| json::string(response)).or(Some(inner))
}
