//! The session log of classic mode: headers and footers around the agent's raw output, which is copied into the same
//! file. If the log cannot be written, the observer gets one warning and the run continues.
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::attempt::ModelSpend;
use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_core::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use ralph_core::outcome::{Outcome, RunEnd};

use super::session_log_layout::{
    SessionLogFooter, SessionLogHeader, SessionLogSummary, format_footer, format_header, format_local_time,
    format_remark, format_summary, log_file_name,
};
use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_util::session_log_file::SessionLogFile;

use crate::error::AppError;
use crate::view::format_wait_end;

/// Writes the log, and forwards everything to the inner observer.
pub(in crate::run) struct SessionLogWriter<'a> {
    file: SessionLogFile,
    mode: &'static str,
    zone: TimeZone,
    /// The time of the first fact.
    started_at: Option<UnixMillis>,
    last_fact_at: Option<UnixMillis>,
    open_iteration: Option<OpenIteration>,
    successful: u32,
    failed: u32,
    inner: &'a mut dyn RunObserver,
}

/// The iteration whose header has been written and whose footer has not.
#[derive(Default)]
struct OpenIteration {
    retries: u32,
    /// An attempt that does not count as a retry: it follows a rate limit, a pause, or a change of agent or session.
    non_retry_attempt: Option<u32>,
    model: Option<String>,
    messages: Option<u32>,
    spend: ModelSpend,
}

impl<'a> SessionLogWriter<'a> {
    pub(in crate::run) fn new(file: SessionLogFile, mode: &'static str, inner: &'a mut dyn RunObserver) -> Self {
        let zone = TimeZone::system();
        Self {
            file,
            mode,
            zone,
            started_at: None,
            last_fact_at: None,
            open_iteration: None,
            successful: 0,
            failed: 0,
            inner,
        }
    }

    /// Writes the summary of a run that ended with an engine error.
    pub(in crate::run) fn write_aborted_summary(&self, error: &AppError) {
        let (reason, exit_code) = (error.message.clone(), error.kind.exit_code());
        self.write_summary(self.last_fact_at, &RunEnd { outcome: Outcome::Failed, reason, exit_code });
    }

    fn write_summary(&self, at: Option<UnixMillis>, ended: &RunEnd) {
        let took = at.zip(self.started_at).map_or(0, |(at, started)| at.elapsed_since(started));
        self.file.write_line(&format_summary(&SessionLogSummary {
            successful: self.successful,
            failed: self.failed,
            took: Duration::from_millis(took),
            ended,
        }));
    }

