//! Claude's stream as events. Only the main thread's assistant text is the agent's own: a record that names
//! a parent tool call comes from a sub-agent, and user records are prompts, hook feedback or tool results.
use super::bulk::Bulk;
use super::failure::{self, Failure};
use super::record::{Block, Content, Message, Record};
use super::spend::Spend;
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::{AgentEvent, ErrorKind, at_work};
use crate::failing::fatal;
use crate::parser::{Before, JsonStream, Parser, Records, Seen};
use crate::reset::Reset;
use crate::totals::Totals;
use crate::voice::Voice;
use ralph_util::json::{self, Malformed, Raw};

/// The author of messages that Claude Code writes itself, in place of the model's answer.
const SYNTHETIC: &str = "<synthetic>";

/// What programs that copied the format write as an answer where the API refused one.
const REFUSED: &str = "[API Error: ";

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

/// The same for programs that write the API's refusals as if they were answers.
pub(crate) fn parser_of_copies() -> impl Parser {
    JsonStream::of(Reader { refusals: Refusals::AsAnswers, ..Reader::default() })
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
    spend: Spend,
    started: Option<AgentEvent>,
    /// Whether the agent spoke: then a result only repeats its words, if need be those of an earlier turn.
    has_spoken: bool,
    /// The kind of the last API failure since the last result.
    api_error: Option<ErrorKind>,
    watch: Watch,
    refusals: Refusals,
    totals: Totals,
    /// Whether a record of its own said when a limit ends.
    is_limit_known: bool,
    bulk: Bulk,
}

/// How it is told that the API refused to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Refusals {
    #[default]
    Marked,
    AsAnswers,
}

/// Whether somebody looks at tools and thoughts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Watch {
    #[default]
    Watched,
    Unwatched,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        if self.watch == Watch::Unwatched && self.bulk.is_only_tool_result(line) {
            at_work(out);
            return Ok(Seen::Recognised);
        }
        let record = Record::read(line)?;
        match record.kind {
            "assistant" => self.assistant(line, &record, out),
            "user" => self.user(&record, out),
            "result" => self.result(line, out)?,
            "system" => self.system(line, record.subtype, out),
            "stream_event" => self.stream_event(&record, out),
            "rate_limit_event" => self.rate_limit(line, out),
            "control_request" | "control_response" | "keep_alive" | "tool_progress" | "auth_status" => {}
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }

    fn is_of_a_tool(&self, head: &[u8]) -> bool {
        head.starts_with(br#"{"type":"user","#)
    }

    fn continues(&mut self, before: Before) {
        self.totals.continue_from(before);
    }

    fn unwatched(&mut self) {
        self.watch = Watch::Unwatched;
    }
}

impl Reader {
    fn assistant(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let is_failure = !record.error.is_empty() || json::name(record.message.model) == SYNTHETIC;
        if is_failure && !record.is_nested {
            self.api_error(line, record, out);
            return;
        }
        if let (Content::Words(text), false) = (&record.message.content, record.is_nested) {
            self.say(&record.message, Some(text), out);
        }
        for block in blocks(&record.message) {
            match json::name(block.kind) {
                "text" if !record.is_nested => self.say(&record.message, block.text, out),
                "tool_use" | "server_tool_use" | "thinking" if self.watch == Watch::Unwatched => at_work(out),
                "tool_use" | "server_tool_use" => out.push(tool_call(block)),
                "thinking" if !record.is_nested => out.extend(thinking(block.thinking)),
                _ => {}
            }
        }
    }

    fn user(&self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        if matches!(record.message.content, Content::Words(_)) && !record.is_nested {
            out.push(AgentEvent::Prompted);
        }
        for block in blocks(&record.message) {
            match json::name(block.kind) {
                "text" if !record.is_nested => out.push(AgentEvent::Prompted),
                "tool_result" if self.watch == Watch::Unwatched => at_work(out),
                "tool_result" => out.push(AgentEvent::ToolResult {
                    ok: !json::is_true(block.is_error),
                    excerpt: detail::excerpt(block.content),
                }),
                _ => {}
            }
        }
    }

    fn say(&mut self, message: &Message<'_>, text: Option<Raw<'_>>, out: &mut Vec<AgentEvent>) {
        let text = json::string(text).unwrap_or_default();
        if self.refusals == Refusals::AsAnswers && text.starts_with(REFUSED) {
            let kind = classify::by_words(&text);
            self.api_error = Some(kind);
            out.push(AgentEvent::Error { kind, message: text, fatal: false });
            return;
        }
        let said = self.voice.whole(json::string(message.id), text);
        self.has_spoken |= said.is_some();
        out.extend(said);
    }

    /// An API failure in the shape of an answer. A later good answer means that it was overcome, so it is
    /// not fatal by itself.
    fn api_error(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let text = blocks(&record.message).iter().find_map(|block| json::string(block.text));
        let message = text.unwrap_or_else(|| record.error.to_owned());
        let [status] = json::pick_in(Some(line), ["api_error_status"]);
        let kind = failure::kind_of_api_error(record.error, json::count(status), &message);
        self.api_error = Some(kind);
        out.push(AgentEvent::Error { kind, message, fatal: false });
    }

