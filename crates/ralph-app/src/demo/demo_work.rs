//! The worker of `ralph demo --work`, and its result.
use std::sync::Arc;

use ralph_core::outcome::Outcome;
use ralph_core::policy::ContextMode;
use ralph_core::task::{TaskAuthor, TaskStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::OutputVisibility;

use super::demo_run::DEMO_AGENT;
use super::work_spec::{PROJECT_FILES, TASK_FILE, TASK_FILE_NAME};
use super::{DEMO_WORK_TASKS, DemoRepository};
use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::open_existing_store;
use crate::task_files::TaskFileFormat;
use crate::tasks::{ImportMode, TaskImportRequest, TaskImportSource, import_tasks};
use crate::view::RunView;
use crate::work::{PreparedWork, StopCondition, WorkObserver, WorkRequest, WorkScope, prepare_work};

/// The steps of a task that the worker of the demo has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoTaskResult {
    pub task: String,
    pub title: String,
    pub status: TaskStatus,
    pub proof: Option<String>,
    /// How many claims were rejected because a check failed.
    pub rejected_claims: usize,
    /// How many times a judging stage sent the work back.
    pub sent_back: usize,
}

/// Creates the repository of the demo, with its specification and tests.
pub fn create_demo_work_repository() -> AppResult<DemoRepository> {
    DemoRepository::create_with_files(&PROJECT_FILES, "the specification and its tests").map_err(|error| {
        AppError::from_error(ErrorKind::Preflight, &error)
            .with_advice("the demo needs git and free space in the temporary directory")
    })
}

/// Imports the tasks of the demo.
pub async fn import_demo_tasks(repository: &DemoRepository, person: &dyn Interaction) -> AppResult<()> {
    let request = TaskImportRequest {
        source: TaskImportSource { text: TASK_FILE, form: TaskFileFormat::Yaml, name: TASK_FILE_NAME },
        spec: None,
        mode: ImportMode::Store,
        author: TaskAuthor::Person,
    };
    import_tasks(&Project::find_from(&repository.root)?, &request, person).await.map(drop)
}

/// Prepares the worker of the demo with the built-in settings, whatever this user has configured.
pub fn prepare_demo_work(
    repository: &DemoRepository,
    extra_agent_args: Vec<String>,
    person: Box<dyn Interaction + Send>,
    observer: Arc<dyn WorkObserver>,
) -> AppResult<PreparedWork> {
    let request = WorkRequest {
        project: Project::find_from(&repository.root)?,
        config: ConfigSource { file: None },
        settings: demo_settings(),
        settings_for_role: Box::new(Settings::for_role),
        extra_agent_args,
        visibility: OutputVisibility::Shown,
        context: ContextMode::Fresh,
        person,
        observer,
    };
    let scope = WorkScope { named_tasks: Vec::new(), stop_condition: StopCondition::WhenIdle, max_cost_micros: None };
    prepare_work(request, scope)
}

/// Returns the built-in settings with the scripted agent.
#[must_use]
pub fn demo_settings() -> Settings {
    let mut settings = Settings::default();
    settings.agent.value = DEMO_AGENT.to_owned();
    settings
}

/// Loads what the worker of the demo has shown.
pub async fn load_demo_work_result(repository: &DemoRepository) -> AppResult<Vec<DemoTaskResult>> {
    let Some(store) = open_existing_store(&Project::find_from(&repository.root)?).await? else { return Ok(Vec::new()) };
    let mut results = Vec::new();
    for task in DEMO_WORK_TASKS {
        let Some(row) = store.get_task(task).await? else { continue };
        let (mut rejected_claims, mut sent_back) = (0, 0);
        for run in store.runs_of_task(task).await? {
            sent_back += usize::from(run.role.as_deref() != Some("coder") && run.status == Outcome::Blocked.as_str());
            rejected_claims += RunView::load(&store, run).await?.rejected_claim_count();
        }
        results.push(DemoTaskResult {
            task: row.task.id,
            title: row.task.title,
            status: row.task.status,
            proof: row.proof,
            rejected_claims,
            sent_back,
        });
    }
    store.close().await;
    Ok(results)
}