    fn write_fact(&mut self, at: UnixMillis, fact: &Fact) {
        self.started_at.get_or_insert(at);
        self.last_fact_at = Some(at);
        self.file.open(|number| log_file_name(at, &self.zone, number));
        match fact {
            Fact::AttemptStarted { iteration, attempt } => self.record_attempt_start(*iteration, *attempt, at),
            Fact::RunResumed { iteration, attempt, next, .. } => {
                self.record_resume(AttemptKey { iteration: *iteration, attempt: *attempt }, *next, at);
            }
            Fact::AttemptEnded { attempt, result, .. } => self.record_attempt_end(*attempt, result),
            Fact::IterationEnded { iteration, status, duration_ms } => {
                self.record_iteration_end(*iteration, *status, at, Duration::from_millis(*duration_ms));
            }
            Fact::RunFinished { outcome, reason, exit_code, .. } => {
                let ended = RunEnd { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
                self.write_summary(Some(at), &ended);
            }
            Fact::LimitWaiting { attempt, delay_ms, reason, .. } => {
                let until = format_wait_end(at, *delay_ms);
                self.note_non_retry_attempt(*attempt, &format!("rate limited: {reason}; waits {until}"));
            }
            Fact::AgentWaiting { attempt, delay_ms, reason, .. } => {
                let until = format_wait_end(at, *delay_ms);
                self.note_non_retry_attempt(*attempt, &format!("the agent waits {until}: {reason}"));
            }
            Fact::AgentChanged { attempt, agent, reason, .. } => {
                self.note_non_retry_attempt(*attempt, &format!("agent {agent} takes over: {reason}"));
            }
            Fact::SessionFresh { attempt, reason, .. } => self.note_non_retry_attempt(*attempt, reason),
            Fact::RunStarted { .. }
            | Fact::RunSealed { .. }
            | Fact::Baseline { .. }
            | Fact::IterationStarted { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::AgentReported { .. }
            | Fact::LimitsChanged { .. }
            | Fact::StandingGuidance { .. }
            | Fact::RunAccepted { .. }
            | Fact::RunRejected { .. }
            | Fact::RetryScheduled { .. }
            | Fact::Claim { .. }
            | Fact::Verdict { .. }
            | Fact::Receipt { .. }
            | Fact::StopRequested { .. } => {}
        }
    }

    fn record_attempt_start(&mut self, iteration: u32, attempt: u32, at: UnixMillis) {
        match &mut self.open_iteration {
            Some(open) if open.non_retry_attempt == Some(attempt) => {}
            Some(open) => open.retries += 1,
            None => self.begin_iteration(iteration, at),
        }
    }

    /// Writes why another attempt follows that does not count as a retry.
    fn note_non_retry_attempt(&mut self, attempt: u32, reason: &str) {
        if let Some(open) = &mut self.open_iteration {
            open.non_retry_attempt = Some(attempt);
            self.file.write_line(&format_remark(reason));
        }
    }

    /// Writes a header if the run resumes in the middle of an iteration. An agent that starts writes its own header.
    fn record_resume(&mut self, key: AttemptKey, next: NextStep, at: UnixMillis) {
        if self.open_iteration.is_some() {
            return self.note_non_retry_attempt(key.attempt, "resumed after a pause");
        }
        match next {
            NextStep::Agent | NextStep::Prepare | NextStep::Pause => {}
            NextStep::Retry | NextStep::Limit | NextStep::Checks | NextStep::End => {
                self.begin_iteration(key.iteration, at);
            }
        }
    }

    fn begin_iteration(&mut self, iteration: u32, at: UnixMillis) {
        self.open_iteration = Some(OpenIteration::default());
        let start = format_local_time(at, &self.zone);
        self.file.write_line(&format_header(&SessionLogHeader { iteration, mode: self.mode, start: &start }));
    }

    fn record_attempt_end(&mut self, attempt: u32, result: &AttemptResult) {
        // An attempt of an earlier session is in the log of that session.
        let Some(open) = &mut self.open_iteration else { return };
        open.model = result.model.clone().or(open.model.take());
        open.messages = result.messages.map(|new| new.saturating_add(open.messages.unwrap_or(0))).or(open.messages);
        open.spend = open.spend.add_known(result.spend);
        if let Some(failure) = &result.failure {
            self.file.write_line(&format_remark(&format!("attempt {attempt}: {failure}")));
        }
    }

    fn record_iteration_end(&mut self, iteration: u32, status: IterationStatus, at: UnixMillis, took: Duration) {
        match status {
            IterationStatus::Finished => self.successful += 1,
            IterationStatus::Failed | IterationStatus::TimedOut | IterationStatus::Interrupted => {
                self.failed += 1;
            }
        }
        let open = self.open_iteration.take().unwrap_or_default();
        let end = format_local_time(at, &self.zone);
        self.file.write_line(&format_footer(&SessionLogFooter {
            iteration,
            end: &end,
            took,
            model: open.model.as_deref(),
            messages: open.messages,
            cost_micros: open.spend.cost_micros,
            retries: open.retries,
            status,
        }));
    }
}

impl RunObserver for SessionLogWriter<'_> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        self.write_fact(stamp.at, fact);
        if let Some(message) = self.file.take_failure_message() {
            self.inner.on_warning(&message);
        }
        self.inner.on_fact(stamp, fact);
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.inner.on_agent_event(event);
    }

    fn on_display_line(&mut self, line: &str) {
        self.inner.on_display_line(line);
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.inner.on_stop_grace(grace);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.inner.on_limit_wait(left);
    }

    fn on_warning(&mut self, text: &str) {
        self.inner.on_warning(text);
    }
}
