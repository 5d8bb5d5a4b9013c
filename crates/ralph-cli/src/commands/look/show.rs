//! `ralph show`.
use std::io::IsTerminal;

use clap::Args;

use crate::commands::workflows::view_run;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;
use ralph_app::control::waits_for_decision;
use ralph_app::run::{load_run_view, load_sent_prompt};
use ralph_app::view::short_id;
use ralph_app::workflow_runs::names_workflow_run;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

/// Shows a run: its outcome, iterations, claims and verdicts
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph show                          the newest run
  ralph show TASK-001                 the newest run of a task
  ralph show --prompt --iteration 2   what the agent was sent
  ralph logs                          what the agent said and did")]
pub struct ShowArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Prints one object: id, kind, outcome, reason, iterations
    #[arg(long)]
    json: bool,
    /// Prints the last prompt as it was sent to the agent, without secrets
    #[arg(long, conflicts_with = "json")]
    prompt: bool,
    /// The iteration whose prompt is printed [default: the last]
    #[arg(long, value_name = "N", requires = "prompt", value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
}

pub fn run(args: &ShowArgs) -> Result<u8, CommandError> {
    let project = Project::find_here_or_outside()?;
    if !args.prompt && block_on(async { Ok(names_workflow_run(&project, args.run.as_deref()).await?) })? {
        return view_run::show(&project, args.run.as_deref(), args.json);
    }
    if args.prompt {
        return print_prompt(args, &project);
    }
    let view = block_on(async { Ok(load_run_view(&project, args.run.as_deref()).await?) })?;
    if args.json {
        out::print_line(&view.to_json().to_string());
        return Ok(0);
    }
    out::print_wrapped(&view.to_text());
    if view.is_blocked() && block_on(async { Ok(waits_for_decision(&project, view.id()).await?) })? {
        out::print_note(&format!("decide: {}", hints::for_waiting_claim(short_id(view.id()))));
    }
    Ok(0)
}

/// Prints the prompt as it was sent. On a terminal, control characters are removed.
fn print_prompt(args: &ShowArgs, project: &Project) -> Result<u8, CommandError> {
    let prompt = block_on(async { Ok(load_sent_prompt(project, args.run.as_deref(), args.iteration).await?) })?;
    out::print_note(&format!("prompt of iteration {} of run {}", prompt.iteration, short_id(&prompt.run_id)));
    let is_terminal = std::io::stdout().is_terminal();
    let text = if is_terminal { sanitize_text(&prompt.text) } else { prompt.text };
    out::print_data(&format!("{}\n", text.trim_end_matches('\n')));
    Ok(0)
}
