//! `ralph work`.
mod args;
mod prefixed_lines;
mod reporter;
mod server_worker;
mod stage_activities;
mod work_detach;

use std::sync::Arc;

use ralph_core::event::StopSignal;
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;

pub use args::WorkArgs;
use reporter::WorkReporter;
pub(in crate::commands) use server_worker::{create_worker_screen, prepare_server_worker};

use crate::commands::args::output_args::OutputArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::notifications::CommandNotifications;
use crate::commands::run::execute::with_keeper;
use crate::error::CommandError;
use ralph_app::background_worker::WorkerStartup;
use ralph_app::config::{LandingMode, Settings};
use ralph_app::error::AppResult;
use ralph_app::run::ControlSource;
use ralph_app::work::{
    PreparedWork, StopCondition, TaskEnd, WorkObserver, WorkRequest, WorkScope, WorkSummary, ensure_work_allowed,
    prepare_work, read_start_point,
};
use ralph_engine::project::Project;
use ralph_process::Keeper;
use ralph_util::amounts::DollarAmount;

pub fn run(args: &WorkArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    ensure_work_allowed(&project)?;
    let mut settings = args.config.load_settings(Some(&project))?;
    args.apply(&mut settings);
    let scope = WorkScope {
        named_tasks: args.tasks.clone(),
        stop_condition: if args.until_idle { StopCondition::WhenIdle } else { StopCondition::OnSignal },
        max_cost_micros: args.limits.max_cost().map(DollarAmount::as_micros),
    };
    let reporter = Arc::new(WorkReporter::new(&args.output, args.background.is_requested()));
    let request = work_request(args, settings.clone(), project.clone(), Arc::clone(&reporter));
    let prepared = prepare_work(request, scope)?;
    let output = WorkOutput { reporter, settings, project, startup: None };
    if args.background.is_requested() {
        return work_detach::run_detached_worker(prepared, output, args.output.audience());
    }
    with_keeper(|keeper| run_worker(prepared, keeper, output))
}

fn work_request(args: &WorkArgs, settings: Settings, project: Project, reporter: Arc<WorkReporter>) -> WorkRequest {
    let flags = args.clone();
    WorkRequest {
        project,
        config: args.config.source(),
        settings,
        settings_for_role: Box::new(move |settings, role| flags.for_role(settings, role)),
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        context: args.context(),
        person: Box::new(TerminalInteraction),
        observer: reporter,
    }
}

/// The output of the introduction and the summary.
struct WorkOutput {
    reporter: Arc<WorkReporter>,
    settings: Settings,
    project: Project,
    /// Where a worker in the background announces itself.
    startup: Option<WorkerStartup>,
}

/// Runs a worker here that has no flags, and reports it for people. `import` creates its tasks first.
pub(in crate::commands) fn run_worker_here(
    settings: Settings,
    project: Project,
    import: impl Future<Output = AppResult<()>>,
    prepare: impl FnOnce(Arc<dyn WorkObserver>) -> AppResult<PreparedWork>,
) -> Result<u8, CommandError> {
    let reporter = Arc::new(WorkReporter::new(&OutputArgs::default(), false));
    let prepared = prepare(Arc::clone(&reporter) as Arc<dyn WorkObserver>)?;
    let output = WorkOutput { reporter, settings, project, startup: None };
    // The store starts a thread, so the import must not come before the keeper.
    with_keeper(async |keeper| {
        import.await?;
        run_worker(prepared, keeper, output).await
    })
}

/// Runs the worker, and prints the introduction and the summary.
async fn run_worker(prepared: PreparedWork, keeper: Keeper, output: WorkOutput) -> Result<u8, CommandError> {
    let WorkOutput { reporter, settings, project, startup } = output;
    let started = prepared.start(keeper).await?;
    if let Some(startup) = startup {
        startup.announce().await?;
    }
    reporter.print_introduction(started.assignment(), &settings);
    if let Some(start) = read_start_point(&project).await {
        reporter.print_start_point(&start);
    }
    let notifications = CommandNotifications::start(&project, &settings);
    let finished = tokio::select! {
        finished = started.run(ControlSource::ProcessSignals) => finished?,
        never = reporter.show_activity() => match never {},
    };
    let summary = &finished.summary;
    reporter.print_summary(summary);
    if reporter.is_shown() {
        reporter.print_waiting_tasks(&finished.load_waiting_tasks().await?);
    }
    if settings.pipeline.land.value == LandingMode::Manual {
        reporter.print_landing_hint(summary);
    }
    if reporter.is_shown() {
        reporter.print_waiting_claims(summary, &project).await?;
    }
    let code = work_exit_code(summary);
    finished.close().await;
    notifications.finish().await;
    Ok(code)
}

fn work_exit_code(summary: &WorkSummary) -> u8 {
    match summary.stop_signal {
        Some(StopSignal::Int) => return exit_code::SIGINT,
        Some(StopSignal::Term | StopSignal::Hangup) => return exit_code::SIGTERM,
        None => {}
    }
    let is_done =
        |end: &TaskEnd| matches!(end, TaskEnd::Finished { status: TaskStatus::Done, .. } | TaskEnd::LeaseLost);
    if summary.is_budget_exhausted {
        exit_code::OVER_BUDGET
    } else if summary.has_too_many_failures {
        exit_code::AGENT_FAILED
    } else if summary.task_ends.values().all(is_done) {
        exit_code::COMPLETED
    } else {
        exit_code::NOT_COMPLETE
    }
}
