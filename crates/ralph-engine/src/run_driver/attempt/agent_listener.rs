//! Reads the output of one agent: raw bytes go to the log, records to the parser, the agent's text to the claim finder.
//! Keeps only what the report of the attempt needs, and nothing that grows with the output.
use std::future::pending;
use std::time::{Duration, Instant};

use ralph_core::attempt::{
    AgentErrorKind, AgentReportedError, AttemptEnding, AttemptReport, ModelSpend, OutputParseStatus,
    SessionResumability,
};
use ralph_core::claim::TranscriptEvent;
use ralph_core::event::AgentActivity;
use tokio::sync::mpsc;

use super::attempt_conversions::{dollars_to_micros, observed_exit, to_leftovers};
use super::attempt_io::AttemptIo;
use super::attempt_output::{DisplayAnswer, FilterNotice, FilteredDisplay};
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::failure_collector::{FailureCollector, FailureSummary, RetrySignal};
use super::filter_process::FilterAnswer;
use super::message_counter::MessageCounter;
use super::usage_file;
use ralph_agents as agent;
use ralph_agents::{
    AgentEvent, AgentExit, AgentFailure, ExitContext, FinalRecord, OutputFormat, SessionSupport, StderrNotices,
    feed_claim_finder, infer_failure,
};
use ralph_process::{
    EndCause, JobCommand, JobListener, OutputTail, OutputTiming, StdinChunk, StdinFollowUp, TreeCleanup,
};
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// Written to the log before late output, which is not evaluated.
const LATE_OUTPUT_MARKER: &[u8] = b"\n[ralph: the following output was printed after the agent had exited]\n";

/// How many events of one chunk of output are shown.
const MAX_EVENTS_PER_UPDATE: usize = 200;

/// How much of the end of stderr is kept for the report.
const STDERR_TAIL_BYTES: usize = 4_096;

/// How many denied tool calls of an attempt are reported.
const MAX_DENIED_ACTIONS: usize = 20;

/// How long the filters may take for the remaining output after the agent has exited, and after it was stopped.
const FILTER_TIMEOUT_AFTER_EXIT: Duration = Duration::from_secs(30);
const FILTER_TIMEOUT_AFTER_STOP: Duration = Duration::from_secs(1);
/// How long the display filter may take after the agent has exited without a stop.
const DISPLAY_TIMEOUT_AFTER_EXIT: Duration = Duration::from_secs(3);

pub struct AgentListener {
    io: AttemptIo,
    started: Instant,
    events: Vec<AgentEvent>,
    failures: FailureCollector,
    /// Whether the driver knows that the handshake of a conversation is in progress.
    is_handshake_reported: bool,
    /// Whether the driver knows that the agent only repeats requests.
    is_repeating_reported: bool,
    final_record: FinalRecord,
    session: Option<String>,
    model: Option<String>,
    message_counter: MessageCounter,
    spend: ModelSpend,
    /// The first tool calls that the agent was not allowed to make.
    denied_actions: Vec<String>,
    stderr_tail: OutputTail,
    stderr_notices: StderrNotices,
    result: ResultStatus,
    /// The result status that the driver knows.
    reported_result: ResultStatus,
    /// Whether the agent has printed something since the last report to the driver.
    has_new_output: bool,
    is_late_marked: bool,
}

