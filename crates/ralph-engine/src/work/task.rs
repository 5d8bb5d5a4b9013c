//! One task, from where it is to where its stages bring it.
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::outcome::Outcome;
use ralph_core::pipeline::{Pipeline, Progress, StageEnd, StageFailure, Turn};
use ralph_core::task::Status;
use serde_json::{Map, Value, json};

use super::desk::Desk;
use super::fit::Fit;
use super::purse::Purse;
use super::shop::{Done, News, Workshop};
use crate::engine::{Clock, KIND_STAGE};
use ralph_process::Keeper;
use ralph_store::{Advance, Claim, Keeping, Returned, Store, StoreError, TaskRow};
use ralph_util::fail::{self, Point};

/// The metadata of a task that a stage failed.
const FAILURE: &str = "ralph_failure";

/// How long it takes until something is written again that could not be because others were writing.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// A task at work.
pub(super) struct Work<W> {
    pub(super) shop: Rc<W>,
    pub(super) store: Arc<Store>,
    pub(super) keeper: Keeper,
    pub(super) desk: Rc<Desk>,
    pub(super) purse: Rc<Purse>,
    pub(super) pipeline: Rc<Pipeline>,
    pub(super) claim: Claim,
    pub(super) row: TaskRow,
    /// Why nothing became of it when this worker had it last.
    pub(super) before: Option<String>,
}

/// What became of a task in this worker's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    Over {
        status: Status,
        why: String,
        /// The agent failed past its retries.
        is_agent_s_fault: bool,
    },
    Left,
    /// Another worker has it.
    Lost,
    /// It could not begin, or not go on.
    Aside {
        why: String,
    },
}

impl<W: Workshop> Work<W> {
    /// Drives the task, and returns it.
    pub(super) async fn run(self, progress: Option<Progress>) -> (String, TaskEnd) {
        let task = self.claim.task.clone();
        let end = match self.stages(progress).await {
            Ok(end) => end,
            Err(_) if self.desk.is_lost(&task) => TaskEnd::Lost,
            Err(trouble) => self.put_aside(&trouble).await,
        };
        if end == TaskEnd::Lost {
            self.shop.tell(&News::Lost { task: &task });
        }
        self.desk.leave(&task);
        (task, end)
    }

    async fn stages(&self, before: Option<Progress>) -> Result<TaskEnd, W::Trouble> {
        if let Some(why) = self.by_hand().await? {
            self.give_back().await?;
            return Ok(self.aside(why));
        }
        let mut progress = self.pipeline.begin(self.row.task.status, before);
        self.shop.refuse(&self.row, self.pipeline.ahead(&progress))?;
        let (task, attempt) = (&self.claim.task, progress.attempts + 1);
        self.shop.tell(&News::Taken { task, stage: &progress.stage, attempt });
        let tree = match self.fit().await? {
            Fit::Ready(tree) => tree,
            Fit::Stopped => return self.left(&progress).await,
            Fit::Cancelled => return self.cancelled(&progress).await,
        };
        loop {
            if self.desk.stopped().is_some() {
                return self.left(&progress).await;
            }
            let Some(told) = self.stage(&mut progress, &tree).await? else {
                return self.left(&progress).await;
            };
            if told.ended.outcome == Outcome::Completed {
                self.accept(&progress, told.verified.clone()).await?;
            }
            let is_over_budget = told.ended.outcome == Outcome::OverBudget;
            let end = StageEnd {
                ended: &told.ended,
                iterations: told.iterations,
                last_output: &told.last_output,
                is_purse_empty: is_over_budget && self.purse.is_empty_for_more(self.shop.as_ref()),
            };
            let (next, turn) = progress.end(&self.pipeline, &end);
            progress = next;
            match turn {
                Turn::Next => self.next(&progress).await?,
                Turn::Left => return self.left(&progress).await,
                Turn::Over { status, why, failure } => {
                    self.over(&progress, status, (&why, failure.as_ref())).await?;
                    let is_agent_s_fault = told.ended.outcome == Outcome::Failed;
                    return Ok(TaskEnd::Over { status, why, is_agent_s_fault });
                }
            }
        }
    }

