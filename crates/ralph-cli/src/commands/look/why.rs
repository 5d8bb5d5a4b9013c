//! `ralph why`.
use clap::Args;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;
use ralph_app::inbox::list_inbox;
use ralph_app::why::{ExplainedSubject, ExplanationView, explain_decision};
use ralph_engine::project::Project;

/// Explains why a run, an iteration, a task or a workflow run is where it is
///
/// The first line is the answer. Then come the rule that decided, its numbers and the events of the journal that show
/// it, and the rules that did not apply. For something that has not ended, they are the rules that could end it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph why                 the newest run
  ralph why TASK-001        a task, with its newest run
  ralph why TASK-001 2      iteration 2 of the newest run of a task
  ralph why --json          the same as one JSON object")]
pub struct WhyArgs {
    /// A task id, or the start or end of a run id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    id: Option<String>,
    /// An iteration of the run [default: the whole run]
    #[arg(value_name = "ITERATION", value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
    /// Prints one object: kind, id, headline, rule, sentence, evidence, numbers, not_applied
    #[arg(long)]
    json: bool,
}

pub fn run(args: &WhyArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here_or_outside()?;
        let view = explain_decision(&project, args.id.as_deref(), args.iteration).await?;
        if args.json {
            out::print_line(&view.to_json().to_string());
            return Ok(0);
        }
        out::print_wrapped(&view.to_text());
        print_answer(&project, &view).await?;
        Ok(0)
    })
}

/// Notes what a person can do, if the inbox has it.
async fn print_answer(project: &Project, view: &ExplanationView) -> Result<(), CommandError> {
    let items = list_inbox(project).await?;
    let item = items.iter().find(|item| match &view.subject {
        ExplainedSubject::Run { id, task, .. } => item.run.as_ref() == Some(id) && (item.task == *task),
        ExplainedSubject::Workflow { id, .. } => item.run.as_ref() == Some(id),
        ExplainedSubject::Task { id, .. } => item.task.as_ref() == Some(id),
    });
    if let Some(item) = item {
        out::print_note(&format!("waits for you: {}", hints::for_inbox_answer(&item.answer).join(" or ")));
    }
    Ok(())
}
