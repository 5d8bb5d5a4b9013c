//! The story of a run for people, on the terminal: what the agent does, what it claims, what the checks say.
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ralph_core::attempt::Spend;
use ralph_core::baseline::{BaselineCheck, Standing};
use ralph_core::event::Millis;
use ralph_core::evidence::{CheckEvidence, Verdict};
use ralph_core::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use ralph_core::seal::Seal;

use super::bottom::Bottom;
use super::countdown::{Countdown, until_words};
use super::hidden::without_secrets;
use super::paint::{Paint, Tone};
use super::screen::Screen;
use super::wrap::fitting;
use ralph_agents::{AgentEvent, render};
use ralph_app::view::{money, processes, short_id};
use ralph_engine::engine::{Stamp, Watcher};
use ralph_util::duration;
use ralph_util::redact;
use ralph_util::sanitize::sanitize;

/// How much of what the agent says is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Agent text, tool calls and results.
    Everything,
    /// What the user's own display filter makes of the agent's output.
    OwnFilter,
    /// Only iterations, claims and verdicts.
    Milestones,
}

/// The columns before what happened, which hold the word for it.
const MARGIN: usize = 10;
/// The columns before what the agent says.
const INDENT: usize = 2;
/// How many sealed files are named.
const SEALED: usize = 6;
/// The length of the line above an iteration.
const RULE: usize = 60;
/// How much is shown of a line that need not be whole, where no terminal limits it.
const GLIMPSE: usize = 100;

pub struct PlainReport<W: Write> {
    out: W,
    paint: Paint,
    detail: Detail,
    progress: Option<ProgressBar>,
    screen: Screen,
    /// Earlier iterations count, but are not shown.
    first: u32,
    max_iterations: u32,
    iteration: u32,
    spend: Spend,
    last_tool: String,
    /// It stands among others, a line for each thing.
    is_listed: bool,
    /// The wait for a rate limit, while there is one.
    countdown: Option<Countdown>,
}