    /// Writes something, however long others write. Who was told to stop tries it once.
    pub(super) async fn bear<T>(
        &self,
        write: impl AsyncFn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        loop {
            let done = write().await;
            let is_busy = done.as_ref().is_err_and(StoreError::is_busy);
            if self.desk.is_busy_now(is_busy) {
                self.shop.tell(&News::Busy);
            }
            if !is_busy || self.desk.stopped().is_some() {
                return done;
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
    }

    /// Writes how far it is.
    pub(super) async fn advance(&self, to: &Advance<'_>) -> Result<(), StoreError> {
        self.bear(async || self.store.advance(&self.claim, to, Clock::wall()).await).await
    }

    /// Says who works on it by hand, if somebody does.
    async fn by_hand(&self) -> Result<Option<String>, W::Trouble> {
        let newest = self.store.runs_of_task(&self.claim.task).await?.pop();
        let driven = newest
            .filter(|run| run.kind != KIND_STAGE && run.status == "running" && self.shop.is_driven(&run.id));
        Ok(driven.map(|run| format!("run {} works on it by hand", run.id)))
    }

    /// Keeps what a stage has done, unless another worker has the task: where the work stands is read first.
    async fn accept(&self, progress: &Progress, verified: Option<String>) -> Result<(), W::Trouble> {
        let from = self.shop.standing(&self.row).await?;
        self.keep(progress).await?;
        fail::point(Point::AcceptBegins);
        self.shop.accept(&self.row, Done { from, stage: progress.stage.clone(), verified }).await
    }

    async fn next(&self, progress: &Progress) -> Result<(), W::Trouble> {
        let status = Status::during(&progress.stage);
        let to = Advance { progress, status, metadata: None, lease: Keeping::Kept };
        self.advance(&to).await?;
        if let Some(ended) = progress.said.last() {
            self.shop.tell(&News::Next { task: &self.claim.task, ended, stage: &progress.stage });
        }
        Ok(())
    }

    async fn left(&self, progress: &Progress) -> Result<TaskEnd, W::Trouble> {
        let to = Advance { progress, status: None, metadata: None, lease: Keeping::Returned };
        self.advance(&to).await?;
        self.shop.tell(&News::Left { task: &self.claim.task, stage: &progress.stage });
        Ok(TaskEnd::Left)
    }

    /// Somebody cancelled it before a loop could have heard of that.
    async fn cancelled(&self, progress: &Progress) -> Result<TaskEnd, W::Trouble> {
        let (status, why) = (Status::Cancelled, "cancelled while its work tree was set up".to_owned());
        self.over(progress, status, (&why, None)).await?;
        self.bear(async || self.store.heed_cancel(&self.claim.task, Clock::wall()).await).await?;
        Ok(TaskEnd::Over { status, why, is_agent_s_fault: false })
    }

    async fn over(
        &self,
        progress: &Progress,
        status: Status,
        (why, failure): (&str, Option<&StageFailure>),
    ) -> Result<(), W::Trouble> {
        let metadata = metadata(&self.row.metadata, status, failure);
        let to = Advance {
            progress,
            status: Some(status),
            metadata: metadata.as_deref(),
            lease: Keeping::Returned,
        };
        self.advance(&to).await?;
        self.shop.tell(&News::Over { task: &self.claim.task, status, why, failure });
        // Who stops it does not wait for more; the next worker catches up.
        if status == Status::Done && self.desk.stopped().is_none() {
            self.shop.deliver(&self.row, &self.store, &self.keeper).await;
        }
        Ok(())
    }

    async fn give_back(&self) -> Result<Returned, StoreError> {
        self.bear(async || self.store.give_back(&self.claim).await).await
    }

    /// Leaves a task as it is that cannot be worked on here and now.
    async fn put_aside(&self, trouble: &W::Trouble) -> TaskEnd {
        let why = W::reason(trouble);
        if let Ok(Returned::NotOurs) = self.give_back().await {
            return TaskEnd::Lost;
        }
        self.aside(why)
    }

    /// Says why nothing becomes of the task for now, unless that was said before.
    fn aside(&self, why: String) -> TaskEnd {
        if self.before.as_ref() != Some(&why) {
            self.shop.tell(&News::Aside { task: &self.claim.task, why: &why });
        }
        TaskEnd::Aside { why }
    }
}

/// Returns the metadata after the work, where it changes.
fn metadata(before: &str, status: Status, failure: Option<&StageFailure>) -> Option<String> {
    let mut metadata: Map<String, Value> = serde_json::from_str(before).unwrap_or_default();
    match failure {
        Some(failure) => drop(metadata.insert(FAILURE.to_owned(), json!(failure))),
        None if status == Status::Done => drop(metadata.remove(FAILURE)?),
        None => return None,
    }
    Some(Value::Object(metadata).to_string())
}

#[cfg(test)]
mod tests {
    use ralph_core::task::Role;

    use super::*;

    // spec: P5
    #[test]
    fn what_failed_is_kept_beside_what_others_wrote_until_the_task_is_done() {
        let failure = StageFailure {
            stage: Role::Coder,
            iterations_used: 15,
            last_output: "no idea".to_owned(),
            reason: "Max iterations reached without completion promise".to_owned(),
        };
        let after = metadata(r#"{"team":"a"}"#, Status::Todo, Some(&failure)).unwrap();
        let read: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(
            read,
            json!({"team": "a", "ralph_failure": {"stage": "coder", "iterations_used": 15,
                "last_output": "no idea", "reason": "Max iterations reached without completion promise"}})
        );
        assert_eq!(metadata(&after, Status::Done, None).unwrap(), r#"{"team":"a"}"#);
        assert_eq!(metadata(&after, Status::Blocked, None), None);
        assert_eq!(metadata("{}", Status::Done, None), None);
    }
}
