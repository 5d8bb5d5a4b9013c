//! The session log of classic mode: a frame around the agent's raw output, which the raw logs copy into the same
//! file. A log that cannot be written is told once and never stops a run.
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::attempt::ModelSpend;
use ralph_core::event::UnixMillis;
use ralph_core::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use ralph_core::outcome::{Outcome, RunEnd};

use super::classic_log_layout::{
    ClassicLogFooter, ClassicLogHeader, ClassicLogSummary, format_footer, format_header, format_local_time,
    format_remark, format_summary, log_file_name,
};
use super::countdown::format_wait_end;
use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_util::session_log_file::SessionLogFile;

/// Writes the log, and passes everything on to the report that people see.
pub struct ClassicLog<W: RunObserver> {
    file: SessionLogFile,
    mode: &'static str,
    zone: TimeZone,
    /// When the session began, once it has.
    started_at: Option<UnixMillis>,
    last_fact_at: Option<UnixMillis>,
    open_iteration: Option<OpenIteration>,
    successful: u32,
    failed: u32,
    inner: W,
}

/// The iteration whose header stands in the log.
#[derive(Default)]
struct OpenIteration {
    retries: u32,
    /// The attempt that is no retry: a limit is over, or the session had to be another.
    non_retry_attempt: Option<u32>,
    model: Option<String>,
    messages: Option<u32>,
    spend: ModelSpend,
}

impl<W: RunObserver> ClassicLog<W> {
    #[must_use]
    pub fn new(file: SessionLogFile, mode: &'static str, inner: W) -> Self {
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

    /// Ends the log of a run that the engine could not end.
    pub fn write_aborted_summary(&mut self, reason: &str, exit_code: u8) {
        self.write_summary(
            self.last_fact_at,
            &RunEnd { outcome: Outcome::Failed, reason: reason.to_owned(), exit_code },
        );
    }

    fn write_summary(&self, at: Option<UnixMillis>, ended: &RunEnd) {
        let took = at.zip(self.started_at).map_or(0, |(at, begun)| at.elapsed_since(begun));
        self.file.write_line(&format_summary(&ClassicLogSummary {
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
                self.record_resume((*iteration, *attempt), *next, at);
            }
            Fact::AttemptEnded { attempt, result, .. } => self.record_attempt_end(*attempt, result),
            Fact::IterationEnded { iteration, status, duration_ms } => {
                self.record_iteration_end((*iteration, *status), at, Duration::from_millis(*duration_ms));
            }
            Fact::RunFinished { outcome, reason, exit_code, .. } => {
                let ended = RunEnd { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
                self.write_summary(Some(at), &ended);
            }
            Fact::LimitWaiting { attempt, delay_ms, reason, .. } => {
                let until = format_wait_end(at, *delay_ms);
                self.note_non_retry_attempt(*attempt, &format!("rate limited: {reason}; waits {until}"));
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

    /// Says why there will be another attempt that is no retry.
    fn note_non_retry_attempt(&mut self, attempt: u32, reason: &str) {
        if let Some(open) = &mut self.open_iteration {
            open.non_retry_attempt = Some(attempt);
            self.file.write_line(&format_remark(reason));
        }
    }

    /// What goes on in the middle of an iteration needs a header; an agent brings its own.
    fn record_resume(&mut self, (iteration, attempt): (u32, u32), next: NextStep, at: UnixMillis) {
        if self.open_iteration.is_some() {
            return self.note_non_retry_attempt(attempt, "goes on after a pause");
        }
        match next {
            NextStep::Agent | NextStep::Prepare | NextStep::Pause => {}
            NextStep::Retry | NextStep::Limit | NextStep::Checks | NextStep::End => self.begin_iteration(iteration, at),
        }
    }

    fn begin_iteration(&mut self, iteration: u32, at: UnixMillis) {
        self.open_iteration = Some(OpenIteration::default());
        let start = format_local_time(at, &self.zone);
        self.file.write_line(&format_header(&ClassicLogHeader { iteration, mode: self.mode, start: &start }));
    }

    fn record_attempt_end(&mut self, attempt: u32, result: &AttemptResult) {
        // An attempt of an earlier session is told in the log of that one.
        let Some(open) = &mut self.open_iteration else { return };
        open.model = result.model.clone().or(open.model.take());
        open.messages = result.messages.map(|new| new.saturating_add(open.messages.unwrap_or(0))).or(open.messages);
        open.spend = open.spend.add_known(result.spend);
        if let Some(failure) = &result.failure {
            self.file.write_line(&format_remark(&format!("attempt {attempt}: {failure}")));
        }
    }

    fn record_iteration_end(&mut self, (iteration, status): (u32, IterationStatus), at: UnixMillis, took: Duration) {
        match status {
            IterationStatus::Finished => self.successful += 1,
            IterationStatus::Failed | IterationStatus::TimedOut | IterationStatus::Interrupted => {
                self.failed += 1;
            }
        }
        let open = self.open_iteration.take().unwrap_or_default();
        let end = format_local_time(at, &self.zone);
        self.file.write_line(&format_footer(&ClassicLogFooter {
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

impl<W: RunObserver> RunObserver for ClassicLog<W> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        self.write_fact(stamp.at, fact);
        if let Some(complaint) = self.file.take_failure_message() {
            self.inner.on_warning(&complaint);
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
