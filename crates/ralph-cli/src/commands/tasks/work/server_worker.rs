//! The worker of `ralph serve --work`.
use std::sync::Arc;

use ralph_app::config::Settings;
use ralph_app::error::AppResult;
use ralph_app::work::{
    StopCondition, WorkObserver, WorkRequest, WorkScope, WorkSummary, ensure_work_allowed, prepare_work,
};
use ralph_core::policy::ContextMode;
use ralph_engine::project::Project;
use ralph_server::{ServerWorker, WorkerScreen};
use ralph_util::amounts::DollarAmount;

use super::reporter::WorkReporter;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::error::CommandError;

/// Prepares a worker that takes every ready task until the server stops. Its events are printed as `ralph work` prints them.
pub(in crate::commands) fn prepare_server_worker(
    config: &ConfigArgs,
    slots: Option<u32>,
    project: &Project,
) -> Result<ServerWorker, CommandError> {
    ensure_work_allowed(project)?;
    let mut settings = config.load_settings(Some(project))?;
    settings.pipeline.slots.set_from_flag(slots, "--slots");
    let WorkerScreen { observer, when_ended } = create_worker_screen();
    let scope = WorkScope {
        named_tasks: Vec::new(),
        stop_condition: StopCondition::OnSignal,
        max_cost_micros: settings.limits.max_cost_usd.value.map(DollarAmount::as_micros),
    };
    let prepared = prepare_work(work_request(config, settings, project, observer), scope)?;
    Ok(ServerWorker { prepared, when_ended })
}

/// Prints what a worker of a server does, as `ralph work` prints it.
pub(in crate::commands) fn create_worker_screen() -> WorkerScreen {
    let reporter = Arc::new(WorkReporter::new(&OutputArgs::default(), true));
    let observer = Arc::clone(&reporter) as Arc<dyn WorkObserver>;
    let when_ended = Box::new(move |result: AppResult<WorkSummary>| {
        match &result {
            Ok(WorkSummary { stop_signal: Some(_), .. }) => {}
            Ok(_) | Err(_) => out::print_note("the worker has stopped; the server continues without it"),
        }
        match result {
            Ok(summary) => reporter.print_summary(&summary),
            Err(error) => out::print_command_error(&CommandError::from(error)),
        }
    });
    WorkerScreen { observer, when_ended }
}

fn work_request(
    config: &ConfigArgs,
    settings: Settings,
    project: &Project,
    observer: Arc<dyn WorkObserver>,
) -> WorkRequest {
    WorkRequest {
        project: project.clone(),
        config: config.source(),
        settings,
        settings_for_role: Box::new(Settings::for_role),
        extra_agent_args: Vec::new(),
        visibility: OutputArgs::default().audience(),
        context: ContextMode::Fresh,
        person: Box::new(TerminalInteraction),
        observer,
    }
}
