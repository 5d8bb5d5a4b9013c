//! The content of the line of an iteration: `[3/15] coder  rejected  2m 14s  $0.41  cargo test: 2 failed`. Collected from the facts.
use std::time::{Duration, Instant};

use ralph_agents::AgentEvent;
use ralph_app::view::format_cost;
use ralph_core::attempt::ModelSpend;
use ralph_core::evidence::{CheckEvidence, Verdict};
use ralph_core::fact::{AttemptResult, Fact, IterationStatus};
use ralph_util::duration;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use crate::report::wrap::truncate_line;

/// How long a detail may be.
const DETAIL_COLUMNS: usize = 120;

/// The beginning of every line of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHeading {
    pub max_iterations: u32,
    /// The role of a stage, or the agent.
    pub label: String,
}

/// An iteration that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IterationLine {
    pub(super) position: String,
    pub(super) label: String,
    /// `rejected`, `no claim`, …
    pub(super) result: String,
    pub(super) took: String,
    pub(super) cost: String,
    pub(super) detail: String,
}

impl IterationLine {
    pub(super) fn to_text(&self) -> String {
        let Self { position, label, result, took, cost, detail } = self;
        format!("[{position}] {label}  {result}  {took}  {cost}  {detail}").trim_end().to_owned()
    }
}

/// Follows a run.
pub struct IterationTracker {
    heading: RunHeading,
    iteration: u32,
    started: Instant,
    spend: ModelSpend,
    result: String,
    detail: String,
    activity: String,
    /// The first check that did not accept the last claim.
    failed_check: Option<Box<CheckEvidence>>,
}

impl IterationTracker {
    #[must_use]
    pub fn new(heading: RunHeading) -> Self {
        Self {
            heading,
            iteration: 0,
            started: Instant::now(),
            spend: ModelSpend::default(),
            result: String::new(),
            detail: String::new(),
            activity: "starting".to_owned(),
            failed_check: None,
        }
    }

    /// Returns `3/15`.
    pub(super) fn position(&self) -> String {
        format!("{}/{}", self.iteration, self.heading.max_iterations)
    }

    pub(super) fn label(&self) -> &str {
        &self.heading.label
    }

    pub(super) fn failed_check(&self) -> Option<&CheckEvidence> {
        self.failed_check.as_deref()
    }

    /// Returns the state of now, in one line.
    #[must_use]
    pub fn state_line(&self) -> String {
        let line = IterationLine {
            position: self.position(),
            label: self.heading.label.clone(),
            result: self.activity.clone(),
            took: format_time(self.started.elapsed()),
            cost: self.cost_text(),
            detail: String::new(),
        };
        redact_text(&line.to_text()).into_owned()
    }

