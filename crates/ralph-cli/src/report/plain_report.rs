//! The report of a run as plain text: the agent's actions, its claims, and the verdicts of the checks.
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::ProgressBar;
use ralph_core::attempt::ModelSpend;
use ralph_core::baseline::{BaselineCheck, BaselineStatus};
use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_core::evidence::{CheckEvidence, Verdict};
use ralph_core::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use ralph_core::limit_change::ChangedLimits;
use ralph_core::seal::Seal;

use super::color::{ColorMode, TextStyle};
use super::countdown::WaitCountdown;
use super::line_width::LineWidth;
use super::message_joiner::MessageJoiner;
use super::progress_terminal::build_progress_line;
use super::redact_event::redact_event;
use super::wrap::truncate_line;
use ralph_agents::{AgentEvent, render_event};
use ralph_app::view::{format_cost, format_process_count, format_wait_end, pluralize, short_id};
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_util::duration;
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// How much of the agent's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportDetail {
    /// Agent text, tool calls and results.
    Everything,
    /// The agent's output after the display filter that the user configured.
    DisplayFilter,
    /// Only iterations, claims and verdicts.
    Milestones,
}

/// The columns of the label, such as `claimed`, before the text.
const MARGIN: usize = 10;
/// The indentation of the agent's output.
const INDENT: usize = 2;
/// After this time without a further chunk, a line that has begun is shown. Models often pause for a second or two.
pub(super) const OPEN_LINE_DELAY: Duration = Duration::from_secs(3);
/// How many sealed files are listed by name.
const MAX_SEALED_FILES_NAMED: usize = 6;
/// The length of the line above an iteration.
const RULE_COLUMNS: usize = 60;
/// Why a run waits, unless its agent asked for it.
const RATE_LIMIT_WAIT: &str = "rate limited";
/// The width to which excerpts are truncated if no terminal limits them.
const EXCERPT_COLUMNS: usize = 100;

pub struct PlainReport<W: Write> {
    out: W,
    colors: ColorMode,
    detail: ReportDetail,
    progress: Option<ProgressBar>,
    line_width: LineWidth,
    /// Earlier iterations are counted, but not shown.
    first_iteration: u32,
    max_iterations: u32,
    iteration: u32,
    spend: ModelSpend,
    current_activity: String,
    /// Each message is a separate line, because the lines of several reports are mixed.
    is_line_based: bool,
    /// The current wait, for a rate limit or because the agent asked for it.
    countdown: Option<WaitCountdown>,
    /// The cause of the wait.
    wait_cause: &'static str,
    message_joiner: MessageJoiner,
}

impl<W: Write + IsTerminal> PlainReport<W> {
    /// Returns a report without a progress line, for output that is read later.
    #[must_use]
    pub fn without_progress(out: W, detail: ReportDetail, max_iterations: u32) -> Self {
        let colors = ColorMode::for_stream(&out);
        let line_width = LineWidth::for_stream(&out);
        Self { line_width, is_line_based: false, ..Self::line_based(out, colors, detail, max_iterations) }
    }

    #[must_use]
    pub fn new(out: W, detail: ReportDetail, max_iterations: u32) -> Self {
        let progress = out.is_terminal().then(build_progress_line);
        Self { progress, ..Self::without_progress(out, detail, max_iterations) }
    }
}

impl<W: Write> PlainReport<W> {
    /// Returns a report without spinner and without wrapping.
    #[must_use]
    pub fn line_based(out: W, colors: ColorMode, detail: ReportDetail, max_iterations: u32) -> Self {
        Self {
            out,
            colors,
            detail,
            progress: None,
            is_line_based: true,
            line_width: LineWidth::Unbounded,
            first_iteration: 0,
            max_iterations,
            iteration: 0,
            spend: ModelSpend::default(),
            current_activity: String::new(),
            countdown: None,
            message_joiner: MessageJoiner::default(),
            wait_cause: RATE_LIMIT_WAIT,
        }
    }

