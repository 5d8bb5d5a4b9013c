//! Performs an order of the person by the use case that the command line calls too. Returns what has happened, in words.
use ralph_app::board::{ShownInboxItem, approve_shown_item};
use ralph_app::control::{
    AcceptResult, CancelMode, CancelResult, ContinueResult, DecisionRequest, GuideResult, LimitResult, LoopTarget,
    PauseResult, RejectResult, accept_claim, cancel_loop, change_limits, continue_run, parse_guidance, pause_loop,
    reject_claim, retry_task, send_guidance,
};
use ralph_app::error::{AppError, AppResult};
use ralph_app::interaction::NoInteraction;
use ralph_app::maintenance::{RewindTarget, rewind_worktree};
use ralph_app::run::{PreparedResume, ResumeNotNeeded, ResumeRequest, prepare_resume};
use ralph_app::view::{LoopRemedy, short_id};
use ralph_app::workflow_runs::{
    AnswerRequest, WorkflowGuidance, WorkflowPause, answer_question, cancel_workflow_run, guide_workflow_run,
    limit_workflow_run, pause_workflow_run,
};
use ralph_core::budget::format_dollars;
use ralph_core::continuation::Continuation;
use ralph_core::control_command::PauseTiming;
use ralph_core::limit_change::LimitChanges;
use ralph_engine::run_driver::OutputVisibility;

use super::loader_thread::{LoaderContext, ShownItems};
use crate::model::board_action::{BoardOrder, OrderKind};
use crate::model::detail_pane::Subject;
use ralph_app::board::CardKind;

pub(super) async fn perform_order(context: &LoaderContext, order: BoardOrder, shown: &ShownItems) -> AppResult<String> {
    let BoardOrder { subject, kind } = order;
    let runner = OrderRunner { context, subject: &subject };
    match kind {
        OrderKind::Guide { words } => runner.guide(words).await,
        OrderKind::Pause => runner.pause().await,
        OrderKind::Resume => runner.resume().await,
        OrderKind::Cancel => runner.cancel().await,
        OrderKind::Retry => {
            let task = retry_task(&context.project, &subject.id, &NoInteraction).await?;
            Ok(format!("{task} is ready again, from its first stage"))
        }
        OrderKind::Rewind { iteration } => runner.rewind(iteration).await,
        OrderKind::ChangeLimits(changes) => runner.change_limits(changes).await,
        OrderKind::Approve(item) => {
            // Taken out: what is approved next must have been shown again.
            let covered = shown.borrow_mut().remove(&subject.id).unwrap_or(ShownInboxItem::Other);
            approve_shown_item(&context.project, &context.config, &covered).await?;
            Ok(format!("approved {}", item.id))
        }
        OrderKind::Accept { because } => runner.accept(because).await,
        OrderKind::Reject { because } => runner.reject(because).await,
        OrderKind::AnswerWorkflow { node, decision, text } => runner.answer_workflow(&node, &decision, text).await,
    }
}

struct OrderRunner<'a> {
    context: &'a LoaderContext,
    subject: &'a Subject,
}