    pub fn observe_agent_event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCall { name, .. } = event {
            self.activity = format!("working: {}", one_line(name));
        }
    }

    /// Takes a fact into account. Returns the line of the iteration that it ends.
    pub(super) fn observe_fact(&mut self, fact: &Fact) -> Option<IterationLine> {
        match fact {
            Fact::IterationStarted { iteration } => self.begin_iteration(*iteration),
            Fact::RunResumed { iteration, .. } => self.iteration = *iteration,
            Fact::LimitsChanged { limits } => {
                self.heading.max_iterations = limits.max_iterations.unwrap_or(self.heading.max_iterations);
            }
            Fact::AttemptStarted { .. } => "working".clone_into(&mut self.activity),
            Fact::AttemptEnded { result, .. } => self.end_attempt(result),
            Fact::Claim { claim, .. } => {
                let (result, activity) = if claim.claimed { ("claimed", "checking") } else { ("no claim", "between") };
                self.set_result(result, &claim.why);
                activity.clone_into(&mut self.activity);
            }
            Fact::Verdict { verdict, reason, checks, .. } => self.record_verdict(*verdict, reason, checks),
            Fact::RetryScheduled { reason, .. } => self.activity = format!("waits for a retry: {}", one_line(reason)),
            Fact::LimitWaiting { reason, .. } => {
                self.activity = format!("waits for a rate limit: {}", one_line(reason));
            }
            Fact::AgentWaiting { reason, .. } => self.activity = format!("waits: {}", one_line(reason)),
            Fact::RunPaused { .. } => "paused".clone_into(&mut self.activity),
            Fact::IterationEnded { iteration, status, duration_ms } => {
                return Some(self.end_iteration(*iteration, *status, *duration_ms));
            }
            Fact::RunStarted { .. }
            | Fact::RunSealed { .. }
            | Fact::Baseline { .. }
            | Fact::RunGuided { .. }
            | Fact::StandingGuidance { .. }
            | Fact::AgentReported { .. }
            | Fact::AgentChanged { .. }
            | Fact::SessionFresh { .. }
            | Fact::StopRequested { .. }
            | Fact::RunAccepted { .. }
            | Fact::RunRejected { .. }
            | Fact::Receipt { .. }
            | Fact::RunFinished { .. } => {}
        }
        None
    }

    /// Like [`Self::observe_fact`], for a report that prints no lines of iterations.
    pub fn follow(&mut self, fact: &Fact) {
        drop(self.observe_fact(fact));
    }

    fn begin_iteration(&mut self, iteration: u32) {
        self.iteration = iteration;
        self.started = Instant::now();
        self.spend = ModelSpend::default();
        self.set_result("", "");
        self.failed_check = None;
    }

    fn end_attempt(&mut self, result: &AttemptResult) {
        self.spend = self.spend.add_known(result.spend);
        if let Some(failure) = &result.failure {
            self.set_result("failed", failure);
        }
    }

    fn record_verdict(&mut self, verdict: Verdict, reason: &str, checks: &[CheckEvidence]) {
        let result = match verdict {
            Verdict::Accepted => "accepted",
            Verdict::Rejected => "rejected",
            Verdict::CouldNotEvaluate => "unproven",
        };
        let failed = checks.iter().find(|check| check.verdict != Verdict::Accepted);
        let detail = failed.filter(|_| verdict != Verdict::Accepted).map(describe_failure);
        self.set_result(result, &detail.unwrap_or_else(|| reason.to_owned()));
        self.failed_check = failed.map(|check| Box::new(check.clone()));
        "between".clone_into(&mut self.activity);
    }

    fn set_result(&mut self, result: &str, detail: &str) {
        result.clone_into(&mut self.result);
        self.detail = one_line(detail);
    }

    fn end_iteration(&mut self, iteration: u32, status: IterationStatus, duration_ms: u64) -> IterationLine {
        self.iteration = iteration;
        let result = match status {
            IterationStatus::Finished if !self.result.is_empty() => self.result.clone(),
            IterationStatus::Finished => "finished".to_owned(),
            IterationStatus::Failed => "failed".to_owned(),
            IterationStatus::Interrupted => "interrupted".to_owned(),
            IterationStatus::TimedOut => "timed out".to_owned(),
        };
        IterationLine {
            position: self.position(),
            label: self.heading.label.clone(),
            result,
            took: format_time(Duration::from_millis(duration_ms)),
            cost: self.cost_text(),
            detail: self.detail.clone(),
        }
    }

    fn cost_text(&self) -> String {
        format_cost(self.spend.cost_micros.and_then(|micros| i64::try_from(micros).ok()))
    }
}

/// Returns the check with the last line of its output, or with the reason if it printed nothing.
fn describe_failure(check: &CheckEvidence) -> String {
    let last = check.tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    format!("{}: {}", check.display_name(), last.unwrap_or(&check.reason))
}

/// Makes text of an agent or a check fit for a line. Redacts before it truncates: a truncated secret would not be found.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" · ");
    truncate_line(&sanitize_text(&redact_text(&line)), DETAIL_COLUMNS)
}

fn format_time(time: Duration) -> String {
    duration::format_rounded(time)
}
