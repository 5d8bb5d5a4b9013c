//! Listens to one agent: raw bytes to the log, records to the parser, own words to the claim finder. It keeps
//! what the report of the attempt needs and nothing that grows with the output.
use std::future::pending;
use std::time::{Duration, Instant};

use ralph_core::attempt::{
    AgentErrorKind, AgentReportedError, AttemptEnding, AttemptReport, ModelSpend, OutputParseStatus,
    SessionResumability,
};
use ralph_core::claim::TranscriptEvent;
use tokio::sync::mpsc;

use super::attempt_conversions::{dollars_to_micros, observed_exit, to_leftovers};
use super::attempt_io::AttemptIo;
use super::attempt_output::{FilterNotice, FilteredDisplay};
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::failure_collector::{FailureCollector, FailureSummary, RetrySignal};
use super::filter_process::FilterAnswer;
use super::usage_file;
use ralph_agents as agent;
use ralph_agents::{
    AgentEvent, AgentExit, ExitContext, FinalRecord, OutputFormat, SessionSupport, StderrNotices, feed_claim_finder,
    infer_failure,
};
use ralph_process::{
    EndCause, JobCommand, JobListener, OutputTail, OutputTiming, StdinChunk, StdinFollowUp, TreeCleanup,
};
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// Stands in the log before what does not count.
const LATE_OUTPUT_MARKER: &[u8] = b"\n[ralph: what follows was printed after the agent had ended]\n";

/// More than this nobody can see of one piece.
const MAX_EVENTS_PER_UPDATE: usize = 200;

/// How much of stderr is kept for people.
const STDERR_TAIL_BYTES: usize = 4_096;

/// How long the filters may take for what stands when the agent has ended, and when it was told to end.
const FILTER_TIMEOUT_AFTER_EXIT: Duration = Duration::from_secs(30);
const FILTER_TIMEOUT_AFTER_STOP: Duration = Duration::from_secs(1);
/// How long a display may lag behind when the agent has ended by itself.
const DISPLAY_TIMEOUT_AFTER_EXIT: Duration = Duration::from_secs(3);

pub struct AgentListener {
    io: AttemptIo,
    started: Instant,
    events: Vec<AgentEvent>,
    failures: FailureCollector,
    /// Whether the driver knows that a talk is at its beginning.
    is_handshake_reported: bool,
    /// Whether the driver knows that the agent only repeats requests.
    is_repeating_reported: bool,
    final_record: FinalRecord,
    session: Option<String>,
    model: Option<String>,
    message_counter: MessageCounter,
    spend: ModelSpend,
    stderr_tail: OutputTail,
    stderr_notices: StderrNotices,
    result: ResultStatus,
    /// What the driver knows of the result.
    reported_result: ResultStatus,
    /// Whether the agent printed something since the driver was last told.
    has_new_output: bool,
    is_late_marked: bool,
}

/// Counts the agent's own messages; a message may come in many pieces.
#[derive(Debug, Default)]
struct MessageCounter {
    count: u32,
    last_message: Option<u64>,
}

impl MessageCounter {
    fn count_message(&mut self, message: u64) {
        if self.last_message.replace(message) != Some(message) {
            self.count = self.count.saturating_add(1);
        }
    }
}

/// Whether the agent's final record has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultStatus {
    Awaited,
    Seen,
}

impl AgentListener {
    #[must_use]
    pub fn new(io: AttemptIo) -> Self {
        let mut listener = Self {
            io,
            started: Instant::now(),
            events: Vec::new(),
            failures: FailureCollector::default(),
            is_handshake_reported: false,
            is_repeating_reported: false,
            final_record: FinalRecord::default(),
            session: None,
            model: None,
            message_counter: MessageCounter::default(),
            spend: ModelSpend::default(),
            stderr_tail: OutputTail::new(STDERR_TAIL_BYTES),
            stderr_notices: StderrNotices::default(),
            result: ResultStatus::Awaited,
            reported_result: ResultStatus::Awaited,
            has_new_output: false,
            is_late_marked: false,
        };
        listener.report_handshake_change();
        listener
    }

