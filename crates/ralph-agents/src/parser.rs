//! The one shape of every parser: bytes in, events out, in chunks of any size.
use super::event::AgentEvent;
use super::format::Format;
use super::grant::Permission;
use super::lines::{Line, Lines};
use super::{acp, amp, claude, cline, codex, copilot, gemini, goose, opencode, qwen, text};
use ralph_util::json::Malformed;

/// Reads one agent process's output, from its first byte to its last.
pub trait Parser: Send {
    /// Reads the next bytes and appends what they say.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>);
    /// Reads what is left when the output has ended.
    fn finish(&mut self, out: &mut Vec<AgentEvent>);
    fn counts(&self) -> Counts;
    /// Returns the beginning of the last line that is no record of this format.
    fn stray_line(&self) -> &[u8] {
        &[]
    }
    /// Says that the agent goes on with a session of its own, and what that had used before. Some agents count over
    /// a whole session; what they report is then told by what is new.
    fn continues(&mut self, _before: Before) {}
    /// Reads the file that the agent left of what it has used: see
    /// [`Agent::writes_usage`](super::Agent::writes_usage).
    fn usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// Says that nobody looks: what only people would see (tools, thoughts) need not be told.
    fn unwatched(&mut self) {}
    /// Begins to talk with the agent, where its format is a talk: see [`Format::is_talk`].
    fn converse(&mut self, _talk: Talk) {}
    /// Takes what the agent is to be told now. Who only listens has nothing to say.
    fn take_words(&mut self) -> Words {
        Words::default()
    }
    /// Tells the agent to give up its turn, where it can be told.
    fn interrupt(&mut self) {}
    /// Tells whether a talk is still at its beginning: the agent has opened no session yet.
    fn is_opening(&self) -> bool {
        false
    }
    /// Tells whether a talk has ended: nothing that the agent prints now is work.
    fn is_over(&self) -> bool {
        false
    }
}

/// What an agent that is talked to is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    pub prompt: String,
    /// The folder to work in, by its whole path.
    pub folder: String,
    /// The session to go on with.
    pub session: Option<String>,
    pub model: Option<String>,
    pub permission: Permission,
}

/// Bytes for the agent's standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub bytes: Vec<u8>,
    pub then: Then,
}

/// Whether more words follow.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    #[default]
    GoOn,
    End,
}

/// What a session had used before it was resumed. `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Before {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

/// How many records were seen. An output without a single recognised one is not what we took it for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub recognised: u64,
    /// Lines that are no record of this format. They are skipped.
    pub unknown: u64,
    /// Lines too long to be read.
    pub cut: u64,
}

/// Returns a fresh parser for one process's output.
pub fn parser(format: Format) -> Box<dyn Parser> {
    match format {
        Format::Text => Box::new(text::TextParser::default()),
        Format::Claude => Box::new(claude::parser()),
        Format::Codex => Box::new(codex::parser()),
        Format::Amp => Box::new(amp::parser()),
        Format::Cline => Box::new(cline::parser()),
        Format::Opencode => Box::new(opencode::parser()),
        Format::Gemini => Box::new(gemini::parser()),
        Format::Qwen => Box::new(qwen::parser()),
        Format::Copilot => Box::new(copilot::parser()),
        Format::Goose => Box::new(goose::parser()),
        Format::Acp => Box::new(acp::parser()),
    }
}

/// Whether a line was a record of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Recognised,
    Unknown,
}

/// Reads one line of an NDJSON format. Pushes events only once the whole record has proved well-formed.
pub(super) trait Records: Send {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed>;
    /// Tells from the first bytes of a record whether it surely holds what a tool said and no word of the agent's.
    fn is_of_a_tool(&self, _head: &[u8]) -> bool {
        false
    }
    /// See [`Parser::continues`].
    fn continues(&mut self, _before: Before) {}
    /// See [`Parser::usage_file`].
    fn usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// See [`Parser::unwatched`].
    fn unwatched(&mut self) {}
    /// The output has ended.
    fn end(&mut self, _out: &mut Vec<AgentEvent>) {}
    /// See [`Parser::converse`].
    fn converse(&mut self, _talk: Talk) {}
    /// See [`Parser::take_words`].
    fn take_words(&mut self) -> Words {
        Words::default()
    }
    /// See [`Parser::interrupt`].
    fn interrupt(&mut self) {}
    /// See [`Parser::is_opening`].
    fn is_opening(&self) -> bool {
        false
    }
    /// See [`Parser::is_over`].
    fn is_over(&self) -> bool {
        false
    }
}

/// The parser of every format with one JSON record a line.
#[derive(Debug, Default)]
pub(super) struct JsonStream<R> {
    lines: Lines,
    counts: Counts,
    stray_line: Vec<u8>,
    records: R,
}

/// How much of a line that is no record is kept.
const STRAY: usize = 300;

impl<R> JsonStream<R> {
    pub(super) fn of(records: R) -> Self {
        Self { lines: Lines::default(), counts: Counts::default(), stray_line: Vec::new(), records }
    }
}

impl<R: Records> Parser for JsonStream<R> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let Self { lines, counts, stray_line, records } = self;
        lines.push(bytes, &mut |line| read(records, (counts, stray_line), line, out));
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        let Self { lines, counts, stray_line, records } = self;
        lines.finish(&mut |line| read(records, (counts, stray_line), line, out));
        records.end(out);
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn stray_line(&self) -> &[u8] {
        &self.stray_line
    }

    fn continues(&mut self, before: Before) {
        self.records.continues(before);
    }

    fn usage_file(&mut self, text: &[u8], out: &mut Vec<AgentEvent>) {
        self.records.usage_file(text, out);
    }

    fn unwatched(&mut self) {
        self.records.unwatched();
    }

    fn converse(&mut self, talk: Talk) {
        self.records.converse(talk);
    }

    fn take_words(&mut self) -> Words {
        self.records.take_words()
    }

    fn interrupt(&mut self) {
        self.records.interrupt();
    }

    fn is_opening(&self) -> bool {
        self.records.is_opening()
    }

    fn is_over(&self) -> bool {
        self.records.is_over()
    }
}

fn read(
    records: &mut impl Records,
    (counts, stray_line): (&mut Counts, &mut Vec<u8>),
    line: Line<'_>,
    out: &mut Vec<AgentEvent>,
) {
    match line {
        Line::Cut { head } => {
            counts.cut += 1;
            if !records.is_of_a_tool(head) {
                out.push(AgentEvent::Unread);
            }
        }
        Line::Whole(line) if line.trim_ascii().is_empty() => {}
        Line::Whole(line) => match records.record(line, out) {
            Ok(Seen::Recognised) => counts.recognised += 1,
            Ok(Seen::Unknown) | Err(Malformed) => {
                counts.unknown += 1;
                stray_line.clear();
                stray_line.extend(line.trim_ascii().iter().take(STRAY));
            }
        },
    }
}