    fn result(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<(), Malformed> {
        let [is_error, subtype, text] = json::pick(line, ["is_error", "subtype", "result"])?;
        let failed = json::is_true(is_error) || json::name(subtype).starts_with("error");
        if self.started.is_none() {
            self.started(line, out);
        }
        if !failed && !self.has_spoken {
            out.extend(json::string(text).and_then(|text| self.voice.whole(None, text)));
        }
        out.extend(match self.refusals {
            Refusals::Marked => self.spend.of_result(line),
            Refusals::AsAnswers => self.usage_of_copies(line),
        });
        if failed {
            let Failure { kind, message } = failure::of_result(line, self.api_error);
            match self.is_limit_known {
                true => out.push(AgentEvent::Error { kind, message, fatal: true }),
                false => fatal(kind, message, out),
            }
        }
        out.push(AgentEvent::Finished { ok: !failed });
        self.api_error = None;
        self.is_limit_known = false;
        Ok(())
    }

    /// A session that goes on counts on.
    fn usage_of_copies(&mut self, line: &[u8]) -> Option<AgentEvent> {
        let [usage] = json::pick_in(Some(line), ["usage"]);
        let [input, output] = json::pick_in(usage, ["input_tokens", "output_tokens"]);
        self.totals.grown_to(json::count(input), json::count(output))
    }

    fn system(&mut self, line: &[u8], subtype: &str, out: &mut Vec<AgentEvent>) {
        match subtype {
            "init" => self.started(line, out),
            "api_retry" => out.push(retry(line)),
            "retry" => out.push(retry_of_copies(line)),
            _ => {}
        }
    }

    /// The same session may introduce itself again, after a background task for instance. Where only a result
    /// is printed, that alone names it.
    fn started(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let [session, model] = json::pick_in(Some(line), ["session_id", "model"]);
        let (session, model) = (json::string(session), json::string(model));
        let is_named = session.is_some() || model.is_some();
        let event = AgentEvent::Started { session, model };
        if is_named && self.started.as_ref() != Some(&event) {
            out.push(event.clone());
            self.started = Some(event);
        }
    }

    /// Only a refusal counts; the same record also announces that a limit draws near.
    fn rate_limit(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let [info] = json::pick_in(Some(line), ["rate_limit_info"]);
        let [status, resets_at, window] = json::pick_in(info, ["status", "resetsAt", "rateLimitType"]);
        if json::name(status) == "rejected" {
            let message = format!("usage limit reached ({})", json::name(window));
            let reset = json::signed(resets_at).map_or(Reset::Unknown {}, |reset_at| Reset::At { reset_at });
            self.is_limit_known = reset != Reset::Unknown {};
            out.push(AgentEvent::RateLimit { reset, message });
        }
    }

    fn stream_event(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let [kind, delta] = json::pick_in(record.event, ["type", "delta"]);
        match json::name(kind) {
            _ if record.is_nested => {}
            "message_start" => self.voice.pause(),
            "content_block_delta" => self.delta(delta, out),
            _ => {}
        }
    }

    fn delta(&mut self, delta: Option<Raw<'_>>, out: &mut Vec<AgentEvent>) {
        let [kind, text] = json::pick_in(delta, ["type", "text"]);
        if let ("text_delta", Some(text)) = (json::name(kind), json::string(text)) {
            self.has_spoken = true;
            out.push(self.voice.piece(text));
        }
    }
}

fn blocks<'m, 'a>(message: &'m Message<'a>) -> &'m [Block<'a>] {
    match &message.content {
        Content::Blocks(blocks) => blocks,
        Content::Words(_) | Content::Nothing => &[],
    }
}

fn tool_call(block: &Block<'_>) -> AgentEvent {
    AgentEvent::ToolCall {
        name: json::start_of_string(block.name, 80).unwrap_or_default(),
        detail: detail::of_input(block.input),
    }
}

fn thinking(text: Option<Raw<'_>>) -> Option<AgentEvent> {
    let text = one_line(&json::start_of_string(text, EXCERPT * 2)?, EXCERPT);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn retry(line: &[u8]) -> AgentEvent {
    let [error, status, attempt, most] =
        json::pick_in(Some(line), ["error", "error_status", "attempt", "max_retries"]);
    let (error, status) = (json::name(error), json::count(status));
    let (attempt, most) = (json::count(attempt).unwrap_or(0), json::count(most).unwrap_or(0));
    let message = format!("{error}, retry {attempt} of {most}");
    let kind = match (failure::kind_of_api_error(error, status, &message), status) {
        // Where there is no status, no server was reached.
        (ErrorKind::Unknown, None) => ErrorKind::Network,
        (kind, _) => kind,
    };
    AgentEvent::Error { kind, message, fatal: false }
}

/// It does not say why. Waits of minutes were seen only where the rate was limited.
fn retry_of_copies(line: &[u8]) -> AgentEvent {
    let [data] = json::pick_in(Some(line), ["data"]);
    let [attempt, most, delay] = json::pick_in(data, ["attempt", "maxRetries", "delayMs"]);
    let message = match (json::count(attempt), json::count(most), json::count(delay)) {
        (Some(attempt), Some(most), Some(delay)) => {
            format!("retry {attempt} of {most} in {} s", delay / 1_000)
        }
        _ => "retry".to_owned(),
    };
    AgentEvent::Error { kind: ErrorKind::RateLimit, message, fatal: false }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
