//! The work on a task over all of its stages: who is next, and what the end of a stage makes of the task. It drives no
//! loop itself: each stage is one.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, RunEnd};
use crate::task::{Role, TaskStatus};
use crate::text::text_tail;

/// How much of a stage's last message is kept for those who come after it.
const MAX_REPORT_BYTES: usize = 4_000;
/// How many stages the next one hears of.
const MAX_REPORTS: usize = 8;

/// What the configuration says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// In their order; at least one.
    stages: Vec<Role>,
    /// How often work may be sent back.
    pub max_rounds: u32,
    /// How often a task may fail before somebody must look at it.
    pub max_attempts: u32,
}

/// How far the work on a task is, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// The role that is next, or at work.
    pub stage: Role,
    /// The run of that stage, from when it is about to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How often the work was sent back in this attempt.
    pub rounds: u32,
    /// How many attempts have failed.
    pub attempts: u32,
    /// What the last stages said, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<StageReport>,
}

/// How a stage ended, for those who come after it.
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

/// What is kept of a stage that did not get there.
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
    /// It ended because the worker has no money left for anything.
    pub is_worker_budget_spent: bool,
}

/// What follows from the end of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipelineAction {
    /// The stage that the progress names is next.
    RunNextStage,
    /// The task leaves the pipeline with this status.
    LeavePipeline { status: TaskStatus, reason: String, failure: Option<StageFailure> },
    /// The stage can go on where it stopped.
    ResumeStage,
}

impl Pipeline {
    /// Returns a pipeline of these stages, or `None` where there are none, or one of them twice.
    #[must_use]
    pub fn new(stages: Vec<Role>, max_rounds: u32, max_attempts: u32) -> Option<Self> {
        let is_once = |(at, role): (usize, &Role)| !stages.iter().take(at).any(|before| before == role);
        let is_sound = !stages.is_empty() && stages.iter().enumerate().all(is_once);
        is_sound.then_some(Self { stages, max_rounds, max_attempts })
    }

    #[must_use]
    pub fn stages(&self) -> &[Role] {
        &self.stages
    }

    /// Returns where the work on a task begins, or goes on.
    #[must_use]
    pub fn start_or_resume(&self, status: TaskStatus, before: Option<TaskProgress>) -> TaskProgress {
        match before {
            Some(before) if self.is_still_in_stage(status, &before.stage) => before,
            Some(before) => {
                TaskProgress { stage: self.first_stage(), run: None, rounds: 0, attempts: before.attempts, ..before }
            }
            None => TaskProgress {
                stage: self.stage_for_status(status).unwrap_or_else(|| self.first_stage()),
                run: None,
                rounds: 0,
                attempts: 0,
                said: Vec::new(),
            },
        }
    }

    /// Tells whether a task is still in the stage that its progress names. A task that is to do was put back, unless the
    /// stage is one that no status stands for.
    fn is_still_in_stage(&self, status: TaskStatus, stage: &Role) -> bool {
        self.stages.contains(stage) && (status != TaskStatus::Todo || TaskStatus::while_in_role(stage).is_none())
    }

    /// Returns the stage that a task is in which somebody moved by hand.
    fn stage_for_status(&self, status: TaskStatus) -> Option<Role> {
        self.stages.iter().find(|role| TaskStatus::while_in_role(role) == Some(status)).cloned()
    }

    /// Returns the stages that a task has before it, the one that it is in first. A run that was begun has its own plan.
    #[must_use]
    pub fn remaining_stages(&self, progress: &TaskProgress) -> &[Role] {
        let at = self.stages.iter().position(|role| *role == progress.stage).unwrap_or_default();
        let at = if progress.run.is_some() { at + 1 } else { at };
        self.stages.get(at..).unwrap_or_default()
    }

    fn first_stage(&self) -> Role {
        self.stages.first().cloned().unwrap_or(Role::Coder)
    }

    /// Returns who hears that the work was sent back: the coder, or else whoever comes first.
    fn rework_stage(&self) -> Role {
        if self.stages.contains(&Role::Coder) { Role::Coder } else { self.first_stage() }
    }

    fn stage_after(&self, stage: &Role) -> Option<Role> {
        let at = self.stages.iter().position(|role| role == stage)?;
        self.stages.get(at + 1).cloned()
    }
}