/// Whether the agent's final record has been read.
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
            denied_actions: Vec::new(),
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

    /// Returns the report of the attempt. Call it when all processes of the agent have exited.
    #[must_use]
    pub fn into_report(mut self, ending: AttemptEnding, cleanup: &TreeCleanup) -> AttemptReport {
        let mut last_events = std::mem::take(&mut self.events);
        let reader_warning = self.io.reader.end_reading(&mut last_events);
        self.read_usage(&mut last_events);
        self.absorb_events(last_events);
        let display_warning = self.io.display.take().and_then(|display| display.failure_summary());
        for warning in reader_warning.into_iter().chain(display_warning) {
            self.send_message(DriverMessage::Warning(warning));
        }
        self.finish_logs();
        let stderr_tail = redact::redact_text(&sanitize_text(&self.stderr_tail.finish())).into_owned();
        let resumability = self.session_after(&stderr_tail);
        let FailureSummary { failure, repeating } = std::mem::take(&mut self.failures).summarize(&ending, &stderr_tail);
        let stray_line = self.stray_line();
        let failure = failure.or_else(|| self.infer_failure(&ending, &stderr_tail, &stray_line));
        let failure = failure.map(|failure| self.add_remedy(self.add_stderr_line(failure, &stderr_tail), &ending));
        let repeating = repeating.map(|failure| self.add_remedy(failure, &ending));
        AttemptReport {
            ending,
            error: failure,
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
            leftovers: to_leftovers(cleanup),
            denied_actions: self.denied_actions,
            has_changed_files: None,
        }
    }

    /// Reads the agent's usage file. If that fails, the attempt still counts, and its usage is unknown.
    fn read_usage(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(path) = self.io.usage_file.take() else { return };
        match usage_file::take_contents(&path) {
            Ok(text) => self.io.reader.parser().read_usage_file(&text, out),
            Err(error) => {
                self.send_message(DriverMessage::Warning(format!("the agent's usage is unknown: {error}")));
            }
        }
    }

    fn session_after(&self, stderr: &str) -> SessionResumability {
        let request = &self.io.session_request;
        match request.session_mode {
            SessionSupport::Unsupported => SessionResumability::None,
            _ if request.resume_id.is_some() && self.failures.is_session_lost(stderr) => SessionResumability::Lost,
            SessionSupport::AgentAssignedId | SessionSupport::CallerAssignedId => SessionResumability::Resumable,
        }
    }

    /// Returns the last line of output that was not understood.
    fn stray_line(&mut self) -> String {
        match self.stream_status() {
            OutputParseStatus::Understood => String::new(),
            OutputParseStatus::NotUnderstood => {
                let line = String::from_utf8_lossy(self.io.reader.parser().stray_line()).into_owned();
                redact::redact_text(&sanitize_text(&line)).into_owned()
            }
        }
    }

    /// Infers the failure from the exit and stderr if no record reports one. Output that was not understood is reported
    /// separately.
    fn infer_failure(&self, ending: &AttemptEnding, stderr: &str, stray_line: &str) -> Option<AgentReportedError> {
        let exit = match observed_exit(ending)? {
            AgentExit::Code(0) if self.stream_status() == OutputParseStatus::NotUnderstood => return None,
            exit => exit,
        };
        let final_record = self.final_record;
        let context = ExitContext { format: self.judged_format(), exit, stderr, stray_line, final_record };
        let AgentFailure { kind, message } = infer_failure(self.io.adapter, &context)?;
        Some(AgentReportedError { kind, message: sanitize_text(&message), reset_at: None })
    }

    /// Adds the last line of stderr to the failure of a conversation that the agent has left without an answer.
    fn add_stderr_line(&self, failure: AgentReportedError, stderr: &str) -> AgentReportedError {
        let line = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
        match line.filter(|_| self.io.format.is_conversation() && failure.kind == AgentErrorKind::Crash) {
            Some(line) => AgentReportedError { message: format!("{}: {line}", failure.message), ..failure },
            None => failure,
        }
    }

    /// Adds the login hint to an authentication failure, which no retry can fix.
    fn add_remedy(&self, failure: AgentReportedError, ending: &AttemptEnding) -> AgentReportedError {
        if failure.kind != AgentErrorKind::Auth {
            return failure;
        }
        let remedy = self.io.adapter.login_remedy(observed_exit(ending).unwrap_or(AgentExit::Unknown));
        AgentReportedError { message: format!("{} (hint: {remedy})", failure.message), ..failure }
    }

    /// Returns the format whose records the attempt is judged by. If a filter of the user reads records of another
    /// shape, its output is the text, and the exit code decides.
    fn judged_format(&self) -> OutputFormat {
        let has_records = self.io.reader.record_counts().recognised > 0;
        if self.io.reader.has_filter() && !has_records { OutputFormat::Text } else { self.io.format }
    }

    fn stream_status(&self) -> OutputParseStatus {
        match self.judged_format() {
            OutputFormat::Text => OutputParseStatus::Understood,
            _ if self.io.reader.record_counts().recognised > 0 => OutputParseStatus::Understood,
            _ => OutputParseStatus::NotUnderstood,
        }
    }

    /// Returns the number of messages. In plain text, messages cannot be told apart.
    fn message_count(&self) -> Option<u32> {
        (self.io.format != OutputFormat::Text).then_some(self.message_counter.count())
    }

    /// Flushes the logs, so that they are complete before the attempt is recorded.
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
            self.send_message(DriverMessage::Activity(self.io.key, AgentActivity::Overspent { spend: self.spend }));
        }
        self.report_result_change();
        // A slow display misses updates; the run does not wait for it.
        let shown = events.split_off(events.len().saturating_sub(MAX_EVENTS_PER_UPDATE));
        if !shown.is_empty() {
            let _ = self.io.display_updates.try_send(DisplayUpdate::Events(shown));
        }
        events.clear();
        self.events = events;
    }

    /// Reads an answer of the response filter.
    fn handle_filter_answer(&mut self, answer: FilterAnswer) {
        let mut events = std::mem::take(&mut self.events);
        match self.io.reader.take_answer(answer, &mut events) {
            FilterNotice::Silent => {}
            FilterNotice::Warning(text) => self.send_message(DriverMessage::Warning(text)),
            FilterNotice::Broken(reason) => self.give_up_filter(reason),
        }
        self.absorb_events(events);
    }

    /// Marks the rest of the output as lost, so that no earlier text counts as the agent's final message.
    fn give_up_filter(&mut self, reason: String) {
        self.io.claim_finder.handle_event(TranscriptEvent::OutputLost);
        self.send_message(DriverMessage::Warning(reason));
    }

    /// Shows an answer of the display filter.
    fn handle_display_answer(&mut self, answer: FilterAnswer) {
        let Some(display) = &mut self.io.display else { return };
        let DisplayAnswer { lines, notice } = display.take_answer(answer);
        if !lines.is_empty() {
            let _ = self.io.display_updates.try_send(DisplayUpdate::Lines(lines));
        }
        match notice {
            FilterNotice::Silent => {}
            FilterNotice::Warning(text) | FilterNotice::Broken(text) => self.send_message(DriverMessage::Warning(text)),
        }
    }

    /// Waits for the outstanding answers of the filters. A command that ends the attempt ends the wait.
    pub async fn wait_for_filters(&mut self, end: EndCause, commands: &mut mpsc::UnboundedReceiver<JobCommand>) {
        let mut last_events = std::mem::take(&mut self.events);
        self.io.reader.finish(&mut last_events);
        self.absorb_events(last_events);
        if let Some(display) = &mut self.io.display {
            display.finish();
        }
        let (response_timeout, display_timeout) = match end {
            EndCause::ByItself => (FILTER_TIMEOUT_AFTER_EXIT, DISPLAY_TIMEOUT_AFTER_EXIT),
            EndCause::OnCommand => (FILTER_TIMEOUT_AFTER_STOP, FILTER_TIMEOUT_AFTER_STOP),
        };
        if !self.wait_while(|io| io.reader.is_waiting(), response_timeout, commands).await {
            self.give_up_filter("the response filter did not finish in time after the agent had exited".to_owned());
        }
        let is_display_waiting = |io: &AttemptIo| io.display.as_ref().is_some_and(FilteredDisplay::is_waiting);
        if !self.wait_while(is_display_waiting, display_timeout, commands).await {
            let text = "the display filter is too slow: the end of the agent's output is not shown";
            self.send_message(DriverMessage::Warning(text.to_owned()));
        }
    }

    /// Waits while the condition holds. Returns false after a timeout or a command that ends the job.
    async fn wait_while(
        &mut self,
        is_waiting: impl Fn(&AttemptIo) -> bool,
        time_limit: Duration,
        commands: &mut mpsc::UnboundedReceiver<JobCommand>,
    ) -> bool {
        let timeout = tokio::time::sleep(time_limit);
        tokio::pin!(timeout);
        while is_waiting(&self.io) {
            tokio::select! {
                () = self.run_own_work() => {}
                Some(command) = commands.recv() => {
                    if command.ends_job() {
                        return false;
                    }
                }
                () = &mut timeout => return false,
            }
        }
        true
    }

    fn record_event(&mut self, event: &AgentEvent) {
        feed_claim_finder(&mut self.io.claim_finder, event);
        self.final_record.record_event(event);
        if event.shows_work() {
            self.record_continuation();
        }
        let rejected_before = self.failures.rejected_logins();
        if self.failures.record_event(event) == RetrySignal::Retry {
            self.io.retry_activity.mark_activity();
        }
        self.report_login_change(rejected_before);
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
            AgentEvent::PermissionDenied { action } => self.record_denial(action),
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

    fn record_denial(&mut self, action: &str) {
        let action = redact::redact_text(&sanitize_text(action)).into_owned();
        if self.denied_actions.len() < MAX_DENIED_ACTIONS && !self.denied_actions.contains(&action) {
            self.denied_actions.push(action);
        }
    }

    fn report_handshake_change(&mut self) {
        let (key, is_opening) = (self.io.key, self.io.reader.parser().is_opening_session());
        match (self.is_handshake_reported, is_opening) {
            (false, true) => self.send_message(DriverMessage::Activity(key, AgentActivity::HandshakeStarted)),
            (true, false) => self.send_message(DriverMessage::Activity(key, AgentActivity::HandshakeDone)),
            (false, false) | (true, true) => {}
        }
        self.is_handshake_reported = is_opening;
    }

    fn report_repeating_change(&mut self) {
        let key = self.io.key;
        match (self.is_repeating_reported, self.failures.is_repeating()) {
            (false, true) => self.send_message(DriverMessage::Activity(key, AgentActivity::RepeatingStarted)),
            (true, false) => self.send_message(DriverMessage::Activity(key, AgentActivity::RepeatingEnded)),
            (false, false) | (true, true) => {}
        }
        self.is_repeating_reported = self.failures.is_repeating();
    }

    /// Reports each rejection of the login, and the first progress after one.
    fn report_login_change(&self, rejected_before: u32) {
        let key = self.io.key;
        match (rejected_before, self.failures.rejected_logins()) {
            (before, now) if before == now => {}
            (_, 0) => self.send_message(DriverMessage::Activity(key, AgentActivity::LoginAccepted)),
            (_, times) => self.send_message(DriverMessage::Activity(key, AgentActivity::LoginRejected { times })),
        }
    }

    fn record_output(&mut self) {
        self.io.activity.mark_activity();
        if !self.io.reader.is_conversation_over() {
            self.record_continuation();
        }
    }

    /// Records new output after the final record: the agent is not done. It may be in the same chunk as that record.
    fn record_continuation(&mut self) {
        self.result = ResultStatus::Awaited;
        self.has_new_output = true;
    }

    /// Reports the result status to the driver once per chunk of output, however many records the chunk has.
    fn report_result_change(&mut self) {
        if self.reported_result == ResultStatus::Seen && self.has_new_output {
            self.reported_result = ResultStatus::Awaited;
            self.send_message(DriverMessage::Activity(self.io.key, AgentActivity::OutputResumed));
        }
        if self.reported_result == ResultStatus::Awaited && self.result == ResultStatus::Seen {
            self.reported_result = ResultStatus::Seen;
            self.send_message(DriverMessage::Activity(self.io.key, AgentActivity::ResultSeen));
        }
        self.has_new_output = false;
    }

    fn send_message(&self, message: DriverMessage) {
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
        let agent::PendingStdin { bytes, disposition } = self.io.reader.parser().take_pending_stdin();
        let follow_up = match disposition {
            agent::StdinDisposition::KeepOpen => StdinFollowUp::KeepOpen,
            agent::StdinDisposition::Close => StdinFollowUp::Close,
        };
        StdinChunk { bytes, follow_up }
    }

    fn queue_interrupt(&mut self) {
        self.io.reader.parser().interrupt_turn();
    }

    async fn run_own_work(&mut self) {
        let AttemptIo { reader, display, .. } = &mut self.io;
        let display_answer = async {
            match display {
                Some(display) => display.next_answer().await,
                None => pending().await,
            }
        };
        tokio::select! {
            answer = reader.next_answer() => self.handle_filter_answer(answer),
            answer = display_answer => self.handle_display_answer(answer),
        }
    }
}