    /// Returns the report of the attempt, once the agent is gone.
    #[must_use]
    pub fn into_report(mut self, ending: AttemptEnding, gone: &TreeCleanup) -> AttemptReport {
        let mut last = std::mem::take(&mut self.events);
        let failures = self.io.reader.end_reading(&mut last);
        self.read_usage(&mut last);
        self.absorb_events(last);
        let unseen = self.io.display.take().and_then(|display| display.failure_summary());
        for failure in failures.into_iter().chain(unseen) {
            self.send_message(DriverMessage::Warning(failure));
        }
        self.finish_logs();
        let stderr_tail = redact::redact_text(&sanitize_text(&self.stderr_tail.finish())).into_owned();
        let resumability = self.session_after(&stderr_tail);
        let FailureSummary { failure: trouble, repeating } =
            std::mem::take(&mut self.failures).summarize(&ending, &stderr_tail);
        let stray_line = self.stray_line();
        let trouble = trouble.or_else(|| self.infer_failure(&ending, (&stderr_tail, &stray_line)));
        let trouble = trouble.map(|trouble| self.add_remedy(trouble, &ending));
        AttemptReport {
            ending,
            error: trouble,
            repeating,
            resumability,
            stream: self.stream_status(),
            messages: self.message_count(),
            unknown_records: self.io.reader.record_counts().unknown,
            stray_line,
            lived_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            reading: self.io.claim_finder.finish(),
            spend: self.spend,
            session: self.session.or(self.io.session_request.into_assumed_id()),
            model: self.model,
            stderr_tail,
            leftovers: to_leftovers(gone),
            has_moved: None,
        }
    }

    /// Whether it can be read or not, what the agent did stands.
    fn read_usage(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(path) = self.io.usage_file.take() else { return };
        match usage_file::take_contents(&path) {
            Ok(text) => self.io.reader.parser().read_usage_file(&text, out),
            Err(error) => {
                self.send_message(DriverMessage::Warning(format!("what the agent has used is not known: {error}")));
            }
        }
    }

    fn session_after(&self, stderr: &str) -> SessionResumability {
        let asked = &self.io.session_request;
        match asked.session_mode {
            SessionSupport::Unsupported => SessionResumability::None,
            _ if asked.resume_id.is_some() && self.failures.is_session_lost(stderr) => SessionResumability::Lost,
            SessionSupport::AgentAssignedId | SessionSupport::CallerAssignedId => SessionResumability::Resumable,
        }
    }

    /// Returns the last line of an output that was not understood.
    fn stray_line(&mut self) -> String {
        match self.stream_status() {
            OutputParseStatus::Understood => String::new(),
            OutputParseStatus::NotUnderstood => {
                let line = String::from_utf8_lossy(self.io.reader.parser().stray_line()).into_owned();
                redact::redact_text(&sanitize_text(&line)).into_owned()
            }
        }
    }

    /// Returns what went wrong where no record tells it. Output that is not understood speaks for itself.
    fn infer_failure(&self, ending: &AttemptEnding, (stderr, stray_line): (&str, &str)) -> Option<AgentReportedError> {
        let exit = match observed_exit(ending)? {
            AgentExit::Code(0) if self.stream_status() == OutputParseStatus::NotUnderstood => return None,
            exit => exit,
        };
        let final_record = self.final_record;
        let outside = ExitContext { format: self.io.format, exit, stderr, stray_line, final_record };
        let (kind, message) = infer_failure(self.io.adapter, &outside)?;
        Some(AgentReportedError { kind, message: sanitize_text(&message), reset_at: None })
    }

    /// What no retry can mend is told with what can.
    fn add_remedy(&self, trouble: AgentReportedError, ending: &AttemptEnding) -> AgentReportedError {
        if trouble.kind != AgentErrorKind::Auth {
            return trouble;
        }
        let remedy = self.io.adapter.login_remedy(observed_exit(ending).unwrap_or(AgentExit::Unknown));
        AgentReportedError { message: format!("{} (hint: {remedy})", trouble.message), ..trouble }
    }

    fn stream_status(&self) -> OutputParseStatus {
        match self.io.format {
            OutputFormat::Text => OutputParseStatus::Understood,
            _ if self.io.reader.record_counts().recognised > 0 => OutputParseStatus::Understood,
            _ => OutputParseStatus::NotUnderstood,
        }
    }

    /// Plain text is one long message, whatever the agent meant.
    fn message_count(&self) -> Option<u32> {
        (self.io.format != OutputFormat::Text).then_some(self.message_counter.count)
    }

    /// Nothing is recorded before the logs are written.
    fn finish_logs(&mut self) {
        for failure in [self.io.stdout_log.finish(), self.io.stderr_log.finish()].into_iter().flatten() {
            self.send_message(DriverMessage::Warning(failure));
        }
    }