impl TaskProgress {
    /// The stage has ended: returns what the task's work is after it, and what follows.
    #[must_use]
    pub fn finish_stage(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, PipelineAction) {
        if end.run_end.is_work_sent_back() {
            return self.send_back(pipeline, end.run_end);
        }
        match end.run_end.outcome {
            Outcome::Completed => self.accept_stage(pipeline, end),
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled => self.fail_stage(pipeline, end),
            // Who brings new money lets it begin anew.
            Outcome::OverBudget if end.is_worker_budget_spent => {
                (Self { run: None, ..self }, PipelineAction::ResumeStage)
            }
            // More of the same would cost more of the same.
            Outcome::Blocked | Outcome::OverBudget => self.leave_pipeline(TaskStatus::Blocked, &end.run_end.reason),
            Outcome::Cancelled => self.leave_pipeline(TaskStatus::Cancelled, &end.run_end.reason),
            Outcome::Interrupted => (self, PipelineAction::ResumeStage),
        }
    }

    /// Somebody took the work back to what this stage had come to: it is next, and what was said after it began is unsaid.
    #[must_use]
    pub fn rewind_to(mut self, stage: Role) -> Self {
        let is_its_end = |said: &StageReport| said.stage == stage && said.how == StageOutcome::Accepted;
        if self.stage != stage
            && let Some(at) = self.said.iter().rposition(is_its_end)
        {
            self.said.truncate(at);
        }
        Self { stage, run: None, ..self }
    }

    fn accept_stage(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, PipelineAction) {
        let next = pipeline.stage_after(&self.stage);
        let heard = self.record_report(StageOutcome::Accepted, end.last_output);
        match next {
            Some(stage) => (Self { stage, run: None, ..heard }, PipelineAction::RunNextStage),
            None => heard.leave_pipeline(TaskStatus::Done, "every stage was accepted"),
        }
    }

    fn send_back(self, pipeline: &Pipeline, ended: &RunEnd) -> (Self, PipelineAction) {
        let reason = ended.sent_back_reason().unwrap_or_default();
        let rounds = self.rounds + 1;
        let by = self.stage.clone();
        let heard = Self { rounds, ..self.record_report(StageOutcome::SentBack, reason) };
        if rounds > pipeline.max_rounds {
            let why = format!("{by} sent the work back for the {}: {reason}", format_ordinal_time(rounds));
            return heard.leave_pipeline(TaskStatus::Blocked, &why);
        }
        (Self { stage: pipeline.rework_stage(), run: None, ..heard }, PipelineAction::RunNextStage)
    }

    fn fail_stage(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, PipelineAction) {
        let reason = failure_reason(end.run_end);
        let failure = StageFailure {
            stage: self.stage.clone(),
            iterations_used: end.iterations,
            last_output: text_tail(end.last_output.trim(), MAX_REPORT_BYTES).to_owned(),
            reason: reason.clone(),
        };
        let attempts = self.attempts + 1;
        let stage = self.stage.clone();
        let heard = self.record_report(StageOutcome::Failed, &reason);
        let heard = Self { attempts, run: None, stage: pipeline.first_stage(), rounds: 0, ..heard };
        let (status, why) = if attempts >= pipeline.max_attempts {
            (TaskStatus::Blocked, format!("{stage} failed, and so have {attempts} of {attempts} attempts: {reason}"))
        } else {
            (TaskStatus::Todo, format!("{stage} failed: {reason}"))
        };
        (heard, PipelineAction::LeavePipeline { status, reason: why, failure: Some(failure) })
    }

    fn leave_pipeline(self, status: TaskStatus, reason: &str) -> (Self, PipelineAction) {
        (Self { run: None, ..self }, PipelineAction::LeavePipeline { status, reason: reason.to_owned(), failure: None })
    }

    fn record_report(mut self, outcome: StageOutcome, words: &str) -> Self {
        let words = text_tail(words.trim(), MAX_REPORT_BYTES).to_owned();
        self.said.push(StageReport { stage: self.stage.clone(), how: outcome, words });
        let old = self.said.len().saturating_sub(MAX_REPORTS);
        self.said.drain(..old);
        self
    }
}

/// Says why a stage failed. A stage that used up its iterations is told in the words that others look for.
fn failure_reason(ended: &RunEnd) -> String {
    match ended.outcome {
        Outcome::Exhausted => "Max iterations reached without completion promise".to_owned(),
        Outcome::Completed
        | Outcome::Failed
        | Outcome::Stalled
        | Outcome::OverBudget
        | Outcome::Blocked
        | Outcome::Cancelled
        | Outcome::Interrupted => ended.reason.clone(),
    }
}

fn format_ordinal_time(count: u32) -> String {
    let ending = match (count % 10, count % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        (_, _) => "th",
    };
    format!("{count}{ending} time")
}

#[cfg(test)]
mod tests;
