//! `ralph guide`: sends guidance to the agent of a loop.
use std::fs::File;
use std::io;

use clap::Args;
use ralph_app::control::{
    GuideResult, StandingGuidance, clear_standing_guidance, is_target_name, keep_guidance, list_standing_guidance,
    parse_guidance, send_guidance,
};
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{
    WorkflowGuidance, clear_workflow_guidance, guide_workflow_run, keep_workflow_guidance, list_workflow_guidance,
    names_workflow_run,
};
use ralph_engine::project::Project;
use ralph_engine::run_driver::read_bounded_prompt;
use ralph_util::sanitize::sanitize_text;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Adds guidance to the next prompt of a loop, or to every later prompt
///
/// The next prompt contains it in a separate section; later prompts do not. All guidance sent before the next prompt is
/// included, and the journal records it. If no loop is running for a task, ralph stores the guidance for the next loop. If
/// the question of an agent has blocked a run, the guidance answers it, and `ralph resume` continues the run.
///
/// A workflow run passes it to its loops, or, if none is running, to the next agent that starts; with `--keep`, to all
/// its agents.
///
/// With `--keep`, every later prompt contains it, for a task also in its later stages and attempts, until `--clear`.
#[derive(Debug, Args)]
#[command(
    override_usage = "ralph guide [OPTIONS] [TASK|RUN] <TEXT>",
    after_help = "Examples:
  ralph guide 'Keep the public API as it is'        the only active loop
  ralph guide TASK-001 'Leave the old parser alone; the bug is in the lexer'
  ralph guide TASK-001 --keep 'Never change the public API'
  ralph guide TASK-001 --list          shows the guidance that is kept; --clear removes it
  ralph guide 3f2a9c41 @hint.md        from a file
  git log -1 | ralph guide TASK-001 -  from standard input"
)]
pub struct GuideArgs {
    /// Task id, or beginning or end of a run id [default: the only active loop]; then the guidance: text, @FILE, or - for
    /// standard input
    #[arg(value_names = ["TASK|RUN", "TEXT"], num_args = 1..=2, required_unless_present_any = ["list", "clear"])]
    words: Vec<String>,
    /// Keeps the guidance in every later prompt
    #[arg(long)]
    keep: bool,
    /// Lists the guidance that is kept
    #[arg(long, conflicts_with_all = ["keep", "clear"])]
    list: bool,
    /// Removes the guidance that is kept
    #[arg(long, conflicts_with = "keep")]
    clear: bool,
}

pub fn run(args: &GuideArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    if args.list || args.clear {
        return show_or_clear(args, &project);
    }
    let request = args.parse_words();
    let guidance = parse_guidance(read_guidance(request.text)?)?;
    if request.id.is_none() && block_on(async { Ok(is_target_name(&project, request.text).await?) })? {
        return Err(CommandError::usage_error(format!("the guidance for {} is missing", request.text))
            .with_hint(format!("write it after the id: ralph guide {} TEXT", request.text)));
    }
    if request.id.is_some() && block_on(async { Ok(names_workflow_run(&project, request.id).await?) })? {
        return guide_workflow(args, &project, request.id, guidance);
    }
    if args.keep {
        let kept = block_on(async { Ok(keep_guidance(&project, request.id, &guidance).await?) })?;
        out::print_message(&format!("Kept for {}; it is part of every later prompt", kept.name));
        return Ok(0);
    }
    match block_on(async { Ok(send_guidance(&project, request.id, guidance).await?) })? {
        GuideResult::Delivered(position) => {
            out::print_message(&format!("Sent to the Ralph loop for {position}; it is part of the next prompt"));
        }
        GuideResult::Answered { run } => {
            out::print_message(&format!("Stored for run {run}; `ralph resume {run}` continues it with your answer"));
        }
        GuideResult::Stored { name } => {
            out::print_message(&format!("Stored for {name}; no loop is running for it now"));
        }
    }
    Ok(0)
}

/// Sends guidance to the agents of a workflow run.
fn guide_workflow(
    args: &GuideArgs,
    project: &Project,
    run: Option<&str>,
    guidance: String,
) -> Result<u8, CommandError> {
    if args.keep {
        let kept = block_on(async { Ok(keep_workflow_guidance(project, run, &guidance).await?) })?;
        out::print_message(&format!("Kept for workflow run {}; it is part of every later prompt", kept.name));
        return Ok(0);
    }
    out::print_message(&match block_on(async { Ok(guide_workflow_run(project, run, guidance).await?) })? {
        WorkflowGuidance::Delivered { runs } => {
            let runs: Vec<&str> = runs.iter().map(|run| short_id(run)).collect();
            format!("Sent to the loops of the workflow run ({}); it is part of their next prompt", runs.join(", "))
        }
        WorkflowGuidance::Stored => "Stored for the workflow run; the next agent that starts gets it".to_owned(),
    });
    Ok(0)
}

/// Lists or removes the guidance that is kept.
fn show_or_clear(args: &GuideArgs, project: &Project) -> Result<u8, CommandError> {
    let id = match args.words.as_slice() {
        [] => None,
        [id] => Some(id.as_str()),
        [..] => {
            return Err(CommandError::usage_error("--list and --clear take no guidance")
                .with_hint("give only the id of a task or a run"));
        }
    };
    let is_workflow = id.is_some() && block_on(async { Ok(names_workflow_run(project, id).await?) })?;
    if args.clear {
        let StandingGuidance { name, words } = block_on(async {
            Ok(match is_workflow {
                true => clear_workflow_guidance(project, id).await?,
                false => clear_standing_guidance(project, id).await?,
            })
        })?;
        out::print_message(&match words.is_empty() {
            true => format!("{name} has no guidance that is kept"),
            false => format!("Removed the guidance of {name}"),
        });
        return Ok(0);
    }
    let StandingGuidance { name, words } = block_on(async {
        Ok(match is_workflow {
            true => list_workflow_guidance(project, id).await?,
            false => list_standing_guidance(project, id).await?,
        })
    })?;
    if words.is_empty() {
        out::print_note(&format!("{name} has no guidance that is kept"));
    }
    words.iter().for_each(|words| out::print_line(&sanitize_text(words)));
    Ok(0)
}

/// The positional arguments of `ralph guide`.
struct GuideRequest<'a> {
    id: Option<&'a str>,
    text: &'a str,
}

impl GuideArgs {
    /// Separates the optional id from the text.
    fn parse_words(&self) -> GuideRequest<'_> {
        match self.words.as_slice() {
            [id, text, ..] => GuideRequest { id: Some(id), text },
            [text] => GuideRequest { id: None, text },
            [] => GuideRequest { id: None, text: "" },
        }
    }
}

/// Reads guidance from the argument itself, from a file (`@FILE`) or from standard input (`-`).
pub fn read_guidance(source: &str) -> Result<Vec<u8>, CommandError> {
    let unreadable = |error: io::Error| {
        CommandError::preflight_error(format!("cannot read the guidance {source}"))
            .with_cause(error)
            .with_hint("use @FILE for a text file, or - for standard input")
    };
    match (source.strip_prefix('@'), source) {
        (Some(path), _) => File::open(path).and_then(read_bounded_prompt).map_err(unreadable),
        (None, "-") => read_bounded_prompt(io::stdin().lock()).map_err(unreadable),
        (None, text) => Ok(text.as_bytes().to_vec()),
    }
}