impl<W: Write + IsTerminal> PlainReport<W> {
    #[must_use]
    pub fn new(out: W, detail: Detail, max_iterations: u32) -> Self {
        let paint = Paint::for_stream(&out);
        let screen = Screen::of(&out);
        let progress = out.is_terminal().then(spinner);
        Self { screen, progress, is_listed: false, ..Self::in_lines(out, paint, detail, max_iterations) }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_finish(indicatif::ProgressFinish::AndClear);
    bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Bottom::default()), 10));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} · {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl<W: Write> PlainReport<W> {
    /// Returns a report in lines alone, as long as they are.
    #[must_use]
    pub fn in_lines(out: W, paint: Paint, detail: Detail, max_iterations: u32) -> Self {
        Self {
            out,
            paint,
            detail,
            progress: None,
            is_listed: true,
            screen: Screen::Endless,
            first: 0,
            max_iterations,
            iteration: 0,
            spend: Spend::default(),
            last_tool: String::new(),
            countdown: None,
        }
    }

    /// Shows nothing of the iterations before this one.
    #[must_use]
    pub fn beginning_at(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// Prints a line above the progress line. A terminal that went away does not stop the run.
    fn line(&mut self, text: &str) {
        if self.iteration < self.first {
            return;
        }
        let text = redact::text(text);
        match &self.progress {
            Some(bar) => bar.suspend(|| drop(writeln!(self.out, "{text}"))),
            None => drop(writeln!(self.out, "{text}")),
        }
    }

    /// Prints what happened, beside the word for it.
    fn word(&mut self, tone: Tone, word: &str, text: &str) {
        // A row could cut a secret out of its shape.
        let rows = self.screen.rows(&redact::text(text), MARGIN).join(&format!("\n{:MARGIN$}", ""));
        let word = self.paint.paint(tone, &format!("{word:<9}"));
        self.line(&format!("{word} {rows}"));
    }

    /// Prints the last lines of what a program printed.
    fn tail(&mut self, text: &str, lines: usize) {
        let text = redact::text(text);
        let skipped = text.lines().count().saturating_sub(lines);
        for line in text.lines().skip(skipped) {
            let rows = self.screen.rows(&sanitize(line), MARGIN);
            let rows = rows.iter().map(|row| format!("{:MARGIN$}{}", "", self.paint.paint(Tone::Dim, row)));
            self.line(&rows.collect::<Vec<_>>().join("\n"));
        }
    }

    /// Prints what the agent said.
    fn said(&mut self, line: &str) {
        let indent = format!("{:INDENT$}", "");
        let rows = self.screen.rows(line, INDENT).join(&format!("\n{indent}"));
        self.line(&format!("{indent}{rows}"));
    }

    /// Prints a line of which the beginning is enough.
    fn glimpse(&mut self, line: &str) {
        let line = fitting(line, self.screen.columns().unwrap_or(GLIMPSE).saturating_sub(INDENT));
        self.line(&format!("{:INDENT$}{line}", ""));
    }

    fn show_progress(&self) {
        let Some(bar) = &self.progress else { return };
        bar.set_prefix(format!("iteration {}/{}", self.iteration, self.max_iterations));
        let mut parts = Vec::new();
        if let Some(tokens) = self.spend.output_tokens {
            parts.push(format!("{tokens} tokens out"));
        }
        if let Some(cost) = self.spend.cost_micros {
            parts.push(money(i64::try_from(cost).ok()));
        }
        if !self.last_tool.is_empty() {
            parts.push(self.last_tool.clone());
        }
        bar.set_message(parts.iter().map(|part| format!("· {part} ")).collect::<String>());
    }

    fn iteration_started(&mut self, iteration: u32) {
        self.iteration = iteration;
        self.last_tool.clear();
        let title = format!("── iteration {iteration}/{} ", self.max_iterations);
        if self.is_listed {
            return self.word(Tone::Bold, "iteration", &format!("{iteration}/{}", self.max_iterations));
        }
        let width = self.screen.columns().unwrap_or(RULE).min(RULE);
        let rule = "─".repeat(width.saturating_sub(title.chars().count()));
        let title = self.paint.paint(Tone::Bold, &format!("{title}{rule}"));
        self.line(&format!("\n{title}"));
    }

    /// Says where a run goes on that was cut short.
    fn resumed(&mut self, run: &str, (iteration, attempt): (u32, u32), next: NextStep) {
        self.iteration = iteration;
        let what = match next {
            NextStep::Prepare => "the run is prepared again".to_owned(),
            NextStep::Agent => format!("the agent starts, attempt {attempt}"),
            NextStep::Retry => format!("attempt {attempt} after the rest of its pause"),
            NextStep::Limit => format!("attempt {attempt} after the rest of the wait for a rate limit"),
            NextStep::Checks => "the checks run again".to_owned(),
            NextStep::End => "it ends as it was being ended".to_owned(),
            NextStep::Pause => "it is paused".to_owned(),
        };
        let title = self.paint.paint(Tone::Bold, "ralph resume");
        let of = self.max_iterations;
        self.line(&format!("{title} {} · goes on at iteration {iteration}/{of}: {what}", short_id(run)));
    }

    /// Says for how long the run waits, and what else can be done.
    fn limited(&mut self, at: Millis, (agent, delay_ms): (&str, u64), reason: &str) {
        let until = until_words(at, delay_ms);
        self.word(Tone::Care, "waiting", &format!("rate limited: {reason}"));
        self.line(&format!(
            "          {agent} goes on {until}; Ctrl-C ends the wait, `ralph resume` takes it up"
        ));
        self.last_tool = format!("rate limited, waits {until}");
        self.countdown = Some(Countdown::new(Duration::from_millis(delay_ms)));
    }

    fn begin_work(&mut self) {
        if self.countdown.take().is_some() {
            self.last_tool.clear();
        }
    }

    fn attempt_ended(&mut self, attempt: u32, result: &AttemptResult) {
        self.spend = self.spend.plus(result.spend);
        if let Some(failure) = &result.failure {
            let word = match result.status {
                IterationStatus::TimedOut => "timed out",
                IterationStatus::Interrupted => "stopped",
                IterationStatus::Failed | IterationStatus::Finished => "failed",
            };
            self.word(Tone::Bad, word, &format!("attempt {attempt}: {failure}"));
            self.tail(&result.stderr_tail, 5);
        }
        if result.leftovers.killed > 0 {
            let text =
                format!("{} left behind by the agent, killed", processes(u64::from(result.leftovers.killed)));
            self.word(Tone::Care, "leaky", &text);
        }
        for leaked in &result.leftovers.leaked.clone() {
            self.word(Tone::Bad, "LEAKED", &format!("{leaked} could not be killed"));
        }
    }

    /// Names what must not change before a claim.
    fn sealed(&mut self, seal: &Seal) {
        let named: Vec<&str> = seal.files.iter().take(SEALED).map(|file| file.path.as_str()).collect();
        let more = match seal.files.len().saturating_sub(SEALED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !named.is_empty() {
            self.word(Tone::Dim, "sealed", &format!("{}{more}", named.join(", ")));
        }
        seal.notes.iter().for_each(|note| self.word(Tone::Care, "note", note));
    }

    /// Says what a check is worth, before any work.
    fn baseline(&mut self, check: &BaselineCheck) {
        let tone = match check.standing {
            Standing::Fails => Tone::Dim,
            Standing::ProvesNothing => Tone::Care,
            Standing::CannotRun => Tone::Bad,
        };
        self.word(tone, "baseline", &check.words());
        if check.standing == Standing::CannotRun {
            self.tail(&check.evidence.tail, 8);
        }
    }

    fn verdict(&mut self, verdict: Verdict, reason: &str, checks: &[CheckEvidence]) {
        let (tone, word) = match verdict {
            Verdict::Accepted => (Tone::Good, "accepted"),
            Verdict::Rejected => (Tone::Bad, "rejected"),
            Verdict::CouldNotEvaluate => (Tone::Care, "unproven"),
        };
        self.word(tone, word, reason);
        if let Some(check) = checks.iter().find(|check| check.verdict != Verdict::Accepted) {
            self.tail(&check.tail, 8);
        }
    }
}

impl<W: Write> Watcher for PlainReport<W> {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        match fact {
            Fact::RunResumed { iteration, attempt, next, changed } => {
                self.resumed(stamp.run, (*iteration, *attempt), *next);
                changed.iter().for_each(|change| self.word(Tone::Care, "changed", change));
            }
            Fact::IterationStarted { iteration } => self.iteration_started(*iteration),
            Fact::AttemptEnded { attempt, result, .. } => self.attempt_ended(*attempt, result),
            Fact::RetryScheduled { attempt, delay_ms, .. } => {
                let pause = duration::show(Duration::from_millis(*delay_ms));
                self.word(Tone::Care, "retry", &format!("attempt {attempt} in {pause}"));
            }
            Fact::LimitWaiting { agent, delay_ms, reason, .. } => {
                self.limited(stamp.at, (agent, *delay_ms), reason);
            }
            Fact::AgentChanged { agent, reason, .. } => {
                self.word(Tone::Care, "agent", &format!("{agent} takes over: {reason}"));
            }
            Fact::SessionFresh { reason, .. } => {
                self.word(Tone::Care, "session", &format!("{reason}; it begins afresh"));
            }
            Fact::AttemptStarted { .. } => self.begin_work(),
            Fact::Claim { claim, .. } if claim.claimed => {
                self.last_tool = "checking".to_owned();
                self.word(Tone::Bold, "claimed", &claim.why);
            }
            Fact::Claim { claim, .. } => self.word(Tone::Dim, "no claim", &claim.why),
            Fact::Verdict { verdict, reason, checks, .. } => self.verdict(*verdict, reason, checks),
            Fact::RunPaused { .. } => {
                self.last_tool = "paused".to_owned();
                self.word(Tone::Care, "paused", "`ralph resume` goes on with it");
            }
            Fact::RunGuided { words } => self.word(Tone::Bold, "guided", words),
            Fact::StopRequested { reason } => self.word(Tone::Care, "stopping", reason),
            Fact::RunFinished { .. } => {
                if let Some(bar) = self.progress.take() {
                    bar.finish_and_clear();
                }
            }
            Fact::RunSealed { seal } => self.sealed(seal),
            Fact::Baseline { checks } => checks.iter().for_each(|check| self.baseline(check)),
            Fact::RunStarted { .. } | Fact::IterationEnded { .. } | Fact::Receipt { .. } => {}
        }
        self.show_progress();
    }

    fn agent(&mut self, event: &AgentEvent) {
        // Lines may be cut, which must not cut a secret out of its shape.
        let event = &without_secrets(event);
        if let AgentEvent::ToolCall { name, .. } = event {
            self.last_tool = sanitize(name);
        }
        if self.detail == Detail::Everything {
            let is_words = matches!(event, AgentEvent::Text { .. });
            for line in render(event) {
                if is_words { self.said(&line) } else { self.glimpse(&line) }
            }
        }
        self.show_progress();
    }

    fn filtered(&mut self, line: &str) {
        if self.detail == Detail::OwnFilter {
            self.said(&sanitize(line));
        }
    }

    fn grace(&mut self, grace: Duration) {
        let time = duration::write(grace);
        let text = format!("the agent has at most {time} to clean up; a second Ctrl-C kills it at once");
        self.word(Tone::Care, "grace", &text);
    }

    fn waiting(&mut self, left: Duration) {
        let shown = format!("rate limited, goes on in {}", duration::show(left));
        let countdown = self.countdown.get_or_insert_with(|| Countdown::new(left));
        if countdown.is_worth_a_line(left) && self.progress.is_none() {
            self.word(Tone::Care, "waiting", &shown);
        }
        self.last_tool = shown;
        self.show_progress();
    }

    fn warning(&mut self, text: &str) {
        self.word(Tone::Care, "warning", text);
    }
}
