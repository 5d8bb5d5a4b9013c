//! `ralph resume`.
use clap::Args;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_change_args::LimitChangeArgs;
use crate::commands::args::output_args::{OutputArgs, OutputMode};
use crate::commands::control::guide::read_guidance;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::detach::{DetachArgs, run_detached};
use crate::commands::run::execute::{drive_and_report, run_host, with_keeper};
use crate::commands::run::run_report::print_generation;
use crate::commands::workflows::run::DriveArgs;
use crate::commands::{block_on, out, workflows};
use crate::error::CommandError;
use ralph_app::config::ConfigSource;
use ralph_app::control::{ContinueResult, continue_run, parse_guidance};
use ralph_app::run::{
    EndedRun, PreparedResume, ResumableRun, ResumeNotNeeded, ResumeRequest, ResumeStart, ensure_resume_allowed,
    prepare_resume, resume_run,
};
use ralph_app::view::{event_json_line, short_id};
use ralph_app::workflow_runs::names_workflow_run;
use ralph_core::continuation::Continuation;
use ralph_engine::project::Project;
use ralph_engine::run_driver::OutputVisibility;
use ralph_process::Keeper;

/// Resumes a run that was paused or interrupted, or whose ralph process died
///
/// Finished iterations are kept. ralph repeats an interrupted iteration under the same number; if only its checks were
/// interrupted, it repeats them without the agent. A paused run continues in the process that drives it. For a run that
/// has ended, ralph prints the result again, returns its exit code and starts nothing.
///
/// With other limits or guidance, ralph also continues a run that ended exhausted, over_budget, stalled or blocked. Values
/// are new totals; a plus sign adds. For a stage of a task, `ralph work` continues it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  ralph resume                 the newest run of this project
  ralph resume 3f2a9c41        the run whose id ends with this; `ralph runs` lists them
  ralph resume --detach        in the background; `ralph attach` follows it
  ralph resume 3f2a9c41 --max-iterations +5 --max-cost 10   continues a run that has ended
  ralph resume TASK-001 --guide 'Redis is running now'      continues a blocked stage")]
pub struct ResumeArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Continues the run with this guidance in its next prompt; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "TEXT")]
    guide: Option<String>,
    #[command(flatten)]
    limits: LimitChangeArgs,
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
    if block_on(async { Ok(names_workflow_run(&project, args.run.as_deref()).await?) })? {
        return workflows::run::resume_detached(args.run.as_deref(), &args.for_workflow()?, &project);
    }
    // This process can ask questions; the background process cannot.
    match block_on(continue_and_prepare(args, &project))? {
        PreparedTarget::Run(PreparedResume::Resumable(run)) => {
            let source = args.config.source();
            run_detached(*run, &args.output, source.clone(), |run, output| {
                with_keeper(|keeper| resume_and_report(run, keeper, output, &source))
            })
        }
        PreparedTarget::Run(PreparedResume::NotNeeded(reason)) => {
            report_nothing_started(reason, args.output.audience())
        }
        PreparedTarget::Stage => Ok(0),
    }
}

impl ResumeArgs {
    /// Returns the arguments that continue a workflow run.
    fn for_workflow(&self) -> Result<DriveArgs, CommandError> {
        if self.guide.is_some() || !self.limits.changes().is_empty() {
            return Err(CommandError::usage_error("a workflow run takes guidance and limits by commands of their own")
                .with_hint("`ralph guide RUN TEXT` and `ralph limit RUN --max-cost N`, then `ralph resume RUN`"));
        }
        Ok(DriveArgs { config: self.config.clone(), output: self.output.clone() })
    }
}

/// The run to resume, once its continuation is stored.
enum PreparedTarget {
    Run(PreparedResume),
    /// A worker continues the stage.
    Stage,
}

async fn continue_and_prepare(args: &ResumeArgs, project: &Project) -> Result<PreparedTarget, CommandError> {
    let continued = match continue_first(args, project).await? {
        ContinuedTarget::Run(run) => run,
        ContinuedTarget::Stage => return Ok(PreparedTarget::Stage),
    };
    let run = continued.as_deref().or(args.run.as_deref());
    Ok(PreparedTarget::Run(prepare(args, run, project).await?))
}

/// The work that is left for this process after the continuation.
enum ContinuedTarget {
    /// The run that was continued, if one was.
    Run(Option<String>),
    /// A worker continues the stage.
    Stage,
}

/// Continues the run with other limits or with guidance, if the arguments ask for it.
async fn continue_first(args: &ResumeArgs, project: &Project) -> Result<ContinuedTarget, CommandError> {
    let guidance = args.guide.as_deref().map(|text| parse_guidance(read_guidance(text)?).map_err(CommandError::from));
    let continuation = Continuation { limits: args.limits.changes(), guidance: guidance.transpose()? };
    if continuation.is_empty() {
        return Ok(ContinuedTarget::Run(None));
    }
    let part = args.run.as_deref();
    match continue_run(project, part, continuation).await? {
        ContinueResult::Run { run_id, .. } => Ok(ContinuedTarget::Run(Some(run_id))),
        ContinueResult::Stage { task, stage, limits } => {
            let limits = if limits.is_empty() { String::new() } else { format!(": {}", limits.describe()) };
            out::print_message(&format!("{task} continues its stage {stage} when `ralph work` runs{limits}"));
            Ok(ContinuedTarget::Stage)
        }
    }
}

async fn prepare(args: &ResumeArgs, run: Option<&str>, project: &Project) -> Result<PreparedResume, CommandError> {
    let request = ResumeRequest {
        config: &args.config.source(),
        visibility: args.output.audience(),
        person: &TerminalInteraction,
    };
    Ok(prepare_resume(project, run, &request).await?)
}

async fn resume_in_foreground(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    if names_workflow_run(&project, args.run.as_deref()).await? {
        return workflows::run::resume(args.run.as_deref(), &args.for_workflow()?, project, keeper).await;
    }
    match continue_and_prepare(args, &project).await? {
        PreparedTarget::Run(PreparedResume::Resumable(run)) => {
            let output = args.output.output_mode(run.plan());
            resume_and_report(*run, keeper, output, &args.config.source()).await
        }
        PreparedTarget::Run(PreparedResume::NotNeeded(reason)) => {
            report_nothing_started(reason, args.output.audience())
        }
        PreparedTarget::Stage => Ok(0),
    }
}

pub async fn resume_and_report(
    run: ResumableRun,
    keeper: Keeper,
    output: OutputMode,
    config: &ConfigSource,
) -> Result<u8, CommandError> {
    match resume_run(run, run_host(keeper), &TerminalInteraction).await? {
        ResumeStart::Started(started) => drive_and_report(*started, output, Some(config)).await,
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
        ResumeNotNeeded::PauseWithdrawn { task } => {
            out::print_message(&format!("{task} is not paused any more; its next loop starts as usual"));
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
