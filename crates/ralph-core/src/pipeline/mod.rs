//! The stages of a task: which stage is next, and what follows from the end of a stage. Each stage is a run.
pub mod role_duty;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, RunEnd};
use crate::task::{Role, TaskStatus};
use crate::text::text_tail;

/// How much of a stage's last message is kept for later stages.
const MAX_REPORT_BYTES: usize = 4_000;
/// How many stage reports are kept.
const MAX_REPORTS: usize = 8;

/// The configured stages and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// In their order; at least one.
    stages: Vec<Role>,
    /// How often work may be sent back.
    pub max_rounds: u32,
    /// How often a task may fail before it is blocked.
    pub max_attempts: u32,
}

/// The stored progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// The current stage: next, or running.
    pub stage: Role,
    /// The run of that stage, set just before it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How often the work was sent back in this attempt.
    pub rounds: u32,
    /// How many attempts at the task have failed.
    pub attempts: u32,
    /// The reports of the last stages, oldest first.
    #[serde(default, rename = "said", skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<StageReport>,
    /// The commit that a person accepted last. Its tests are the protected ones from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by_person: Option<String>,
}

/// How a stage ended, for the prompts of later stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    pub stage: Role,
    pub how: StageOutcome,
    /// The end of its last message, or why it sent the work back, or why it failed.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    Accepted,
    SentBack,
    Failed,
}

/// The record of a failed stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageFailure {
    pub stage: Role,
    pub iterations_used: u32,
    pub last_output: String,
    pub reason: String,
}

/// The end of a stage.
#[derive(Debug, Clone, Copy)]
pub struct StageEnd<'a> {
    pub run_end: &'a RunEnd,
    pub iterations: u32,
    /// The agent's last message.
    pub last_output: &'a str,
    /// Whether it ended because the budget of the worker is exhausted.
    pub is_worker_budget_spent: bool,
}

/// The action after a stage has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipelineAction {
    /// The current stage of the progress runs next.
    RunNextStage,
    /// The task leaves the pipeline with this status.
    LeavePipeline { status: TaskStatus, reason: String, failure: Option<StageFailure> },
    /// The stage can be resumed.
    ResumeStage,
}

/// Returns the position of the rejection that this role must answer with a change. It stays open across attempts, until the
/// role is accepted. Roles other than the coder also take the acceptance of another role as the answer.
#[must_use]
pub fn open_rejection(reports: &[StageReport], role: &Role) -> Option<usize> {
    let at = reports.iter().rposition(|report| report.how == StageOutcome::SentBack)?;
    let is_answer = |report: &StageReport| {
        report.how == StageOutcome::Accepted && (*role != Role::Coder || report.stage == Role::Coder)
    };
    let is_answered = reports.iter().skip(at + 1).any(is_answer);
    (!is_answered).then_some(at)
}

impl Pipeline {
    /// Returns a pipeline of these stages, or `None` if there are none or one occurs twice.
    #[must_use]
    pub fn new(stages: Vec<Role>, max_rounds: u32, max_attempts: u32) -> Option<Self> {
        let is_first = |(at, role): (usize, &Role)| !stages.iter().take(at).any(|before| before == role);
        let is_valid = !stages.is_empty() && stages.iter().enumerate().all(is_first);
        is_valid.then_some(Self { stages, max_rounds, max_attempts })
    }

    #[must_use]
    pub fn stages(&self) -> &[Role] {
        &self.stages
    }

    /// Returns the progress with which the work on a task starts or resumes.
    #[must_use]
    pub fn start_or_resume(&self, status: TaskStatus, before: Option<TaskProgress>) -> TaskProgress {
        match before {
            Some(before) if self.is_still_in_stage(status, &before.stage) => before,
            Some(before) => TaskProgress { stage: self.first_stage(), run: None, rounds: 0, ..before },
            None => TaskProgress {
                stage: self.stage_for_status(status).unwrap_or_else(|| self.first_stage()),
                run: None,
                rounds: 0,
                attempts: 0,
                reports: Vec::new(),
                accepted_by_person: None,
            },
        }
    }

    /// Returns whether a task is still in the stage that its progress names. A task with status `todo` was put back,
    /// unless its stage has no status.
    fn is_still_in_stage(&self, status: TaskStatus, stage: &Role) -> bool {
        self.stages.contains(stage) && (status != TaskStatus::Todo || TaskStatus::while_in_role(stage).is_none())
    }

    /// Returns the stage of a status, for a task that the user moved.
    fn stage_for_status(&self, status: TaskStatus) -> Option<Role> {
        self.stages.iter().find(|role| TaskStatus::while_in_role(role) == Some(status)).cloned()
    }

    /// Returns the remaining stages of a task. The current one is not included if its run has started.
    #[must_use]
    pub fn remaining_stages(&self, progress: &TaskProgress) -> &[Role] {
        let at = self.stages.iter().position(|role| *role == progress.stage).unwrap_or_default();
        let at = if progress.run.is_some() { at + 1 } else { at };
        self.stages.get(at..).unwrap_or_default()
    }

    fn first_stage(&self) -> Role {
        self.stages.first().cloned().unwrap_or(Role::Coder)
    }

    /// Returns the stage that reworks rejected work: the coder, or else the first stage.
    fn rework_stage(&self) -> Role {
        if self.stages.contains(&Role::Coder) { Role::Coder } else { self.first_stage() }
    }

    fn stage_after(&self, stage: &Role) -> Option<Role> {
        let at = self.stages.iter().position(|role| role == stage)?;
        self.stages.get(at + 1).cloned()
    }
}