    fn absorb_events(&mut self, mut events: Vec<AgentEvent>) {
        for event in &events {
            self.record_event(event);
        }
        self.report_handshake_change();
        self.report_repeating_change();
        if self.io.remaining_budget.is_newly_exhausted(self.spend) {
            self.send_message(DriverMessage::Overspent(self.io.key, self.spend));
        }
        self.report_result_change();
        // A display that cannot follow misses something; the run does not wait for it.
        let seen = events.split_off(events.len().saturating_sub(MAX_EVENTS_PER_UPDATE));
        if !seen.is_empty() {
            let _ = self.io.display_updates.try_send(DisplayUpdate::Events(seen));
        }
        events.clear();
        self.events = events;
    }

    /// Takes in what the response filter says.
    fn handle_filter_answer(&mut self, answer: FilterAnswer) {
        let mut events = std::mem::take(&mut self.events);
        match self.io.reader.take_answer(answer, &mut events) {
            FilterNotice::Silent => {}
            FilterNotice::Warning(text) => self.send_message(DriverMessage::Warning(text)),
            FilterNotice::Broken(why) => self.give_up_filter(why),
        }
        self.absorb_events(events);
    }

    /// What the agent says from here on is not known, so nothing that it said before is its last word.
    fn give_up_filter(&mut self, reason: String) {
        self.io.claim_finder.handle_event(TranscriptEvent::OutputLost);
        self.send_message(DriverMessage::Warning(reason));
    }

    /// Shows what the display filter says.
    fn handle_display_answer(&mut self, answer: FilterAnswer) {
        let Some(display) = &mut self.io.display else { return };
        let (lines, notice) = display.take_answer(answer);
        if !lines.is_empty() {
            let _ = self.io.display_updates.try_send(DisplayUpdate::Lines(lines));
        }
        match notice {
            FilterNotice::Silent => {}
            FilterNotice::Warning(text) | FilterNotice::Broken(text) => self.send_message(DriverMessage::Warning(text)),
        }
    }

    /// Waits for what the filters have not answered yet. An order that ends the attempt ends the waiting.
    pub async fn wait_for_filters(&mut self, end: EndCause, commands: &mut mpsc::UnboundedReceiver<JobCommand>) {
        let mut last = std::mem::take(&mut self.events);
        self.io.reader.finish(&mut last);
        self.absorb_events(last);
        if let Some(display) = &mut self.io.display {
            display.finish();
        }
        let (patience, drawing) = match end {
            EndCause::ByItself => (FILTER_TIMEOUT_AFTER_EXIT, DISPLAY_TIMEOUT_AFTER_EXIT),
            EndCause::OnCommand => (FILTER_TIMEOUT_AFTER_STOP, FILTER_TIMEOUT_AFTER_STOP),
        };
        if !self.wait_while(|ears| ears.reader.is_waiting(), patience, commands).await {
            self.give_up_filter("the response filter had not answered when the agent's time was over".to_owned());
        }
        let is_drawing = |ears: &AttemptIo| ears.display.as_ref().is_some_and(FilteredDisplay::is_waiting);
        if !self.wait_while(is_drawing, drawing, commands).await {
            let text = "the display filter could not follow: the end of what the agent printed is not shown";
            self.send_message(DriverMessage::Warning(text.to_owned()));
        }
    }

    /// Tells whether the wait is over in time.
    async fn wait_while(
        &mut self,
        is_waiting: impl Fn(&AttemptIo) -> bool,
        time_limit: Duration,
        commands: &mut mpsc::UnboundedReceiver<JobCommand>,
    ) -> bool {
        let over = tokio::time::sleep(time_limit);
        tokio::pin!(over);
        while is_waiting(&self.io) {
            tokio::select! {
                () = self.run_own_work() => {}
                Some(order) = commands.recv() => {
                    if order.ends_job() {
                        return false;
                    }
                }
                () = &mut over => return false,
            }
        }
        true
    }

    fn record_event(&mut self, event: &AgentEvent) {
        feed_claim_finder(&mut self.io.claim_finder, event);
        self.final_record.record_event(event);
        if is_work_event(event) {
            self.record_continuation();
        }
        if self.failures.record_event(event) == RetrySignal::Retry {
            self.io.retry_activity.mark_activity();
        }
        match event {
            AgentEvent::Text { message, .. } => self.message_counter.count_message(*message),
            AgentEvent::Started { session, model } => {
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
            }
            AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => {
                let spend = ModelSpend {
                    input_tokens: *input_tokens,
                    output_tokens: *output_tokens,
                    cost_micros: cost_usd.map(dollars_to_micros),
                };
                self.spend = self.spend.add_known(spend);
            }
            AgentEvent::Finished { .. } => self.result = ResultStatus::Seen,
            AgentEvent::Prompted
            | AgentEvent::Unread
            | AgentEvent::AtWork
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Error { .. } => {}
        }
    }

