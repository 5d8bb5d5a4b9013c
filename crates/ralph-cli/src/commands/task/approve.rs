//! `ralph task approve`: a person accepts what an agent wrote about when a task is done.
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
/// Shows outcome, acceptance and every command, plugin and template that these tasks would start, as they are, and asks. A
/// task that is not approved does not run. Editing a task does not approve it.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "spec", "all"])))]
#[command(after_help = "Examples:
  ralph task approve auth-001
  ralph task approve --spec auth --yes        without a question, such as in a script

Exit codes: 0 approved, or nothing to approve; 1 not approved; 64 no such task")]
pub struct TaskApproveArgs {
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
        out::print_message("nothing to approve: no task that an agent wrote waits for approval");
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

/// Shows the criteria, and the commands that would be started. Hidden characters are escaped: an agent wrote them.
fn print_terms(row: &TaskRow) {
    out::print_message(&escape_hidden(&format!("{}  {}", row.task.id, row.task.title)));
    for start in completion_terms(&row.task) {
        let what = escape_hidden(&start.description).replace('\n', "\n      ");
        out::print_message(&format!("  {}\n      {what}", escape_hidden(&start.location)));
    }
}
