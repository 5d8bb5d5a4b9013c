//! `ralph workflow approve`, `reject` and `respond`: the answers of a person to a workflow run that waits.
use clap::Args;
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{AnswerRequest, AnsweredQuestion, answer_question};
use ralph_engine::project::Project;

use super::run::{DriveArgs, resume};
use crate::commands::out;
use crate::commands::run::execute::with_keeper;
use crate::error::CommandError;

/// Approves what a workflow run asks, and continues the run
///
/// Only a person can answer: agents of the project are refused.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The start or end of the id of the run [default: the newest workflow run]
    run: Option<String>,
    /// A remark; an approval with `capture_response` passes it on
    text: Vec<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Rejects what a workflow run asks
///
/// The run is cancelled, unless the approval says how the work is changed.
#[derive(Debug, Args)]
pub struct WorkflowRejectArgs {
    /// The start or end of the id of the run [default: the newest workflow run]
    run: Option<String>,
    /// Why; the agent that changes the work reads it
    text: Vec<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Answers a workflow run with one of its named decisions
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph workflow respond 3f2a9c41 continue 'use the other endpoint'
  ralph workflow respond 3f2a9c41 complete")]
pub struct RespondArgs {
    /// The start or end of the id of the run
    run: String,
    /// The decision, as the run asks for it
    decision: String,
    /// Text for the workflow
    text: Vec<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Debug, Args)]
struct AnswerArgs {
    /// The node that asks, if several do
    #[arg(long, value_name = "ID")]
    node: Option<String>,
    /// Only stores the answer; `ralph resume` continues the run
    #[arg(long)]
    no_resume: bool,
    #[command(flatten)]
    drive: DriveArgs,
}

pub fn approve(args: &ApproveArgs) -> Result<u8, CommandError> {
    answer(args.run.as_deref(), "approve", &args.text, &args.answer)
}

pub fn reject(args: &WorkflowRejectArgs) -> Result<u8, CommandError> {
    answer(args.run.as_deref(), "reject", &args.text, &args.answer)
}

pub fn respond(args: &RespondArgs) -> Result<u8, CommandError> {
    answer(Some(&args.run), &args.decision, &args.text, &args.answer)
}

fn answer(run: Option<&str>, decision: &str, text: &[String], args: &AnswerArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    // The keeper is forked before the store starts a thread.
    with_keeper(|keeper| async move {
        let request = AnswerRequest { run, node: args.node.as_deref(), decision, text: text.join(" ") };
        let AnsweredQuestion { run, question, decision, is_driven } = answer_question(&project, request).await?;
        out::print_note(&format!("answered {} of workflow run {}: {decision}", question.node, short_id(&run.id)));
        if is_driven || args.no_resume {
            return Ok(0);
        }
        resume(Some(&run.id), &args.drive, project, keeper).await
    })
}
