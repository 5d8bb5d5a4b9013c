//! `ralph task run`: runs one stage of a task.
use super::args::run_args::TaskRunArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::detach::run_detached;
use crate::commands::run::execute::{execute_run, execute_with_keeper, with_keeper};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::run::{
    PreparedRun, PreparedStage, StageOutOfTurn, TaskRunRequest, ensure_task_run_allowed, prepare_task_run,
};
use ralph_engine::project::Project;

pub fn run(args: &TaskRunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    ensure_task_run_allowed(&project)?;
    let settings = args.load_settings(&project)?;
    if args.background.is_requested() {
        let prepared = block_on(prepare(args, &settings, project))?;
        return run_detached(prepared, &args.output, args.config.source(), |run, output| {
            execute_run(run, output, Some(&args.config.source()))
        });
    }
    // The keeper must be forked before the store starts its thread.
    with_keeper(async |keeper| {
        let prepared = prepare(args, &settings, project).await?;
        let output = args.output.output_mode(prepared.plan());
        execute_with_keeper(prepared, keeper, output, Some(&args.config.source())).await
    })
}

async fn prepare(args: &TaskRunArgs, settings: &Settings, project: Project) -> Result<PreparedRun, CommandError> {
    let request = TaskRunRequest {
        task: &args.id,
        role: &args.role,
        settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        context: args.context(),
        max_iterations: args.max_iterations,
    };
    let PreparedStage { run, warnings, out_of_turn } = prepare_task_run(request, project, &TerminalInteraction).await?;
    let out_of_turn = out_of_turn.as_ref().map(out_of_turn_warning);
    warnings.iter().chain(&out_of_turn).for_each(|warning| out::print_note(&format!("warning: {warning}")));
    Ok(run)
}

fn out_of_turn_warning(stage: &StageOutOfTurn) -> String {
    let StageOutOfTurn { task, role, status, needed_status } = stage;
    let (status, role, needed) = (status.as_str(), role.as_str(), needed_status.as_str());
    format!(
        "task {task} is {status}, so it is not the turn of the {role}: whatever the result of this stage, the task stays \
         {status} (`ralph task edit {task} --status {needed}` changes that)"
    )
}
