//! `ralph task approve`: a person approves the completion criteria that an agent wrote.
use clap::{ArgGroup, Args};
use ralph_app::tasks::{TaskSelection, approve_tasks, detect_author, find_pending_tasks};
use ralph_app::view::pluralize;
use ralph_core::task::completion_terms;
use ralph_engine::project::Project;
use ralph_store::TaskRow;
use ralph_util::sanitize::escape_hidden;

use crate::commands::{block_on, confirm, out};
use crate::error::CommandError;

/// Approves tasks whose criteria an agent wrote
///
/// Shows the outcome, the acceptance criteria, and every command, plugin and template of these tasks, then asks. A task
/// that is not approved does not run. Editing a task does not approve it.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "spec", "all"])))]
#[command(after_help = "Examples:
  ralph task approve auth-001
  ralph task approve --spec auth --yes        without asking, for scripts

Exit codes: 0 approved, or nothing to approve; 1 not approved; 64 no such task")]
pub struct TaskApproveArgs {
    /// The task ids
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

pub fn run(args: &TaskApproveArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let author = detect_author(&project);
    let pending = block_on(async { Ok(find_pending_tasks(&project, &args.selection(), author).await?) })?;
    if pending.is_empty() {
        out::print_message("nothing to approve: no task waits for approval");
        return Ok(0);
    }
    pending.iter().for_each(print_terms);
    let count = pluralize(pending.len() as i64, "task");
    if !args.yes {
        confirm::require_confirmation(&format!("{count} not approved"))?;
    }
    block_on(async { Ok(approve_tasks(&project, &pending, author).await?) })?;
    out::print_message(&format!("{count} approved"));
    Ok(0)
}

impl TaskApproveArgs {
    fn selection(&self) -> TaskSelection {
        match &self.spec {
            _ if self.all => TaskSelection::All,
            Some(spec) => TaskSelection::Spec(spec.clone()),
            None => TaskSelection::Ids(self.ids.clone()),
        }
    }
}

/// Prints the criteria and commands of a task. Hidden characters are escaped because an agent wrote the text.
fn print_terms(row: &TaskRow) {
    out::print_message(&escape_hidden(&format!("{}  {}", row.task.id, row.task.title)));
    for term in completion_terms(&row.task) {
        let description = escape_hidden(&term.description).replace('\n', "\n      ");
        out::print_message(&format!("  {}\n      {description}", escape_hidden(&term.location)));
    }
}
