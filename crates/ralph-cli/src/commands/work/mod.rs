//! `ralph work`.
mod args;
mod reporter;

use std::sync::Arc;

use ralph_core::event::StopSignal;
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;

pub use args::WorkArgs;
use reporter::WorkReporter;

use super::interaction::TerminalInteraction;
use super::run::{abandon_store, with_keeper};
use crate::error::CommandError;
use ralph_app::config::{LandingMode, Settings};
use ralph_app::plan;
use ralph_app::run::refuse_recursion;
use ralph_app::run::refuse_tracked_state;
use ralph_app::task::{open_task_store, unknown_task_error};
use ralph_app::work::{self, StopCondition, TaskEnd, WorkAssignment, WorkRequest, WorkServices, WorkSummary};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{EngineError, SignalStream};
use ralph_process::Keeper;
use ralph_store::Store;
use ralph_util::amounts::DollarAmount;
use ralph_util::redact;

pub fn run(args: &WorkArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    let mut settings = args.config.load_settings(Some(&project))?;
    args.apply(&mut settings);
    plan::ensure_claims_verified(&settings)?;
    let assignment = build_assignment(args, &settings)?;
    let reporter = Arc::new(WorkReporter::new(&args.output));
    let request = work_request(args, settings.clone(), project.clone(), Arc::clone(&reporter));
    let services = WorkServices::new(request)?;
    services.ensure_trust(&assignment)?;
    let work = WorkCommand { project, settings, reporter };
    with_keeper(|keeper| work.run_worker(services, assignment, keeper))
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

fn build_assignment(args: &WorkArgs, settings: &Settings) -> Result<WorkAssignment, CommandError> {
    let pipeline = settings.pipeline().map_err(|reason| {
        CommandError::preflight_error(reason).with_hint("list roles such as coder, reviewer, tester, qa, each once")
    })?;
    Ok(WorkAssignment {
        pipeline,
        named_tasks: args.tasks.clone(),
        slots: settings.pipeline.slots.value as usize,
        stop_condition: if args.until_idle { StopCondition::WhenIdle } else { StopCondition::OnSignal },
        lease_time: settings.pipeline.lease.value,
        max_cost_micros: args.limits.max_cost().map(DollarAmount::as_micros),
    })
}

/// Runs the worker, and prints the introduction and the summary.
struct WorkCommand {
    project: Project,
    settings: Settings,
    reporter: Arc<WorkReporter>,
}

impl WorkCommand {
    async fn run_worker(
        self,
        services: WorkServices,
        assignment: WorkAssignment,
        keeper: Keeper,
    ) -> Result<u8, CommandError> {
        redact::prepare_secrets();
        let store = open_task_store(&self.project).await?;
        refuse_unknown_tasks(&store, &assignment.named_tasks).await?;
        let store = Arc::new(store);
        self.reporter.print_introduction(&assignment, &self.settings);
        let signals = SignalStream::listen().map_err(|source| EngineError::Signals { source })?;
        match work::run_worker(services, Arc::clone(&store), keeper, assignment, signals).await {
            Ok(summary) => {
                self.print_summary(&store, &summary).await?;
                if let Some(store) = Arc::into_inner(store) {
                    store.close().await;
                }
                Ok(work_exit_code(&summary))
            }
            Err(error) => {
                abandon_store(store);
                Err(error.into())
            }
        }
    }

    async fn print_summary(&self, store: &Store, summary: &WorkSummary) -> Result<(), CommandError> {
        self.reporter.print_summary(store, summary).await?;
        if self.settings.pipeline.land.value == LandingMode::Manual {
            self.reporter.print_landing_hint(summary);
        }
        Ok(())
    }
}

/// Refuses unknown tasks before anything starts.
async fn refuse_unknown_tasks(store: &Store, named: &[String]) -> Result<(), CommandError> {
    if named.is_empty() {
        return Ok(());
    }
    let tasks = store.list_tasks().await?;
    match named.iter().find(|name| tasks.iter().all(|task| task.id != **name)) {
        Some(name) => Err(unknown_task_error(store, name).await?.into()),
        None => Ok(()),
    }
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
