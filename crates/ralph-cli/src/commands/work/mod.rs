//! `ralph work`.
mod args;
mod reporter;
mod services;
mod task_worktrees;

use std::rc::Rc;
use std::sync::Arc;

use ralph_core::event::StopSignal;
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;

pub use args::WorkArgs;
use services::WorkCommandServices;

use super::resume::refuse_tracked_state;
use super::run::{abandon_store, with_keeper};
use super::task;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::plan;
use ralph_app::run::refuse_recursion;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{EngineError, SignalStream};
use ralph_engine::scheduler::{self, StopCondition, TaskEnd, WorkAssignment, WorkSummary};
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
    let services = WorkCommandServices::new(args.clone(), settings, project)?;
    services.ensure_trust(&assignment)?;
    with_keeper(|keeper| run_worker(services, assignment, keeper))
}

fn build_assignment(args: &WorkArgs, settings: &Settings) -> Result<WorkAssignment, CommandError> {
    let pipeline = settings.pipeline().map_err(|why| {
        CommandError::preflight_error(why).with_hint("name roles such as coder, reviewer, tester, qa, each once")
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

async fn run_worker(
    services: WorkCommandServices,
    assignment: WorkAssignment,
    keeper: Keeper,
) -> Result<u8, CommandError> {
    redact::prepare_secrets();
    let store = task::open_task_store().await?;
    let known = refuse_unknown_tasks(&store, &assignment.named_tasks).await;
    let store = Arc::new(store);
    known?;
    services.print_introduction(&assignment);
    let signals = SignalStream::listen().map_err(|source| EngineError::Signals { source })?;
    let services = Rc::new(services);
    match scheduler::run_worker(Rc::clone(&services), (Arc::clone(&store), keeper), assignment, signals).await {
        Ok(finish) => {
            services.print_summary(&store, &finish).await?;
            drop(services);
            if let Some(store) = Arc::into_inner(store) {
                store.close().await;
            }
            Ok(work_exit_code(&finish))
        }
        Err(failure) => {
            abandon_store(store);
            Err(failure)
        }
    }
}

/// Refuses tasks that are not there before anything is started.
async fn refuse_unknown_tasks(store: &Store, named: &[String]) -> Result<(), CommandError> {
    if named.is_empty() {
        return Ok(());
    }
    let heads = store.list_tasks().await?;
    let ids: Vec<&str> = heads.iter().map(|head| head.id.as_str()).collect();
    match named.iter().find(|name| !ids.contains(&name.as_str())) {
        Some(name) => Err(task::unknown_task_error(name, &ids)),
        None => Ok(()),
    }
}

fn work_exit_code(finish: &WorkSummary) -> u8 {
    match finish.stop_signal {
        Some(StopSignal::Int) => return exit_code::SIGINT,
        Some(StopSignal::Term | StopSignal::Hangup) => return exit_code::SIGTERM,
        None => {}
    }
    let is_done =
        |end: &TaskEnd| matches!(end, TaskEnd::Finished { status: TaskStatus::Done, .. } | TaskEnd::LeaseLost);
    if finish.is_budget_exhausted {
        exit_code::OVER_BUDGET
    } else if finish.has_too_many_failures {
        exit_code::AGENT_FAILED
    } else if finish.task_ends.values().all(is_done) {
        exit_code::COMPLETED
    } else {
        exit_code::NOT_COMPLETE
    }
}
