//! `ralph rewind`.
use std::io;

use clap::Args;
use ralph_app::maintenance::{RewindReport, RewindTarget, list_attempts, rewind_worktree};
use ralph_app::view::format_timestamp;
use ralph_core::outcome::exit_code;
use ralph_core::task::Role;
use ralph_engine::project::Project;
use ralph_engine::worktree::AttemptSnapshot;
use serde_json::json;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;

/// Resets the work tree of a task to its state after an earlier attempt
///
/// Without an iteration, ralph lists the attempts. ralph stores the current files first and prints their reference, then
/// resets HEAD and files; files that were uncommitted at that time are uncommitted again. Files that git ignores do not
/// change. The task is reset too: `ralph work` resumes with that stage.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rewind TASK-001                  lists the stored attempts
  ralph rewind TASK-001 2                the last attempt of iteration 2 of the newest stage
  ralph rewind TASK-001 coder 2")]
pub struct RewindArgs {
    /// The id of the task
    task: String,
    /// The stage [default: the newest] and the iteration
    #[arg(value_name = "[STAGE] ITERATION", num_args = 0..=2)]
    to: Vec<String>,
    /// Earlier round of a stage that ran several times, as shown in the list
    #[arg(long, value_name = "N", requires = "to")]
    earlier: Option<u32>,
    /// Prints one object per line: task, stage, iteration, attempt, earlier, commit, at; after a rewind also kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RewindArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    block_on(async {
        match args.parse_target()? {
            None => args.print_attempts(&list_attempts(&project, &args.task).await?),
            Some(target) => {
                let report = rewind_worktree(&project, &args.task, &target, &TerminalInteraction).await?;
                args.print_report(&report);
            }
        }
        Ok(exit_code::COMPLETED)
    })
}

impl RewindArgs {
    /// Returns the iteration that the arguments name. Without one, the attempts are listed.
    fn parse_target(&self) -> Result<Option<RewindTarget>, CommandError> {
        let (stage, iteration) = match self.to.as_slice() {
            [] => return Ok(None),
            [iteration] => (None, iteration),
            [stage, iteration, ..] => (Some(stage), iteration),
        };
        let stage = stage.map(|stage| Role::parse(stage).map_err(CommandError::usage_error)).transpose()?;
        let number = iteration.parse().ok().filter(|number| *number > 0);
        let iteration = number.ok_or_else(|| {
            CommandError::usage_error(format!("{iteration:?} is not an iteration"))
                .with_hint("iterations count from 1 and are the last argument: ralph rewind TASK-001 coder 2")
        })?;
        Ok(Some(RewindTarget { stage, iteration, earlier_round: self.earlier }))
    }

    fn print_attempts(&self, snapshots: &[AttemptSnapshot]) {
        if snapshots.is_empty() {
            out::print_note(&format!("no attempt of {} is stored", self.task));
        }
        if self.json {
            return snapshots.iter().for_each(|snapshot| out::print_line(&self.snapshot_json(snapshot).to_string()));
        }
        if !snapshots.is_empty() {
            let table = TextTable::new(ATTEMPT_COLUMNS, snapshots.iter().map(snapshot_cells).collect());
            out::print_data(&table.render_for(&io::stdout()));
        }
    }

    fn snapshot_json(&self, snapshot: &AttemptSnapshot) -> serde_json::Value {
        let key = &snapshot.key;
        json!({
            "task": self.task,
            "stage": key.stage,
            "iteration": key.iteration,
            "attempt": key.attempt,
            "earlier": snapshot.earlier_round,
            "commit": snapshot.commit,
            "at": snapshot_time(snapshot),
        })
    }

    fn print_report(&self, report: &RewindReport) {
        if self.json {
            let mut object = self.snapshot_json(&report.snapshot);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("kept".to_owned(), report.backup_ref.clone().into());
            }
            out::print_line(&object.to_string());
            return;
        }
        let key = &report.snapshot.key;
        out::print_line(&format!(
            "reset {} to the files after attempt {} of iteration {} of {}",
            report.worktree_path.display(),
            key.attempt,
            key.iteration,
            key.stage
        ));
        out::print_line(&format!("the previous files are stored in {}", report.backup_ref));
        if let Some(accepted) = &report.accepted_backup_ref {
            out::print_line(&format!("work that was accepted later is stored in {accepted}"));
        }
    }
}

const ATTEMPT_COLUMNS: [&str; 6] = ["stage", "iteration", "attempt", "commit", "time", "option"];

fn snapshot_cells(snapshot: &AttemptSnapshot) -> [String; 6] {
    let key = &snapshot.key;
    [
        key.stage.to_string(),
        key.iteration.to_string(),
        key.attempt.to_string(),
        snapshot.commit.get(..12).unwrap_or(&snapshot.commit).to_owned(),
        format_timestamp(snapshot.taken_at.saturating_mul(1_000)),
        snapshot.earlier_round.map_or_else(String::new, |number| format!("--earlier {number}")),
    ]
}

fn snapshot_time(snapshot: &AttemptSnapshot) -> String {
    jiff::Timestamp::from_second(snapshot.taken_at).map(|at| at.to_string()).unwrap_or_default()
}
