//! `ralph task approve`: a person accepts what an agent wrote about when a task is done.
use clap::{ArgGroup, Args};
use ralph_core::task::{Approval, Author, terms};

use super::{author, opened, unknown};
use crate::cli::{block_on, consent, out};
use crate::error::Failure;
use ralph_app::view::one_or_many;
use ralph_engine::engine::Clock;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskChange, TaskHead, TaskRow};
use ralph_util::sanitize::visible;

/// Lets tasks be worked on for which an agent wrote what decides
///
/// Shows outcome, acceptance and every command, plugin and template that these tasks would start, as they are, and asks. A
/// task that was not approved does not run. Editing a task does not approve it.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "spec", "all"])))]
#[command(after_help = "Examples:
  ralph task approve auth-001
  ralph task approve --spec auth --yes        without a question, such as in a script

Exit codes: 0 approved, or nothing to approve; 1 not approved; 64 no such task")]
pub struct ApproveArgs {
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// All tasks
    #[arg(long)]
    all: bool,
    /// Approves without asking
    #[arg(long, short)]
    yes: bool,
}

pub fn run(args: &ApproveArgs) -> Result<u8, Failure> {
    if author(&Project::here()?) == Author::Agent {
        return Err(Failure::preflight("an agent cannot approve what agents wrote")
            .hint("a person approves, in a terminal outside of the run or session"));
    }
    block_on(async {
        let store = opened().await?;
        let waiting = args.waiting(&store).await?;
        if waiting.is_empty() {
            out::say("nothing to approve: nothing that an agent wrote waits for it");
            return Ok(0);
        }
        waiting.iter().for_each(show);
        let what = one_or_many(waiting.len() as i64, "task");
        if !args.yes {
            consent::required(&format!("{what} not approved"))?;
        }
        let approved = store.change_tasks(Clock::wall(), |there| approvals(&waiting, there)).await;
        store.close().await;
        approved?;
        out::say(&format!("{what} approved"));
        Ok(0)
    })
}

impl ApproveArgs {
    /// Returns the tasks that are meant and wait.
    async fn waiting(&self, store: &Store) -> Result<Vec<TaskRow>, Failure> {
        let rows = store.whole_tasks().await?;
        let ids: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
        if let Some(id) = self.ids.iter().find(|id| !ids.contains(&id.as_str())) {
            return Err(unknown(id, &ids));
        }
        let is_meant = |row: &TaskRow| {
            self.all
                || self.ids.contains(&row.task.id)
                || self.spec.is_some() && self.spec == row.task.spec_id
        };
        Ok(rows.into_iter().filter(|row| row.approval == Approval::Awaited && is_meant(row)).collect())
    }
}

/// Shows what decides, and what would be started. An agent may have written it to look like something else.
fn show(row: &TaskRow) {
    out::say(&visible(&format!("{}  {}", row.task.id, row.task.title)));
    for start in terms(&row.task) {
        let what = visible(&start.what).replace('\n', "\n      ");
        out::say(&format!("  {}\n      {what}", visible(&start.place)));
    }
}

/// Approves what was shown, and nothing that was changed since.
fn approvals(shown: &[TaskRow], there: &[TaskHead]) -> Result<Vec<TaskChange>, Failure> {
    let approve = |row: &TaskRow| {
        let id = &row.task.id;
        match there.iter().any(|head| head.id == *id && head.updated_at == row.updated_at) {
            true => Ok(TaskChange::Approve { id: id.clone() }),
            false => Err(Failure::preflight(format!("task {id} was changed meanwhile"))
                .hint("look at it again: nothing was approved")),
        }
    };
    shown.iter().map(approve).collect()
}