    /// Returns the stream, for lines that are not text of the run.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Hides the iterations before this one.
    #[must_use]
    pub fn starting_at_iteration(self, first_iteration: u32) -> Self {
        Self { first_iteration, ..self }
    }

    /// Prints a line above the progress line. Write errors are ignored: a closed terminal does not stop the run.
    fn print_line(&mut self, text: &str) {
        if self.iteration < self.first_iteration {
            return;
        }
        let text = redact::redact_text(text);
        match &self.progress {
            Some(bar) => bar.suspend(|| drop(writeln!(self.out, "{text}"))),
            None => drop(writeln!(self.out, "{text}")),
        }
    }

    /// Prints a text after its label.
    fn print_labeled(&mut self, style: TextStyle, label: &str, text: &str) {
        // Redact before wrapping: a secret that is split over two rows would not be found.
        let rows = self.line_width.wrap_rows(&redact::redact_text(text), MARGIN).join(&format!("\n{:MARGIN$}", ""));
        let label = self.colors.style_text(style, &format!("{label:<9}"));
        self.print_line(&format!("{label} {rows}"));
    }

    /// Prints the last lines of a program's output.
    fn print_tail(&mut self, text: &str, lines: usize) {
        let text = redact::redact_text(text);
        let skipped = text.lines().count().saturating_sub(lines);
        for line in text.lines().skip(skipped) {
            let rows = self.line_width.wrap_rows(&sanitize_text(line), MARGIN);
            let rows = rows.iter().map(|row| format!("{:MARGIN$}{}", "", self.colors.style_text(TextStyle::Dim, row)));
            self.print_line(&rows.collect::<Vec<_>>().join("\n"));
        }
    }

    /// Prints text of the agent in full.
    fn print_agent_text(&mut self, line: &str) {
        let indent = format!("{:INDENT$}", "");
        // Redact before wrapping: a secret that is split over two rows would not be found.
        let rows = self.line_width.wrap_rows(&redact::redact_text(line), INDENT).join(&format!("\n{indent}"));
        self.print_line(&format!("{indent}{rows}"));
    }

    /// Adds streamed text, and prints the lines that are complete, without secrets.
    fn add_agent_text(&mut self, message: u64, text: &str) {
        for complete in self.message_joiner.add_chunk(message, text) {
            self.print_rendered_text(&complete);
        }
    }

    /// Prints the open line: its message has ended, or something else follows.
    pub fn flush_open_line(&mut self) {
        if let Some(open) = self.message_joiner.take_open_line() {
            self.print_rendered_text(&open);
        }
    }

    fn print_rendered_text(&mut self, text: &AgentEvent) {
        for line in render_event(text) {
            self.print_agent_text(&line);
        }
    }

    /// Prints a line, truncated to the width.
    fn print_excerpt(&mut self, line: &str) {
        let line = truncate_line(line, self.line_width.max_columns().unwrap_or(EXCERPT_COLUMNS).saturating_sub(INDENT));
        self.print_line(&format!("{:INDENT$}{line}", ""));
    }

    fn show_progress(&self) {
        let Some(bar) = &self.progress else { return };
        bar.set_prefix(format!("iteration {}/{}", self.iteration, self.max_iterations));
        let mut parts = Vec::new();
        if let Some(tokens) = self.spend.output_tokens {
            parts.push(format!("{tokens} tokens out"));
        }
        if let Some(cost) = self.spend.cost_micros {
            parts.push(format_cost(i64::try_from(cost).ok()));
        }
        if !self.current_activity.is_empty() {
            parts.push(self.current_activity.clone());
        }
        bar.set_message(parts.iter().map(|part| format!("· {part} ")).collect::<String>());
    }