impl OrderRunner<'_> {
    fn id(&self) -> Option<&str> {
        Some(&self.subject.id)
    }

    fn is_workflow(&self) -> bool {
        self.subject.kind == CardKind::Workflow
    }

    async fn guide(&self, words: String) -> AppResult<String> {
        let (project, words) = (&self.context.project, parse_guidance(words.into_bytes())?);
        if self.is_workflow() {
            return Ok(match guide_workflow_run(project, self.id(), words).await? {
                WorkflowGuidance::Delivered { .. } => "the next prompts of its loops contain the guidance".to_owned(),
                WorkflowGuidance::Stored => "the next agent that starts gets the guidance".to_owned(),
            });
        }
        match send_guidance(project, self.id(), words).await? {
            GuideResult::Delivered(position) => Ok(format!("{position} adds it to the next prompt")),
            GuideResult::Stored { name } => Ok(format!("stored: the next loop of {name} adds it to its first prompt")),
            GuideResult::Answered { run } => {
                let resumed = self.resume().await?;
                Ok(format!("answered the question of run {run}; {resumed}"))
            }
        }
    }

    async fn pause(&self) -> AppResult<String> {
        let project = &self.context.project;
        if self.is_workflow() {
            pause_workflow_run(project, self.id(), WorkflowPause::AfterNodes).await?;
            return Ok(format!("{} pauses when its nodes have ended", self.subject.name));
        }
        Ok(match pause_loop(project, self.id(), PauseTiming::Idle).await? {
            PauseResult::Paused(position) => format!("paused {position}"),
            PauseResult::AfterIteration(position) => format!("{position} pauses when the iteration has ended"),
            PauseResult::BeforeNextLoop { task } => format!("the next loop of {task} starts paused"),
        })
    }

    /// Wakes a paused loop, or resumes a run in a separate process.
    async fn resume(&self) -> AppResult<String> {
        if self.is_workflow() {
            return self.resume_in_background();
        }
        let request = ResumeRequest {
            config: &self.context.config,
            visibility: OutputVisibility::Hidden,
            person: &NoInteraction,
        };
        match prepare_resume(&self.context.project, self.id(), &request).await? {
            PreparedResume::NotNeeded(ResumeNotNeeded::WokenUp { position }) => Ok(format!("resumed {position}")),
            PreparedResume::NotNeeded(ResumeNotNeeded::PauseWithdrawn { task }) => {
                Ok(format!("{task} is not paused any more"))
            }
            PreparedResume::NotNeeded(ResumeNotNeeded::Ended(ended)) => {
                Err(AppError::preflight(format!("run {} has ended: {}", short_id(&ended.row.id), ended.end.reason)))
            }
            PreparedResume::Resumable(run) if run.plan().spec.stage.is_some() => Ok(self.worker_resumes()),
            PreparedResume::Resumable(_) => self.resume_in_background(),
        }
    }

    fn worker_resumes(&self) -> String {
        format!("a worker resumes the stage: {}", (self.context.words.remedy)(&LoopRemedy::StartWorker))
    }

    fn resume_in_background(&self) -> AppResult<String> {
        let root = &self.context.project.root;
        let resumed = (self.context.resume_in_background)(root, &self.subject.id);
        let resumed = resumed.map_err(|error| AppError::internal(&error))?;
        let first = resumed.text.lines().next().unwrap_or_default().to_owned();
        if resumed.has_started {
            return Ok(format!("resumed {} in the background", self.subject.name));
        }
        let lines = resumed.text.lines().skip(1).map(str::to_owned);
        Err(lines.fold(AppError::preflight(first), AppError::with_cause))
    }

    async fn cancel(&self) -> AppResult<String> {
        let project = &self.context.project;
        if self.is_workflow() {
            let run = cancel_workflow_run(project, self.id(), &NoInteraction).await?;
            return Ok(format!("cancelled workflow {} {}", run.workflow, short_id(&run.id)));
        }
        let target = LoopTarget::find(project, &self.subject.id).await?;
        let cancelled = cancel_loop(&target, CancelMode::Wait, &NoInteraction).await;
        target.close().await;
        Ok(match cancelled? {
            CancelResult::StoppingLoop(position) => format!("cancelling {position}"),
            CancelResult::StoppingTask { task } => format!("cancelling {task}"),
            CancelResult::LoopCancelled(position) => format!("cancelled {position}"),
            CancelResult::TaskCancelled { task } => format!("cancelled {task}"),
            CancelResult::IdleTaskCancelled { task } => format!("cancelled {task}; no loop was running for it"),
            CancelResult::LoopAlreadyCancelled(position) => format!("{position} was already cancelled"),
            CancelResult::TaskAlreadyCancelled { task } => format!("{task} was already cancelled"),
            CancelResult::EndedByOther(position) => format!("another process ended {position}"),
            CancelResult::Deleted => format!("{} was deleted", self.subject.name),
        })
    }

    async fn rewind(&self, iteration: u32) -> AppResult<String> {
        let target = RewindTarget { stage: None, iteration, earlier_round: None };
        let report = rewind_worktree(&self.context.project, &self.subject.id, &target, &NoInteraction).await?;
        let key = &report.snapshot.key;
        Ok(format!(
            "{} has the files of iteration {} of {} again; the previous ones are stored in {}",
            self.subject.name, key.iteration, key.stage, report.backup_ref
        ))
    }

    /// Changes the limits of a running loop, or continues a run that has ended with other limits.
    async fn change_limits(&self, changes: LimitChanges) -> AppResult<String> {
        let project = &self.context.project;
        if self.is_workflow() {
            let limit = limit_workflow_run(project, self.id(), changes).await?;
            return Ok(format!("{} has a new spending limit: {}", self.subject.name, format_dollars(limit)));
        }
        let target = LoopTarget::find(project, &self.subject.id).await?;
        let driven = target.find_driven_loop().await;
        target.close().await;
        if driven?.is_none() {
            return self.continue_with_limits(changes).await;
        }
        Ok(match change_limits(project, self.id(), changes).await? {
            LimitResult::Changed { position, limits } => format!("{position} has new limits: {}", limits.describe()),
            LimitResult::Unchanged(position) => format!("{position} has these limits already"),
        })
    }

    async fn continue_with_limits(&self, limits: LimitChanges) -> AppResult<String> {
        let continuation = Continuation { limits, guidance: None };
        match continue_run(&self.context.project, self.id(), continuation).await? {
            ContinueResult::Run { limits, .. } => {
                let resumed = self.resume_in_background()?;
                Ok(format!("{resumed} with new limits: {}", limits.describe()))
            }
            ContinueResult::Stage { task, stage, limits } => {
                Ok(format!("{task} continues its stage {stage} with {}; {}", limits.describe(), self.worker_resumes()))
            }
        }
    }

    fn decision(&self, because: Option<String>) -> DecisionRequest<'_> {
        DecisionRequest { project: &self.context.project, id: self.id(), because, config: &self.context.config }
    }

    async fn accept(&self, because: Option<String>) -> AppResult<String> {
        Ok(match accept_claim(self.decision(because)).await? {
            AcceptResult::Run { run, user, proof } => format!("run {run} is completed ({proof}, accepted by {user})"),
            AcceptResult::Stage { task, stage, user, next: Some(next) } => {
                format!("{user} accepted {stage} of {task}; the next stage is {next}")
            }
            AcceptResult::Stage { task, stage, user, next: None } => {
                format!("{user} accepted {stage} of {task}; the task is done and not landed")
            }
        })
    }

    async fn reject(&self, because: Option<String>) -> AppResult<String> {
        match reject_claim(self.decision(because)).await? {
            RejectResult::Run { run } => {
                let resumed = self.resume_in_background()?;
                Ok(format!("rejected the claim of run {run}; {resumed}"))
            }
            RejectResult::Stage { task, stage } => Ok(format!("rejected {stage} of {task}; {}", self.worker_resumes())),
        }
    }

    async fn answer_workflow(&self, node: &str, decision: &str, text: String) -> AppResult<String> {
        let request = AnswerRequest { run: self.subject.run.as_deref(), node: Some(node), decision, text };
        let answered = answer_question(&self.context.project, request).await?;
        let words = format!("answered node {}: {}", answered.question.node, answered.decision);
        if answered.is_driven {
            return Ok(words);
        }
        let resumed = self.resume_in_background()?;
        Ok(format!("{words}; {resumed}"))
    }
}
