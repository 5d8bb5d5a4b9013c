//! The one shape of every parser: bytes in, events out, in chunks of any size.
use super::event::AgentEvent;
use super::line_splitter::{LineSplitter, SplitLine};
use super::output_format::OutputFormat;
use super::permission::PermissionLevel;
use super::{acp, amp, claude, cline, codex, copilot, gemini, goose, opencode, qwen, text};
use ralph_util::json::MalformedJson;

/// Reads one agent process's output, from its first byte to its last.
pub trait StreamParser: Send {
    /// Reads the next bytes and appends what they say.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>);
    /// Reads what is left when the output has ended.
    fn finish(&mut self, out: &mut Vec<AgentEvent>);
    fn record_counts(&self) -> RecordCounts;
    /// Returns the beginning of the last line that is no record of this format.
    fn stray_line(&self) -> &[u8] {
        &[]
    }
    /// Says that the agent goes on with a session of its own, and what that had used before. Some agents count over
    /// a whole session; what they report is then told by what is new.
    fn continue_session(&mut self, _before: PriorUsage) {}
    /// Reads the file that the agent left of what it has used: see
    /// [`Agent::writes_usage`](super::Agent::writes_usage).
    fn read_usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// Says that nobody looks: what only people would see (tools, thoughts) need not be told.
    fn skip_display_events(&mut self) {}
    /// Begins to talk with the agent, where its format is a talk: see [`Format::is_talk`].
    fn start_conversation(&mut self, _talk: ConversationRequest) {}
    /// Takes what the agent is to be told now. Who only listens has nothing to say.
    fn take_pending_stdin(&mut self) -> PendingStdin {
        PendingStdin::default()
    }
    /// Tells the agent to give up its turn, where it can be told.
    fn interrupt_turn(&mut self) {}
    /// Tells whether a talk is still at its beginning: the agent has opened no session yet.
    fn is_opening_session(&self) -> bool {
        false
    }
    /// Tells whether a talk has ended: nothing that the agent prints now is work.
    fn is_conversation_over(&self) -> bool {
        false
    }
}

/// What an agent that is talked to is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRequest {
    pub prompt: String,
    /// The folder to work in, by its whole path.
    pub folder: String,
    /// The session to go on with.
    pub session: Option<String>,
    pub model: Option<String>,
    pub permission: PermissionLevel,
}

/// Bytes for the agent's standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PendingStdin {
    pub bytes: Vec<u8>,
    pub disposition: StdinDisposition,
}

/// Whether more words follow.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum StdinDisposition {
    #[default]
    KeepOpen,
    Close,
}

/// What a session had used before it was resumed. `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PriorUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

/// How many records were seen. An output without a single recognised one is not what we took it for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCounts {
    pub recognised: u64,
    /// Lines that are no record of this format. They are skipped.
    pub unknown: u64,
    /// Lines too long to be read.
    pub oversized: u64,
}

/// Returns a fresh parser for one process's output.
pub fn parser_for_format(format: OutputFormat) -> Box<dyn StreamParser> {
    match format {
        OutputFormat::Text => Box::new(text::PlainTextParser::default()),
        OutputFormat::Claude => Box::new(claude::stream_parser()),
        OutputFormat::Codex => Box::new(codex::stream_parser()),
        OutputFormat::Amp => Box::new(amp::stream_parser()),
        OutputFormat::Cline => Box::new(cline::stream_parser()),
        OutputFormat::Opencode => Box::new(opencode::stream_parser()),
        OutputFormat::Gemini => Box::new(gemini::stream_parser()),
        OutputFormat::Qwen => Box::new(qwen::stream_parser()),
        OutputFormat::Copilot => Box::new(copilot::stream_parser()),
        OutputFormat::Goose => Box::new(goose::stream_parser()),
        OutputFormat::Acp => Box::new(acp::stream_parser()),
    }
}

/// Whether a line was a record of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordStatus {
    Recognised,
    Unknown,
}