    fn print_iteration_start(&mut self, iteration: u32) {
        self.iteration = iteration;
        self.current_activity.clear();
        let title = format!("── iteration {iteration}/{} ", self.max_iterations);
        if self.is_line_based {
            return self.print_labeled(TextStyle::Bold, "iteration", &format!("{iteration}/{}", self.max_iterations));
        }
        let width = self.line_width.max_columns().unwrap_or(RULE_COLUMNS).min(RULE_COLUMNS);
        let rule = "─".repeat(width.saturating_sub(title.chars().count()));
        let title = self.colors.style_text(TextStyle::Bold, &format!("{title}{rule}"));
        self.print_line(&format!("\n{title}"));
    }

    /// Prints where an interrupted run resumes.
    fn print_resume(&mut self, run: &str, key: AttemptKey, next: NextStep) {
        let AttemptKey { iteration, attempt } = key;
        self.iteration = iteration;
        let step = match next {
            NextStep::Prepare => "the run is prepared again".to_owned(),
            NextStep::Agent => format!("the agent starts, attempt {attempt}"),
            NextStep::Retry => format!("attempt {attempt} after the remaining retry delay"),
            NextStep::Limit => format!("attempt {attempt} after the remaining wait for the rate limit"),
            NextStep::Checks => "the checks run again".to_owned(),
            NextStep::End => "the stop that was in progress is completed".to_owned(),
            NextStep::Pause => "it is paused".to_owned(),
        };
        let title = self.colors.style_text(TextStyle::Bold, "ralph resume");
        let max = self.max_iterations;
        self.print_line(&format!("{title} {} · resumes at iteration {iteration}/{max}: {step}", short_id(run)));
    }

    /// Prints how long the run waits, and starts the countdown.
    fn print_wait(&mut self, at: UnixMillis, agent: &str, delay_ms: u64, reason: &str) {
        let until = format_wait_end(at, delay_ms);
        self.print_labeled(TextStyle::Warning, "waiting", &format!("{}: {reason}", self.wait_cause));
        self.print_line(&format!(
            "          {agent} waits {until}; Ctrl-C stops the run, `ralph resume` resumes the wait"
        ));
        self.current_activity = format!("{}, waits {until}", self.wait_cause);
        self.countdown = Some(WaitCountdown::new(Duration::from_millis(delay_ms)));
    }

    fn print_agent_wait(&mut self, at: UnixMillis, delay_ms: u64, reason: &str) {
        self.wait_cause = "asked to wait";
        self.print_wait(at, "the agent", delay_ms, reason);
    }

    fn print_pause(&mut self) {
        self.current_activity = "paused".to_owned();
        self.print_labeled(TextStyle::Warning, "paused", "`ralph resume` resumes it");
    }

    fn print_limits(&mut self, limits: &ChangedLimits) {
        self.max_iterations = limits.max_iterations.unwrap_or(self.max_iterations);
        self.print_labeled(TextStyle::Bold, "limits", &limits.describe());
    }

    fn end_wait(&mut self) {
        self.wait_cause = RATE_LIMIT_WAIT;
        if self.countdown.take().is_some() {
            self.current_activity.clear();
        }
    }

    fn print_attempt_end(&mut self, attempt: u32, result: &AttemptResult) {
        self.spend = self.spend.add_known(result.spend);
        if let Some(failure) = &result.failure {
            let label = match result.status {
                IterationStatus::TimedOut => "timed out",
                IterationStatus::Interrupted => "stopped",
                IterationStatus::Failed | IterationStatus::Finished => "failed",
            };
            self.print_labeled(TextStyle::Bad, label, &format!("attempt {attempt}: {failure}"));
            // After a requested stop, the last lines are about the stop.
            if result.status != IterationStatus::Interrupted {
                self.print_tail(&result.stderr_tail, 5);
            }
        }
        if result.unknown_records > 0 {
            let lines = pluralize(i64::try_from(result.unknown_records).unwrap_or(i64::MAX), "line");
            let text =
                format!("{lines} of the agent's output are not records that ralph knows; was the agent updated?");
            self.print_labeled(TextStyle::Warning, "unknown", &text);
        }
        if result.leftovers.killed > 0 {
            let text = format!(
                "{} left behind by the agent, killed",
                format_process_count(u64::from(result.leftovers.killed))
            );
            self.print_labeled(TextStyle::Warning, "leaky", &text);
        }
        for leaked in &result.leftovers.leaked.clone() {
            self.print_labeled(TextStyle::Bad, "LEAKED", &format!("{leaked} could not be killed"));
        }
    }

