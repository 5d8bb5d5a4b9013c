//! The loops that are running, and the tasks that workers prepare.
use ralph_core::loop_state::LoopState;
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_engine::control::{DriverStatus, find_driver};
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_store::{LeaseRow, LoopRow, Store};

use crate::background_worker::{BackgroundWorker, WorkerStatus, list_workers};
use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::view::{ActiveWork, LoopLiveness, LoopView, TaskSetup, WorkerProcess, WorkerView};

/// Returns the loops that are running, or were when their ralph died, and the tasks that workers prepare.
async fn load_active_work(store: &Store, project: &Project) -> AppResult<Vec<ActiveWork>> {
    // In this order a loop that starts meanwhile is returned twice rather than not at all.
    let leases = store.list_leases().await?;
    let rows = store.running_loops().await?;
    let preparing: Vec<ActiveWork> = tasks_without_loop(leases, &rows).map(preparing_task).collect();
    let parked = store.interrupted_loops().await?.into_iter().filter_map(parked_loop);
    Ok(rows.into_iter().map(|row| loop_of_row(project, row)).chain(parked).chain(preparing).collect())
}

fn parked_loop(row: LoopRow) -> Option<ActiveWork> {
    let state: LoopState = serde_json::from_str(&row.loop_json).ok()?;
    let liveness = LoopLiveness::Parked(state.parked_until()?);
    Some(ActiveWork::Loop(Box::new(LoopView::new(row, liveness))))
}

/// Returns the tasks that live workers prepare: they have no loop yet.
pub(super) async fn prepared_tasks(store: &Store, loops: &[LoopRow]) -> AppResult<Vec<String>> {
    let leases = store.list_leases().await?;
    Ok(tasks_without_loop(leases, loops).collect())
}

fn tasks_without_loop(leases: Vec<LeaseRow>, loops: &[LoopRow]) -> impl Iterator<Item = String> {
    let tasks: Vec<String> = loops.iter().filter_map(|row| row.run.task.clone()).collect();
    leases.into_iter().filter(move |lease| is_preparing(lease, &tasks)).map(|lease| lease.task_lease.task_id)
}

fn loop_of_row(project: &Project, row: LoopRow) -> ActiveWork {
    let liveness = match find_driver(project, &row) {
        DriverStatus::NotDriven if row.run.kind == SESSION_RUN_KIND => LoopLiveness::Driven,
        DriverStatus::Driven(_) => LoopLiveness::Driven,
        DriverStatus::NotDriven => LoopLiveness::Died,
    };
    ActiveWork::Loop(Box::new(LoopView::new(row, liveness)))
}

/// Returns whether a live worker has leased a task that has no loop yet.
fn is_preparing(lease: &LeaseRow, tasks_with_loop: &[String]) -> bool {
    let owner = RunOwner::parse(&lease.owner);
    !lease.is_expired
        && !tasks_with_loop.contains(&lease.task_lease.task_id)
        && owner.is_some_and(|owner| !owner.process.has_exited_here())
}

/// Returns a background worker that works, or that died.
fn view_worker(worker: &BackgroundWorker) -> Option<WorkerView> {
    let process = match worker.status() {
        WorkerStatus::Working(owner) => Some(WorkerProcess { pid: owner.process.pid, since: owner.since }),
        WorkerStatus::Died => None,
        WorkerStatus::Ended { .. } => return None,
    };
    Some(WorkerView { id: worker.id.clone(), log: worker.log_path(), process })
}

fn preparing_task(task_id: String) -> ActiveWork {
    ActiveWork::SettingUp(TaskSetup { task_id })
}

/// Reads the active work of a project again and again. The store is created with the first run, which may start
/// meanwhile.
pub struct ActiveWorkReader<'a> {
    project: &'a Project,
    store: Option<Store>,
}

impl<'a> ActiveWorkReader<'a> {
    #[must_use]
    pub fn new(project: &'a Project) -> Self {
        Self { project, store: None }
    }

    /// Returns the active work at this moment. The workers come last.
    pub async fn read(&mut self) -> AppResult<Vec<ActiveWork>> {
        if self.store.is_none() {
            self.store = open_existing_store(self.project).await?;
        }
        let mut work = match &self.store {
            Some(store) => load_active_work(store, self.project).await?,
            None => Vec::new(),
        };
        work.extend(list_workers(self.project).iter().filter_map(view_worker).map(ActiveWork::Worker));
        Ok(work)
    }
}