/// Reads one line of an NDJSON format. Pushes events only once the whole record has proved well-formed.
pub(super) trait RecordReader: Send {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson>;
    /// Tells from the first bytes of a record whether it surely holds what a tool said and no word of the agent's.
    fn is_tool_record(&self, _head: &[u8]) -> bool {
        false
    }
    /// See [`Parser::continues`].
    fn continue_session(&mut self, _before: PriorUsage) {}
    /// See [`Parser::usage_file`].
    fn read_usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// See [`Parser::unwatched`].
    fn skip_display_events(&mut self) {}
    /// The output has ended.
    fn finish_stream(&mut self, _out: &mut Vec<AgentEvent>) {}
    /// See [`Parser::converse`].
    fn start_conversation(&mut self, _talk: ConversationRequest) {}
    /// See [`Parser::take_words`].
    fn take_pending_stdin(&mut self) -> PendingStdin {
        PendingStdin::default()
    }
    /// See [`Parser::interrupt`].
    fn interrupt_turn(&mut self) {}
    /// See [`Parser::is_opening`].
    fn is_opening_session(&self) -> bool {
        false
    }
    /// See [`Parser::is_over`].
    fn is_conversation_over(&self) -> bool {
        false
    }
}

/// The parser of every format with one JSON record a line.
#[derive(Debug, Default)]
pub(super) struct JsonLinesParser<R> {
    splitter: LineSplitter,
    record_counts: RecordCounts,
    stray_line: Vec<u8>,
    reader: R,
}

/// How much of a line that is no record is kept.
const MAX_STRAY_LINE_BYTES: usize = 300;

impl<R> JsonLinesParser<R> {
    pub(super) fn with_reader(reader: R) -> Self {
        Self {
            splitter: LineSplitter::default(),
            record_counts: RecordCounts::default(),
            stray_line: Vec::new(),
            reader,
        }
    }
}

impl<R: RecordReader> StreamParser for JsonLinesParser<R> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let Self { splitter: lines, record_counts: counts, stray_line, reader: records } = self;
        lines.push(bytes, &mut |line| read_line(records, (counts, stray_line), line, out));
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        let Self { splitter: lines, record_counts: counts, stray_line, reader: records } = self;
        lines.finish(&mut |line| read_line(records, (counts, stray_line), line, out));
        records.finish_stream(out);
    }

    fn record_counts(&self) -> RecordCounts {
        self.record_counts
    }

    fn stray_line(&self) -> &[u8] {
        &self.stray_line
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.reader.continue_session(before);
    }

    fn read_usage_file(&mut self, text: &[u8], out: &mut Vec<AgentEvent>) {
        self.reader.read_usage_file(text, out);
    }

    fn skip_display_events(&mut self) {
        self.reader.skip_display_events();
    }

    fn start_conversation(&mut self, talk: ConversationRequest) {
        self.reader.start_conversation(talk);
    }

    fn take_pending_stdin(&mut self) -> PendingStdin {
        self.reader.take_pending_stdin()
    }

    fn interrupt_turn(&mut self) {
        self.reader.interrupt_turn();
    }

    fn is_opening_session(&self) -> bool {
        self.reader.is_opening_session()
    }

    fn is_conversation_over(&self) -> bool {
        self.reader.is_conversation_over()
    }
}

fn read_line(
    records: &mut impl RecordReader,
    (counts, stray_line): (&mut RecordCounts, &mut Vec<u8>),
    line: SplitLine<'_>,
    out: &mut Vec<AgentEvent>,
) {
    match line {
        SplitLine::Cut { head } => {
            counts.oversized += 1;
            if !records.is_tool_record(head) {
                out.push(AgentEvent::Unread);
            }
        }
        SplitLine::Whole(line) if line.trim_ascii().is_empty() => {}
        SplitLine::Whole(line) => match records.read_record(line, out) {
            Ok(RecordStatus::Recognised) => counts.recognised += 1,
            Ok(RecordStatus::Unknown) | Err(MalformedJson) => {
                counts.unknown += 1;
                stray_line.clear();
                stray_line.extend(line.trim_ascii().iter().take(MAX_STRAY_LINE_BYTES));
            }
        },
    }
}