    /// Prints the files that must not change before a claim.
    fn print_seal(&mut self, seal: &Seal) {
        let named: Vec<&str> = seal.files.iter().take(MAX_SEALED_FILES_NAMED).map(|file| file.path.as_str()).collect();
        let more = match seal.files.len().saturating_sub(MAX_SEALED_FILES_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !named.is_empty() {
            self.print_labeled(TextStyle::Dim, "sealed", &format!("{}{more}", named.join(", ")));
        }
        seal.notes.iter().for_each(|note| self.print_labeled(TextStyle::Warning, "note", note));
    }

    /// Prints the result of a check before the first iteration.
    fn print_baseline(&mut self, check: &BaselineCheck) {
        let tone = match check.standing {
            BaselineStatus::Fails => TextStyle::Dim,
            BaselineStatus::ProvesNothing => TextStyle::Warning,
            BaselineStatus::CannotRun => TextStyle::Bad,
        };
        self.print_labeled(tone, "baseline", &check.describe());
        if check.standing == BaselineStatus::CannotRun {
            self.print_tail(&check.evidence.tail, 8);
        }
    }

    fn print_verdict(&mut self, verdict: Verdict, reason: &str, checks: &[CheckEvidence]) {
        let (tone, label) = match verdict {
            Verdict::Accepted => (TextStyle::Good, "accepted"),
            Verdict::Rejected => (TextStyle::Bad, "rejected"),
            Verdict::CouldNotEvaluate => (TextStyle::Warning, "unproven"),
        };
        self.print_labeled(tone, label, reason);
        if let Some(check) = checks.iter().find(|check| check.verdict != Verdict::Accepted) {
            self.print_tail(&check.tail, 8);
        }
    }
}

impl<W: Write + Send> RunObserver for PlainReport<W> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        self.flush_open_line();
        match fact {
            Fact::RunResumed { iteration, attempt, next, changed } => {
                let key = AttemptKey { iteration: *iteration, attempt: *attempt };
                self.print_resume(stamp.run, key, *next);
                changed.iter().for_each(|change| self.print_labeled(TextStyle::Warning, "changed", change));
            }
            Fact::IterationStarted { iteration } => self.print_iteration_start(*iteration),
            Fact::AttemptEnded { attempt, result, .. } => self.print_attempt_end(*attempt, result),
            Fact::RetryScheduled { attempt, delay_ms, .. } => {
                let delay = duration::format_rounded(Duration::from_millis(*delay_ms));
                self.print_labeled(TextStyle::Warning, "retry", &format!("attempt {attempt} in {delay}"));
            }
            Fact::LimitWaiting { agent, delay_ms, reason, .. } => {
                self.print_wait(stamp.at, agent, *delay_ms, reason);
            }
            Fact::AgentWaiting { delay_ms, reason, .. } => self.print_agent_wait(stamp.at, *delay_ms, reason),
            Fact::AgentChanged { agent, reason, .. } => {
                self.print_labeled(TextStyle::Warning, "agent", &format!("{agent} takes over: {reason}"));
            }
            Fact::SessionFresh { reason, .. } => {
                self.print_labeled(TextStyle::Warning, "session", &format!("{reason}; a new one starts"));
            }
            Fact::AttemptStarted { .. } => self.end_wait(),
            Fact::Claim { claim, .. } if claim.claimed => {
                self.current_activity = "checking".to_owned();
                self.print_labeled(TextStyle::Bold, "claimed", &claim.why);
                if let (Some(open), true) = (&claim.contradiction, claim.accepted) {
                    let warning = format!("the same message says: {open}; the checks decide");
                    self.print_labeled(TextStyle::Warning, "warning", &warning);
                }
            }
            Fact::Claim { claim, .. } => self.print_labeled(TextStyle::Dim, "no claim", &claim.why),
            Fact::Verdict { verdict, reason, checks, .. } => self.print_verdict(*verdict, reason, checks),
            Fact::RunPaused { .. } => self.print_pause(),
            Fact::RunGuided { words } => self.print_labeled(TextStyle::Bold, "guided", words),
            Fact::AgentReported { kind, words, .. } => self.print_labeled(TextStyle::Dim, kind.as_str(), words),
            Fact::StandingGuidance { words } => {
                words.iter().for_each(|words| self.print_labeled(TextStyle::Bold, "always", words));
            }
            Fact::LimitsChanged { limits } => self.print_limits(limits),
            Fact::RunAccepted { accepted_by: by, .. } => {
                self.print_labeled(TextStyle::Bold, "accepted", &by.describe());
            }
            Fact::RunRejected { rejected_by: by, .. } => {
                self.print_labeled(TextStyle::Bold, "rejected", &by.describe());
            }
            Fact::StopRequested { reason } => self.print_labeled(TextStyle::Warning, "stopping", reason),
            Fact::RunFinished { .. } => {
                if let Some(bar) = self.progress.take() {
                    bar.finish_and_clear();
                }
            }
            Fact::RunSealed { seal } => self.print_seal(seal),
            Fact::Baseline { checks } => checks.iter().for_each(|check| self.print_baseline(check)),
            Fact::RunStarted { .. } | Fact::IterationEnded { .. } | Fact::Receipt { .. } => {}
        }
        self.show_progress();
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        if let AgentEvent::Text { message, text } = event {
            if self.detail == ReportDetail::Everything {
                self.add_agent_text(*message, text);
            }
            return self.show_progress();
        }
        // Redact before truncating: a truncated secret would not be found.
        let event = &redact_event(event);
        if let AgentEvent::ToolCall { name, .. } = event {
            self.current_activity = sanitize_text(name);
        }
        match self.detail {
            ReportDetail::Everything => {
                let lines = render_event(event);
                if !lines.is_empty() {
                    self.flush_open_line();
                }
                lines.iter().for_each(|line| self.print_excerpt(line));
            }
            ReportDetail::DisplayFilter | ReportDetail::Milestones => {}
        }
        self.show_progress();
    }

    fn on_display_line(&mut self, line: &str) {
        if self.detail == ReportDetail::DisplayFilter {
            self.print_agent_text(&sanitize_text(line));
        }
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        let time = duration::format_exact(grace);
        let text = format!("the agent has at most {time} to clean up; a second Ctrl-C kills it at once");
        self.print_labeled(TextStyle::Warning, "grace", &text);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        let shown = format!("{}, continues in {}", self.wait_cause, duration::format_rounded(left));
        let countdown = self.countdown.get_or_insert_with(|| WaitCountdown::new(left));
        if countdown.is_reminder_due(left) && self.progress.is_none() {
            self.print_labeled(TextStyle::Warning, "waiting", &shown);
        }
        self.current_activity = shown;
        self.show_progress();
    }

    fn on_quiet(&mut self) {
        if let Some(open) = self.message_joiner.take_quiet_line(OPEN_LINE_DELAY) {
            self.print_rendered_text(&open);
        }
    }

    fn on_warning(&mut self, text: &str) {
        self.print_labeled(TextStyle::Warning, "warning", text);
    }

    fn on_state_line(&mut self, line: &str) {
        self.print_line(line);
    }
}

#[cfg(test)]
#[path = "plain_report_tests.rs"]
mod tests;
