//! Codex's `exec --json` stream as events. It names neither model nor cost. Its usage grows over the thread,
//! and its `error` records are warnings and retries: only `turn.failed` ends an attempt.
use super::record::{Failure, Item, Record, Usage};
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::AgentEvent;
use crate::failing::fatal;
use crate::parser::{Before, JsonStream, Parser, Records, Seen};
use crate::totals::Totals;
use crate::voice::Voice;
use ralph_util::json::{self, Malformed, Raw};

/// How many unfinished items are remembered. Codex runs a handful at once.
const OPEN_ITEMS: usize = 64;

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
    /// Items whose call was shown when they began.
    open: Vec<String>,
    totals: Totals,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        let item = record.item.unwrap_or_default();
        match json::name(record.kind) {
            "thread.started" => {
                out.push(AgentEvent::Started { session: json::string(record.thread), model: None });
            }
            "turn.started" => self.voice.pause(),
            "item.started" => self.item_started(&item, out),
            "item.updated" => {}
            "item.completed" => self.item_completed(&item, out),
            "turn.completed" => self.turn_completed(record.usage.unwrap_or_default(), out),
            "turn.failed" => turn_failed(record.error.unwrap_or_default(), out),
            "error" => out.push(warning(record.message)),
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }

    /// Inside of a string every quote is escaped, so these bytes are never part of a text.
    fn is_of_a_tool(&self, head: &[u8]) -> bool {
        memchr::memmem::find(head, br#""type":"command_execution""#).is_some()
    }

    fn continues(&mut self, before: Before) {
        self.totals.continue_from(before);
    }
}

impl Reader {
    fn item_started(&mut self, item: &Item<'_>, out: &mut Vec<AgentEvent>) {
        let Some(call) = tool_call(item) else { return };
        out.push(call);
        if self.open.len() < OPEN_ITEMS {
            self.open.extend(json::string(item.id));
        }
    }

    fn item_completed(&mut self, item: &Item<'_>, out: &mut Vec<AgentEvent>) {
        match json::name(item.kind) {
            "agent_message" => {
                out.extend(json::string(item.text).and_then(|text| self.voice.whole(None, text)));
            }
            "user_message" => out.push(AgentEvent::Prompted),
            "reasoning" => out.extend(thinking(item)),
            "error" => out.push(warning(item.message)),
            _ => self.tool_completed(item, out),
        }
    }

    fn tool_completed(&mut self, item: &Item<'_>, out: &mut Vec<AgentEvent>) {
        let Some(call) = tool_call(item) else { return };
        let id = json::string(item.id);
        match self.open.iter().position(|open| Some(open) == id.as_ref()) {
            Some(at) => drop(self.open.swap_remove(at)),
            None => out.push(call),
        }
        out.push(tool_result(item));
    }

    fn turn_completed(&mut self, usage: Usage<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.totals.grown_to(json::count(usage.input), json::count(usage.output)));
        out.push(AgentEvent::Finished { ok: true });
    }
}

fn tool_call(item: &Item<'_>) -> Option<AgentEvent> {
    let (name, detail) = match json::name(item.kind) {
        "command_execution" => ("shell".to_owned(), detail::of_value(item.command)),
        "file_change" => ("edit".to_owned(), detail::of_input(item.changes.and_then(json::first_element))),
        "web_search" => ("web_search".to_owned(), detail::of_value(item.query)),
        "mcp_tool_call" => {
            let name = format!("{}.{}", json::name(item.server), json::name(item.tool));
            (name, detail::of_input(item.arguments))
        }
        "collab_tool_call" => (json::name(item.tool).to_owned(), detail::of_value(item.prompt)),
        _ => return None,
    };
    Some(AgentEvent::ToolCall { name, detail })
}

fn tool_result(item: &Item<'_>) -> AgentEvent {
    let exited_well = item.exit_code.is_none_or(|code| code == b"0" || code == b"null");
    let failed = json::name(item.status) == "failed" || json::is_set(item.error);
    let content = item.result.and_then(|result| result.content);
    AgentEvent::ToolResult {
        ok: exited_well && !failed,
        excerpt: detail::excerpt(item.output.or(content).or(item.error.filter(|_| failed))),
    }
}

fn thinking(item: &Item<'_>) -> Option<AgentEvent> {
    let text = one_line(&json::start_of_string(item.text, EXCERPT * 2)?, EXCERPT);
    Some(AgentEvent::Thinking { text })
}

fn warning(message: Option<Raw<'_>>) -> AgentEvent {
    let message = json::string(message).unwrap_or_default();
    AgentEvent::Error { kind: classify::by_words(&message), message, fatal: false }
}

fn turn_failed(error: Failure<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::string(error.message).unwrap_or_default();
    fatal(classify::by_words(&message), message, out);
    out.push(AgentEvent::Finished { ok: false });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::event::ErrorKind;
    use crate::tests::events;

    #[test] // spec: S4, S8
    fn of_records_that_are_too_long_only_those_of_commands_surely_hold_no_words() {
        let long = "x".repeat(5 << 20);
        let record = |kind: &str, key: &str| {
            let item = format!(r#"{{"id":"item_1","type":"{kind}","{key}":"{long}"}}"#);
            events(Format::Codex, &format!(r#"{{"type":"item.completed","item":{item}}}"#))
        };
        assert!(record("command_execution", "aggregated_output").is_empty());
        assert_eq!(record("agent_message", "text"), [AgentEvent::Unread]);
    }

    #[test] // spec: A5, L8
    fn usage_grows_over_the_thread_and_is_reported_by_differences() {
        let stream = concat!(
            r#"{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":7}}"#,
            "\n",
            r#"{"type":"turn.completed","usage":{"input_tokens":250,"output_tokens":9}}"#,
        );
        let added: Vec<_> = events(Format::Codex, stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None } => {
                    Some((input_tokens, output_tokens))
                }
                _ => None,
            })
            .collect();
        assert_eq!(added, [(Some(100), Some(7)), (Some(150), Some(2))]);
    }

    #[test] // spec: A5, L6
    fn only_a_failed_turn_is_fatal() {
        let stream = concat!(
            r#"{"type":"error","message":"Reconnecting... 1/5 (429 Too Many Requests)"}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"i","type":"error","message":"model metadata"}}"#,
            "\n",
            r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429"}}"#,
        );
        let fatal: Vec<_> = events(Format::Codex, stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::Error { kind, fatal, .. } => Some((kind, fatal)),
                _ => None,
            })
            .collect();
        let limited = ErrorKind::RateLimit;
        assert_eq!(fatal, [(limited, false), (ErrorKind::Model, false), (limited, true)]);
    }

    #[test] // spec: A5, S2
    fn a_tool_that_is_only_reported_when_done_is_still_shown_as_called() {
        let stream = r#"{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"tracker",
            "tool":"get_issue","arguments":{"query":"42"},"result":{"content":[{"type":"text","text":"open"}]}}}"#
            .replace('\n', "");
        assert_eq!(
            events(Format::Codex, &stream),
            [
                AgentEvent::ToolCall { name: "tracker.get_issue".into(), detail: "42".into() },
                AgentEvent::ToolResult { ok: true, excerpt: "open".into() },
            ]
        );
    }
}
