//! `ralph resume`.
use clap::Args;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::output_args::{OutputArgs, OutputMode};
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::detach::{DetachArgs, run_detached};
use crate::commands::run::execute::{drive_and_report, run_host, with_keeper};
use crate::commands::run::run_report::print_generation;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::run::{
    EndedRun, PreparedResume, ResumableRun, ResumeNotNeeded, ResumeRequest, ResumeStart, ensure_resume_allowed,
    prepare_resume, resume_run,
};
use ralph_app::view::{event_json_line, short_id};
use ralph_engine::project::Project;
use ralph_engine::run_driver::OutputVisibility;
use ralph_process::Keeper;

/// Resumes a run that was paused or interrupted, or whose ralph process died
///
/// Finished iterations are kept. ralph repeats an interrupted iteration under the same number; if only its checks were
/// interrupted, it repeats them without the agent. A paused run continues in the process that drives it. For a run that
/// has ended, ralph prints the result again, returns its exit code and starts nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume                 the newest run of this project
  ralph resume 3f2a9c41        the run whose id ends with this; `ralph runs` lists them
  ralph resume --detach        in the background; `ralph attach` follows it")]
pub struct ResumeArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
    run: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    background: DetachArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &ResumeArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    ensure_resume_allowed(&project)?;
    if !args.background.is_requested() {
        return with_keeper(|keeper| resume_in_foreground(args, project, keeper));
    }
    // This process can ask questions; the background process cannot.
    match block_on(prepare(args, &project))? {
        PreparedResume::Resumable(run) => {
            run_detached(*run, &args.output, |run, output| with_keeper(|keeper| resume_and_report(run, keeper, output)))
        }
        PreparedResume::NotNeeded(reason) => report_nothing_started(reason, args.output.audience()),
    }
}

async fn prepare(args: &ResumeArgs, project: &Project) -> Result<PreparedResume, CommandError> {
    let request = ResumeRequest {
        config: &args.config.source(),
        visibility: args.output.audience(),
        person: &TerminalInteraction,
    };
    Ok(prepare_resume(project, args.run.as_deref(), &request).await?)
}

async fn resume_in_foreground(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    match prepare(args, &project).await? {
        PreparedResume::Resumable(run) => {
            let output = args.output.output_mode(run.plan());
            resume_and_report(*run, keeper, output).await
        }
        PreparedResume::NotNeeded(reason) => report_nothing_started(reason, args.output.audience()),
    }
}

async fn resume_and_report(run: ResumableRun, keeper: Keeper, output: OutputMode) -> Result<u8, CommandError> {
    match resume_run(run, run_host(keeper), &TerminalInteraction).await? {
        ResumeStart::Started(started) => drive_and_report(*started, output).await,
        ResumeStart::Ended(ended) => report_ended_run(*ended, output.audience()),
    }
}

/// Prints why nothing was started, and returns the exit code.
fn report_nothing_started(reason: ResumeNotNeeded, audience: OutputVisibility) -> Result<u8, CommandError> {
    match reason {
        ResumeNotNeeded::WokenUp { position } => {
            out::print_message(&format!("Resumed Ralph loop for {position}"));
            Ok(0)
        }
        ResumeNotNeeded::Ended(ended) => report_ended_run(*ended, audience),
    }
}

/// Prints the result of a run that has ended, and returns its exit code.
fn report_ended_run(ended: EndedRun, audience: OutputVisibility) -> Result<u8, CommandError> {
    let EndedRun { row, end, last_event, generation } = ended;
    match audience {
        OutputVisibility::Hidden => {
            last_event.iter().for_each(|last| out::print_line(&event_json_line(&row.id, last)));
        }
        OutputVisibility::Shown => {
            let short = short_id(&row.id);
            out::print_note(&format!("run {short} has ended; nothing was started"));
            out::print_message(&format!("{}: {}", end.outcome.as_str(), end.reason));
            out::print_message(&format!("details   ralph show {short}"));
        }
    }
    if let Some(outcome) = generation? {
        print_generation(&outcome, audience);
    }
    Ok(end.exit_code)
}
