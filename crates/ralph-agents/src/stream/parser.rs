//! The interface of all output parsers: bytes in, events out, in chunks of any size.
use crate::launch::permission::PermissionLevel;
use crate::launch::work_scope::WorkScope;
use crate::stream::event::AgentEvent;
use crate::stream::line_splitter::{LineSplitter, SplitLine};
use crate::stream::output_format::OutputFormat;
use crate::{acp, amp, claude, cline, codex, copilot, cursor, gemini, goose, opencode, pi, qwen, text};
use ralph_util::json::MalformedJson;

/// Parses the output of one agent process.
pub trait StreamParser: Send {
    /// Parses the next bytes and appends their events.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>);
    /// Parses the rest after the output has ended.
    fn finish(&mut self, out: &mut Vec<AgentEvent>);
    fn record_counts(&self) -> RecordCounts;
    /// Returns the start of the last line that is not a record of this format.
    fn stray_line(&self) -> &[u8] {
        &[]
    }
    /// Sets the earlier usage of the session that the agent resumes. Some agents report totals of the whole session;
    /// their usage events then contain only the increase.
    fn continue_session(&mut self, _before: PriorUsage) {}
    /// Parses the usage file that the agent wrote: see
    /// [`Agent::writes_usage_file`](crate::Agent::writes_usage_file).
    fn read_usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// Omits the events that are only displayed (tools, reasoning).
    fn skip_display_events(&mut self) {}
    /// Starts the conversation with the agent, if the format is one: see [`OutputFormat::is_conversation`].
    fn start_conversation(&mut self, _request: ConversationRequest) {}
    /// Takes the bytes to write to the agent's stdin now. Empty unless the format is a conversation.
    fn take_pending_stdin(&mut self) -> PendingStdin {
        PendingStdin::default()
    }
    /// Asks the agent to cancel its turn, if the format supports it.
    fn interrupt_turn(&mut self) {}
    /// Returns whether the agent has not opened a session of the conversation yet.
    fn is_opening_session(&self) -> bool {
        false
    }
    /// Returns whether the conversation has ended, so that later output is not part of the work.
    fn is_conversation_over(&self) -> bool {
        false
    }
}

/// The input of a conversation with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRequest {
    pub prompt: String,
    /// The absolute path of the folder to work in.
    pub folder: String,
    /// The session to resume.
    pub session: Option<String>,
    pub model: Option<String>,
    pub permission: PermissionLevel,
    /// The scope of permission `work`.
    pub work_scope: WorkScope,
}

/// Bytes for the agent's standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PendingStdin {
    pub bytes: Vec<u8>,
    pub disposition: StdinDisposition,
}

/// Whether stdin stays open after the bytes have been written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum StdinDisposition {
    #[default]
    KeepOpen,
    Close,
}

/// The usage of a session before it was resumed. `None` means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PriorUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

/// How many records were read. An output without any recognised record is not in the expected format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCounts {
    pub recognised: u64,
    /// Lines that are not a record of this format. They are skipped.
    pub unknown: u64,
    /// Lines that exceeded the size limit. They are skipped.
    pub oversized: u64,
}

/// Returns a new parser for the output of one process.
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
        OutputFormat::Cursor => Box::new(cursor::stream_parser()),
        OutputFormat::Pi => Box::new(pi::stream_parser()),
        OutputFormat::Acp => Box::new(acp::stream_parser()),
    }
}

/// Whether a line was a record of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordStatus {
    Recognised,
    Unknown,
}

/// Parses one line of an NDJSON format. Appends events only after the whole record has proved well-formed.
pub(crate) trait RecordReader: Send {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson>;
    /// Returns whether the first bytes of a record prove that it contains only tool output and no agent text.
    fn is_tool_record(&self, _head: &[u8]) -> bool {
        false
    }
    /// See [`StreamParser::continue_session`].
    fn continue_session(&mut self, _before: PriorUsage) {}
    /// See [`StreamParser::read_usage_file`].
    fn read_usage_file(&mut self, _text: &[u8], _out: &mut Vec<AgentEvent>) {}
    /// See [`StreamParser::skip_display_events`].
    fn skip_display_events(&mut self) {}
    /// Appends the events that follow from the end of the output.
    fn finish_stream(&mut self, _out: &mut Vec<AgentEvent>) {}
    /// See [`StreamParser::start_conversation`].
    fn start_conversation(&mut self, _request: ConversationRequest) {}
    /// See [`StreamParser::take_pending_stdin`].
    fn take_pending_stdin(&mut self) -> PendingStdin {
        PendingStdin::default()
    }
    /// See [`StreamParser::interrupt_turn`].
    fn interrupt_turn(&mut self) {}
    /// See [`StreamParser::is_opening_session`].
    fn is_opening_session(&self) -> bool {
        false
    }
    /// See [`StreamParser::is_conversation_over`].
    fn is_conversation_over(&self) -> bool {
        false
    }
}

/// The parser of every format with one JSON record per line.
#[derive(Debug, Default)]
pub(crate) struct JsonLinesParser<R> {
    splitter: LineSplitter,
    line_log: LineLog,
    reader: R,
}

/// Counts the lines so far.
#[derive(Debug, Default)]
struct LineLog {
    counts: RecordCounts,
    /// The start of the last line that is not a record.
    stray_line: Vec<u8>,
}

/// How much of a line that is not a record is kept.
const MAX_STRAY_LINE_BYTES: usize = 300;

impl<R> JsonLinesParser<R> {
    pub(crate) fn with_reader(reader: R) -> Self {
        Self { splitter: LineSplitter::default(), line_log: LineLog::default(), reader }
    }
}

impl<R: RecordReader> StreamParser for JsonLinesParser<R> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let Self { splitter, line_log, reader } = self;
        splitter.push(bytes, &mut |line| line_log.read_line(reader, line, out));
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        let Self { splitter, line_log, reader } = self;
        splitter.finish(&mut |line| line_log.read_line(reader, line, out));
        reader.finish_stream(out);
    }

    fn record_counts(&self) -> RecordCounts {
        self.line_log.counts
    }

    fn stray_line(&self) -> &[u8] {
        &self.line_log.stray_line
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

    fn start_conversation(&mut self, request: ConversationRequest) {
        self.reader.start_conversation(request);
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

impl LineLog {
    fn read_line(&mut self, reader: &mut impl RecordReader, line: SplitLine<'_>, out: &mut Vec<AgentEvent>) {
        match line {
            SplitLine::Cut { head } => {
                self.counts.oversized += 1;
                if !reader.is_tool_record(head) {
                    out.push(AgentEvent::Unread);
                }
            }
            SplitLine::Whole(line) if line.trim_ascii().is_empty() => {}
            SplitLine::Whole(line) => match reader.read_record(line, out) {
                Ok(RecordStatus::Recognised) => self.counts.recognised += 1,
                Ok(RecordStatus::Unknown) | Err(MalformedJson) => {
                    self.counts.unknown += 1;
                    self.stray_line.clear();
                    self.stray_line.extend(line.trim_ascii().iter().take(MAX_STRAY_LINE_BYTES));
                }
            },
        }
    }
}