    fn report_handshake_change(&mut self) {
        let (key, is_opening) = (self.io.key, self.io.reader.parser().is_opening_session());
        match (self.is_handshake_reported, is_opening) {
            (false, true) => self.send_message(DriverMessage::HandshakeStarted(key)),
            (true, false) => self.send_message(DriverMessage::HandshakeDone(key)),
            (false, false) | (true, true) => {}
        }
        self.is_handshake_reported = is_opening;
    }

    fn report_repeating_change(&mut self) {
        let key = self.io.key;
        match (self.is_repeating_reported, self.failures.is_repeating()) {
            (false, true) => self.send_message(DriverMessage::Repeating(key)),
            (true, false) => self.send_message(DriverMessage::RepeatingEnded(key)),
            (false, false) | (true, true) => {}
        }
        self.is_repeating_reported = self.failures.is_repeating();
    }

    fn record_output(&mut self) {
        self.io.activity.mark_activity();
        if !self.io.reader.is_conversation_over() {
            self.record_continuation();
        }
    }

    /// New output after the final record: the agent is not done after all. It may come in the same piece.
    fn record_continuation(&mut self) {
        self.result = ResultStatus::Awaited;
        self.has_new_output = true;
    }

    /// Tells the driver what a whole piece means, however many records it holds.
    fn report_result_change(&mut self) {
        if self.reported_result == ResultStatus::Seen && self.has_new_output {
            self.reported_result = ResultStatus::Awaited;
            self.send_message(DriverMessage::OutputResumed(self.io.key));
        }
        if self.reported_result == ResultStatus::Awaited && self.result == ResultStatus::Seen {
            self.reported_result = ResultStatus::Seen;
            self.send_message(DriverMessage::ResultSeen(self.io.key));
        }
        self.has_new_output = false;
    }

    fn send_message(&self, message: DriverMessage) {
        // The driver is gone only when the run is over.
        let _ = self.io.messages.send(message);
    }
}

impl JobListener for AgentListener {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, when: OutputTiming) {
        match when {
            OutputTiming::BeforeExit => {
                self.record_output();
                if let Some(display) = &mut self.io.display {
                    display.push(piece);
                }
                let mut events = std::mem::take(&mut self.events);
                self.io.reader.push(piece, &mut events);
                self.absorb_events(events);
            }
            OutputTiming::AfterExit if !self.is_late_marked => {
                self.is_late_marked = true;
                self.io.stdout_log.write(&mut LATE_OUTPUT_MARKER.to_vec());
            }
            OutputTiming::AfterExit => {}
        }
        self.io.stdout_log.write(piece);
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.io.activity.mark_activity();
        self.stderr_tail.push(piece);
        let mut events = std::mem::take(&mut self.events);
        self.stderr_notices.push(self.io.adapter, piece, &mut events);
        self.absorb_events(events);
        self.io.stderr_log.write(piece);
    }

    fn has_room(&self) -> bool {
        self.io.reader.has_room()
    }

    fn next_stdin_chunk(&mut self) -> StdinChunk {
        let agent::PendingStdin { bytes, disposition: then } = self.io.reader.parser().take_pending_stdin();
        let then = match then {
            agent::StdinDisposition::KeepOpen => StdinFollowUp::KeepOpen,
            agent::StdinDisposition::Close => StdinFollowUp::Close,
        };
        StdinChunk { bytes, follow_up: then }
    }

    fn queue_interrupt(&mut self) {
        self.io.reader.parser().interrupt_turn();
    }

    async fn run_own_work(&mut self) {
        let AttemptIo { reader, display, .. } = &mut self.io;
        let shown = async {
            match display {
                Some(display) => display.next_answer().await,
                None => pending().await,
            }
        };
        tokio::select! {
            answer = reader.next_answer() => self.handle_filter_answer(answer),
            answer = shown => self.handle_display_answer(answer),
        }
    }
}

/// Tells whether an agent that reports this is at work.
fn is_work_event(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Started { .. }
        | AgentEvent::Prompted
        | AgentEvent::Unread
        | AgentEvent::AtWork
        | AgentEvent::Text { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::ToolCall { .. }
        | AgentEvent::ToolResult { .. } => true,
        AgentEvent::Usage { .. }
        | AgentEvent::RateLimit { .. }
        | AgentEvent::Error { .. }
        | AgentEvent::Finished { .. } => false,
    }
}