impl TaskProgress {
    /// Returns the progress after the stage has ended, and what follows.
    #[must_use]
    pub fn finish_stage(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, PipelineAction) {
        if end.run_end.is_work_sent_back() {
            return self.send_back(pipeline, end.run_end);
        }
        match end.run_end.outcome {
            Outcome::Completed => self.accept_stage(pipeline, end.last_output),
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled => self.fail_stage(pipeline, end),
            // The stage starts again once a worker with budget takes the task.
            Outcome::OverBudget if end.is_worker_budget_spent => {
                (Self { run: None, ..self }, PipelineAction::ResumeStage)
            }
            // A retry would end the same way.
            Outcome::Blocked | Outcome::OverBudget => self.leave_pipeline(TaskStatus::Blocked, &end.run_end.reason),
            Outcome::Cancelled => self.leave_pipeline(TaskStatus::Cancelled, &end.run_end.reason),
            Outcome::Interrupted => (self, PipelineAction::ResumeStage),
        }
    }

    /// Returns the progress after a person rejected the claim of the stage: its run continues.
    #[must_use]
    pub fn continue_run(self, run: String) -> Self {
        Self { run: Some(run), ..self }
    }

    /// Returns what stays of the progress when a person makes the task ready again, with all of its attempts: the rejection
    /// that the coder has not answered. `None` if there is none.
    #[must_use]
    pub fn reset_for_retry(mut self) -> Option<Self> {
        let at = open_rejection(&self.reports, &Role::Coder)?;
        let rejection = self.reports.swap_remove(at);
        let reports = Vec::from([rejection]);
        Some(Self { run: None, rounds: 0, attempts: 0, reports, accepted_by_person: None, ..self })
    }

    /// Returns the progress after the user continued the ended run of a stage. A failed attempt continues and is not counted.
    #[must_use]
    pub fn reopen_stage(mut self, stage: Role, run: String) -> Self {
        let is_failure = |report: &StageReport| report.stage == stage && report.how == StageOutcome::Failed;
        if self.reports.last().is_some_and(is_failure) {
            self.reports.pop();
            self.attempts = self.attempts.saturating_sub(1);
        }
        Self { stage, run: Some(run), ..self }
    }

    /// Returns the progress after the user reset the work to the start of `stage`, without the reports of later stages.
    #[must_use]
    pub fn rewind_to(mut self, stage: Role) -> Self {
        let is_its_end = |report: &StageReport| report.stage == stage && report.how == StageOutcome::Accepted;
        if self.stage != stage
            && let Some(at) = self.reports.iter().rposition(is_its_end)
        {
            self.reports.truncate(at);
        }
        Self { stage, run: None, accepted_by_person: None, ..self }
    }

    /// Returns the progress after the stage was accepted, by its checks or by a person, and what follows.
    #[must_use]
    pub fn accept_stage(self, pipeline: &Pipeline, last_output: &str) -> (Self, PipelineAction) {
        let next = pipeline.stage_after(&self.stage);
        let progress = self.record_report(StageOutcome::Accepted, last_output);
        match next {
            Some(stage) => (Self { stage, run: None, ..progress }, PipelineAction::RunNextStage),
            None => progress.leave_pipeline(TaskStatus::Done, "every stage was accepted"),
        }
    }

    fn send_back(self, pipeline: &Pipeline, run_end: &RunEnd) -> (Self, PipelineAction) {
        let reason = run_end.sent_back_reason().unwrap_or_default();
        let rounds = self.rounds + 1;
        let stage = self.stage.clone();
        let progress = Self { rounds, ..self.record_report(StageOutcome::SentBack, reason) };
        if rounds > pipeline.max_rounds {
            let reason = format!("{stage} sent the work back for the {}: {reason}", format_ordinal_time(rounds));
            return progress.leave_pipeline(TaskStatus::Blocked, &reason);
        }
        (Self { stage: pipeline.rework_stage(), run: None, ..progress }, PipelineAction::RunNextStage)
    }

    fn fail_stage(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, PipelineAction) {
        let reason = end.run_end.reason.clone();
        let failure = StageFailure {
            stage: self.stage.clone(),
            iterations_used: end.iterations,
            last_output: text_tail(end.last_output.trim(), MAX_REPORT_BYTES).to_owned(),
            reason: reason.clone(),
        };
        let attempts = self.attempts + 1;
        let stage = self.stage.clone();
        let progress = self.record_report(StageOutcome::Failed, &reason);
        let progress = Self { attempts, run: None, stage: pipeline.first_stage(), rounds: 0, ..progress };
        let (status, reason) = if attempts >= pipeline.max_attempts {
            (TaskStatus::Blocked, format!("{stage} failed in attempt {attempts} of {attempts}: {reason}"))
        } else {
            (TaskStatus::Todo, format!("{stage} failed: {reason}"))
        };
        (progress, PipelineAction::LeavePipeline { status, reason, failure: Some(failure) })
    }

    fn leave_pipeline(self, status: TaskStatus, reason: &str) -> (Self, PipelineAction) {
        (Self { run: None, ..self }, PipelineAction::LeavePipeline { status, reason: reason.to_owned(), failure: None })
    }

    fn record_report(mut self, outcome: StageOutcome, words: &str) -> Self {
        let words = text_tail(words.trim(), MAX_REPORT_BYTES).to_owned();
        self.reports.push(StageReport { stage: self.stage.clone(), how: outcome, words });
        while self.reports.len() > MAX_REPORTS {
            // The rejection that the coder has not answered is kept, however old it is.
            let oldest = usize::from(open_rejection(&self.reports, &Role::Coder) == Some(0));
            self.reports.remove(oldest);
        }
        self
    }
}

fn format_ordinal_time(count: u32) -> String {
    let suffix = match (count % 10, count % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        (_, _) => "th",
    };
    format!("{count}{suffix} time")
}

#[cfg(test)]
mod tests;
