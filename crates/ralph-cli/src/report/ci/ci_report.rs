//! One line per iteration; in GitHub Actions after a folded group with everything that happened in it. At the end what failed.
use std::io::Write;
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_core::attempt::ModelSpend;
use ralph_core::fact::Fact;
use ralph_core::outcome::Outcome;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_util::redact::redact_text;

use super::ci_system::CiSystem;
use super::iteration_tracker::{IterationLine, IterationTracker, RunHeading};
use super::job_summary::{RunEnding, append_summary};
use super::workflow_commands::{CommandFreeWriter, neutralise_commands};
use crate::report::{ColorMode, PlainReport, ReportDetail};

/// How many lines of the output of a failed check are repeated at the end.
const MAX_TAIL_LINES: usize = 30;

pub struct CiReport<W: Write> {
    system: CiSystem,
    tracker: IterationTracker,
    /// Everything that happens, for the groups.
    details: PlainReport<CommandFreeWriter<W>>,
    is_group_open: bool,
    lines: Vec<IterationLine>,
    run: String,
}

impl<W: Write> CiReport<W> {
    #[must_use]
    pub fn new(out: W, system: CiSystem, detail: ReportDetail, heading: RunHeading) -> Self {
        let max_iterations = heading.max_iterations;
        let details = PlainReport::line_based(CommandFreeWriter::new(out), ColorMode::Plain, detail, max_iterations);
        Self {
            system,
            tracker: IterationTracker::new(heading),
            details,
            is_group_open: false,
            lines: Vec::new(),
            run: String::new(),
        }
    }

    fn folds_groups(&self) -> bool {
        matches!(self.system, CiSystem::GithubActions { .. })
    }

    fn print_command(&mut self, line: &str) {
        self.details.writer_mut().write_command(line);
    }

    fn print_text(&mut self, line: &str) {
        for line in redact_text(line).split('\n') {
            self.print_command(&neutralise_commands(line));
        }
    }

    fn open_group(&mut self) {
        if self.folds_groups() && !self.is_group_open {
            let title = format!("::group::[{}] {}", self.tracker.position(), self.tracker.label());
            self.print_command(&title);
            self.is_group_open = true;
        }
    }

    fn close_group(&mut self) {
        if self.is_group_open {
            self.details.flush_open_line();
            self.print_command("::endgroup::");
            self.is_group_open = false;
        }
    }

    /// Returns whether a fact is also shown where nothing is folded: the run does something else than to work.
    fn is_notable(fact: &Fact) -> bool {
        matches!(
            fact,
            Fact::RunResumed { .. }
                | Fact::RunPaused { .. }
                | Fact::LimitWaiting { .. }
                | Fact::AgentWaiting { .. }
                | Fact::AgentChanged { .. }
                | Fact::RetryScheduled { .. }
                | Fact::StopRequested { .. }
                | Fact::LimitsChanged { .. }
                | Fact::RunGuided { .. }
        )
    }

    fn end_run(&mut self, outcome: Outcome, reason: &str, spend: ModelSpend) {
        self.close_group();
        let failed_check = self.tracker.failed_check().cloned();
        if let Some(check) = failed_check.as_ref().filter(|_| outcome != Outcome::Completed) {
            self.print_text(&format!("\nfailed: {}: {}", check.display_name(), check.reason));
            let skipped = check.tail.lines().count().saturating_sub(MAX_TAIL_LINES);
            for line in check.tail.lines().skip(skipped) {
                self.print_text(&format!("  {line}"));
            }
        }
        let CiSystem::GithubActions { summary_file: Some(file) } = &self.system else { return };
        let ending = RunEnding { run: &self.run, outcome, reason, spend, failed_check: failed_check.as_ref() };
        if let Err(error) = append_summary(file, &self.lines, &ending) {
            self.print_text(&format!("warning: cannot write the job summary: {error}"));
        }
    }
}

impl<W: Write + Send> RunObserver for CiReport<W> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        stamp.run.clone_into(&mut self.run);
        let ended = self.tracker.observe_fact(fact);
        if let Fact::IterationStarted { .. } = fact {
            self.open_group();
        }
        if self.folds_groups() || Self::is_notable(fact) {
            self.details.on_fact(stamp, fact);
        }
        if let Some(line) = ended {
            self.close_group();
            self.print_text(&line.to_text());
            self.lines.push(line);
        }
        if let Fact::RunFinished { outcome, reason, spend, .. } = fact {
            self.end_run(*outcome, reason, *spend);
        }
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.tracker.observe_agent_event(event);
        if self.folds_groups() {
            self.details.on_agent_event(event);
        }
    }

    fn on_display_line(&mut self, line: &str) {
        if self.folds_groups() {
            self.details.on_display_line(line);
        }
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.details.on_stop_grace(grace);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.details.on_limit_wait(left);
    }

    fn on_quiet(&mut self) {
        self.details.on_quiet();
    }

    fn on_warning(&mut self, text: &str) {
        self.details.on_warning(text);
    }

    fn on_state_line(&mut self, line: &str) {
        self.print_text(line);
    }
}
