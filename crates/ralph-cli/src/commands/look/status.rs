//! `ralph status`.
use clap::Args;

use crate::commands::look::status_watch;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;
use ralph_app::control::ActiveWorkReader;
use ralph_app::inbox::list_inbox;
use ralph_app::tasks::{WaitingTasks, find_waiting_tasks};
use ralph_app::view::{ActiveWork, short_id, workflow_run_json};
use ralph_app::workflow_runs::list_active_workflow_runs;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::TaskListItem;
use ralph_util::sanitize::sanitize_text;

/// Shows the active loops with their progress and current activity
///
/// A loop is named by its task, or by the end of its run id if it has no task. A loop whose ralph process died is marked.
/// Finished tasks that are not merged, and blocked tasks, are named below.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph status
  ralph status --watch         updates until Ctrl-C
  ralph status --json          an array; with --watch one line for every change")]
pub struct StatusArgs {
    /// Keeps running and shows every change
    #[arg(long, short)]
    watch: bool,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StatusArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here_or_outside()?;
        if args.watch {
            return status_watch::watch_status(&project, args.json).await;
        }
        let loops = ActiveWorkReader::new(&project).read().await?;
        let workflows = list_active_workflow_runs(&project).await?;
        if args.json {
            let loops = loops.iter().map(ActiveWork::to_json);
            let rows: Vec<_> = loops.chain(workflows.iter().map(workflow_run_json)).collect();
            out::print_line(&serde_json::Value::from(rows).to_string());
        } else {
            if workflows.is_empty() || !loops.is_empty() {
                out::print_wrapped(&format_loop_list(&loops));
            }
            for run in &workflows {
                let line = format!("workflow {} {}  {}  {}", run.workflow, short_id(&run.id), run.status, run.message);
                out::print_message(&sanitize_text(line.trim_end()));
            }
            out::print_wrapped(&sanitize_text(&format_waiting_tasks(&find_waiting_tasks(&project).await?)));
            print_waiting_count(&project).await;
        }
        Ok(0)
    })
}

/// Returns a line for the finished tasks that are not merged, and one for the blocked tasks, each with the next command.
fn format_waiting_tasks(waiting: &WaitingTasks) -> String {
    let ids = |tasks: &[TaskListItem]| tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    if !waiting.unmerged.is_empty() {
        let ids = ids(&waiting.unmerged);
        text.push_str(&format!("finished, not merged: {ids}; ralph land --dry-run {ids}\n"));
    }
    if let Some(first) = waiting.blocked.first() {
        text.push_str(&format!("blocked: {}; ralph task show {}\n", ids(&waiting.blocked), first.id));
    }
    text
}

/// Notes how much waits for a person. An inbox that cannot be read is reported by `ralph inbox`.
async fn print_waiting_count(project: &Project) {
    match list_inbox(project).await.map_or(0, |items| items.len()) {
        0 => {}
        1 => out::print_note("1 item waits for you: ralph inbox"),
        count => out::print_note(&format!("{count} items wait for you: ralph inbox")),
    }
}

/// Returns the list for people.
pub fn format_loop_list(loops: &[ActiveWork]) -> String {
    if loops.is_empty() {
        return "No active Ralph loops\n".to_owned();
    }
    let now = Clock::wall_now();
    let mut text = String::from("Active Ralph Loops:\n");
    for view in loops {
        text.push_str(&format!("  {}\n", view.to_line(now)));
        if let Some(title) = view.title() {
            text.push_str(&format!("    {title}\n"));
        }
        if let Some(detail) = view.detail_line(&hints::for_loop_remedy) {
            text.push_str(&format!("    {detail}\n"));
        }
    }
    text
}
