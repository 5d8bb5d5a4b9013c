//! The session log of classic mode: a frame around the agent's raw output, which the raw logs copy into the same
//! file. A log that cannot be written is told once and never stops a run.
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::attempt::Spend;
use ralph_core::event::Millis;
use ralph_core::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use ralph_core::outcome::{Ended, Outcome};

use super::countdown::until_words;
use super::session_layout::{
    Footer, Header, Summary, file_name, footer, header, local_time, remark, summary,
};
use ralph_agents::AgentEvent;
use ralph_engine::engine::{Stamp, Watcher};
use ralph_util::session_file::SessionFile;

/// Writes the log, and passes everything on to the report that people see.
pub struct SessionLog<W: Watcher> {
    file: SessionFile,
    mode: &'static str,
    zone: TimeZone,
    /// When the session began, once it has.
    begun: Option<Millis>,
    last: Option<Millis>,
    open: Option<Open>,
    successful: u32,
    failed: u32,
    shown: W,
}

/// The iteration whose header stands in the log.
#[derive(Default)]
struct Open {
    retries: u32,
    /// The attempt that is no retry: a limit is over, or the session had to be another.
    excused: Option<u32>,
    model: Option<String>,
    messages: Option<u32>,
    spend: Spend,
}

impl<W: Watcher> SessionLog<W> {
    #[must_use]
    pub fn new(file: SessionFile, mode: &'static str, shown: W) -> Self {
        let zone = TimeZone::system();
        Self { file, mode, zone, begun: None, last: None, open: None, successful: 0, failed: 0, shown }
    }

    /// Ends the log of a run that the engine could not end.
    pub fn cut_short(&mut self, reason: &str, exit_code: u8) {
        self.summarise(self.last, &Ended { outcome: Outcome::Failed, reason: reason.to_owned(), exit_code });
    }

    fn summarise(&self, at: Option<Millis>, ended: &Ended) {
        let took = at.zip(self.begun).map_or(0, |(at, begun)| at.since(begun));
        self.file.line(&summary(&Summary {
            successful: self.successful,
            failed: self.failed,
            took: Duration::from_millis(took),
            ended,
        }));
    }

    fn write(&mut self, at: Millis, fact: &Fact) {
        self.begun.get_or_insert(at);
        self.last = Some(at);
        self.file.open(|number| file_name(at, &self.zone, number));
        match fact {
            Fact::AttemptStarted { iteration, attempt } => self.attempt_started(*iteration, *attempt, at),
            Fact::RunResumed { iteration, attempt, next, .. } => {
                self.resumed((*iteration, *attempt), *next, at);
            }
            Fact::AttemptEnded { attempt, result, .. } => self.attempt_ended(*attempt, result),
            Fact::IterationEnded { iteration, status, duration_ms } => {
                self.iteration_ended((*iteration, *status), at, Duration::from_millis(*duration_ms));
            }
            Fact::RunFinished { outcome, reason, exit_code, .. } => {
                let ended = Ended { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
                self.summarise(Some(at), &ended);
            }
            Fact::LimitWaiting { attempt, delay_ms, reason, .. } => {
                let until = until_words(at, *delay_ms);
                self.excused(*attempt, &format!("rate limited: {reason}; waits {until}"));
            }
            Fact::AgentChanged { attempt, agent, reason, .. } => {
                self.excused(*attempt, &format!("agent {agent} takes over: {reason}"));
            }
            Fact::SessionFresh { attempt, reason, .. } => self.excused(*attempt, reason),
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

    fn attempt_started(&mut self, iteration: u32, attempt: u32, at: Millis) {
        match &mut self.open {
            Some(open) if open.excused == Some(attempt) => {}
            Some(open) => open.retries += 1,
            None => self.begin(iteration, at),
        }
    }

    /// Says why there will be another attempt that is no retry.
    fn excused(&mut self, attempt: u32, why: &str) {
        if let Some(open) = &mut self.open {
            open.excused = Some(attempt);
            self.file.line(&remark(why));
        }
    }

    /// What goes on in the middle of an iteration needs a header; an agent brings its own.
    fn resumed(&mut self, (iteration, attempt): (u32, u32), next: NextStep, at: Millis) {
        if self.open.is_some() {
            return self.excused(attempt, "goes on after a pause");
        }
        match next {
            NextStep::Agent | NextStep::Prepare | NextStep::Pause => {}
            NextStep::Retry | NextStep::Limit | NextStep::Checks | NextStep::End => self.begin(iteration, at),
        }
    }

    fn begin(&mut self, iteration: u32, at: Millis) {
        self.open = Some(Open::default());
        let start = local_time(at, &self.zone);
        self.file.line(&header(&Header { iteration, mode: self.mode, start: &start }));
    }

    fn attempt_ended(&mut self, attempt: u32, result: &AttemptResult) {
        // An attempt of an earlier session is told in the log of that one.
        let Some(open) = &mut self.open else { return };
        open.model = result.model.clone().or(open.model.take());
        open.messages =
            result.messages.map(|new| new.saturating_add(open.messages.unwrap_or(0))).or(open.messages);
        open.spend = open.spend.plus(result.spend);
        if let Some(failure) = &result.failure {
            self.file.line(&remark(&format!("attempt {attempt}: {failure}")));
        }
    }

    fn iteration_ended(&mut self, (iteration, status): (u32, IterationStatus), at: Millis, took: Duration) {
        match status {
            IterationStatus::Finished => self.successful += 1,
            IterationStatus::Failed | IterationStatus::TimedOut | IterationStatus::Interrupted => {
                self.failed += 1;
            }
        }
        let open = self.open.take().unwrap_or_default();
        let end = local_time(at, &self.zone);
        self.file.line(&footer(&Footer {
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

impl<W: Watcher> Watcher for SessionLog<W> {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        self.write(stamp.at, fact);
        if let Some(complaint) = self.file.complaint() {
            self.shown.warning(&complaint);
        }
        self.shown.fact(stamp, fact);
    }

    fn agent(&mut self, event: &AgentEvent) {
        self.shown.agent(event);
    }

    fn filtered(&mut self, line: &str) {
        self.shown.filtered(line);
    }

    fn grace(&mut self, grace: Duration) {
        self.shown.grace(grace);
    }

    fn waiting(&mut self, left: Duration) {
        self.shown.waiting(left);
    }

    fn warning(&mut self, text: &str) {
        self.shown.warning(text);
    }
}
