//! The end of a `ralph task generate` run: stores the tasks that the agent wrote, exactly once. `ralph resume` does the
//! same for a run whose ralph process died before.
use ralph_core::outcome::exit_code;
use ralph_core::task::{Approval, TaskAuthor};
use serde_json::json;

use super::field_args::{TaskText, read_task_text};
use super::open_or_create_store;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::task::TaskFileFormat;
use ralph_app::tasks::{TaskImportSource, plan_additions, read_tasks};
use ralph_app::view::pluralize;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, GENERATE_RUN_KIND, OutputVisibility, PromptSource, RunSpec};
use ralph_store::{RunRow, Store, TaskChange, TaskListItem};

/// The metadata key with the id of the run that generated a task.
const GENERATED_BY_KEY: &str = "generated_by";

/// Stores the tasks of a completed generate run, once. Does nothing for other runs. Returns the exit code of the run.
pub async fn finish_generation(
    project: &Project,
    id: &str,
    code: u8,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let store = open_or_create_store().await?;
    let result = finish_generation_in(&store, project, id, code, audience).await;
    store.close().await;
    result
}

/// Like [`finish_generation`], with a store that is already open.
pub async fn finish_generation_in(
    store: &Store,
    project: &Project,
    id: &str,
    code: u8,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let run = store.find_runs_by_id_part(id).await?.into_iter().next();
    match run.filter(|run| run.kind == GENERATE_RUN_KIND) {
        Some(run) if code == exit_code::COMPLETED => import_generated_tasks(store, project, &run, audience).await?,
        Some(_) => print_answer_location(project, id),
        None => {}
    }
    Ok(code)
}

/// Prints the path of the agent's file if its tasks could not be imported.
fn print_answer_location(project: &Project, id: &str) {
    let answer = project.generated_tasks_file(id);
    if answer.is_file() {
        out::print_note(&format!(
            "no tasks were imported; the agent's file is {}: fix it, review its commands, and import it with \
             `ralph task import`",
            answer.display()
        ));
    }
}

async fn import_generated_tasks(
    store: &Store,
    project: &Project,
    run: &RunRow,
    audience: OutputVisibility,
) -> Result<(), CommandError> {
    if is_already_imported(store, &run.id).await? {
        return Ok(());
    }
    let Some(spec) = generated_spec_id(run)? else { return Ok(()) };
    let answer = project.generated_tasks_file(&run.id);
    let TaskText { text, name } = read_task_text(&answer)?;
    let mut parsed =
        read_tasks(project, &TaskImportSource { text: &text, form: TaskFileFormat::Yaml, name: &name }, Some(&spec))?;
    for task in &mut parsed.tasks {
        task.metadata.insert(GENERATED_BY_KEY.to_owned(), json!(run.id));
    }
    let mut generated = Vec::new();
    let decide = |existing: &[TaskListItem]| {
        let changes = plan_additions(parsed.tasks, existing, TaskAuthor::Agent)?;
        generated = changes.iter().filter_map(GeneratedTask::from_change).collect();
        Ok::<_, CommandError>(changes)
    };
    store.change_tasks(Clock::wall_now(), decide).await?;
    print_generated_tasks(&spec, &generated, audience);
    // The tasks are stored, so a file that cannot be removed is harmless.
    let _ = std::fs::remove_file(answer);
    Ok(())
}

/// Returns whether the tasks of a run have already been stored.
async fn is_already_imported(store: &Store, run: &str) -> Result<bool, CommandError> {
    let is_generated_by_run = |metadata: &str| {
        let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
        metadata[GENERATED_BY_KEY] == run
    };
    Ok(store.list_full_tasks().await?.iter().any(|row| is_generated_by_run(&row.metadata)))
}

/// Returns the spec from which a stored run generates tasks.
fn generated_spec_id(run: &RunRow) -> Result<Option<String>, CommandError> {
    let settings = RunSpec::parse(&run.settings);
    let settings = settings.map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    Ok(match &settings.prompt {
        PromptSource::Generate(prompt) => Some(prompt.spec_id.clone()),
        PromptSource::Text(_) | PromptSource::File(_) | PromptSource::Template(_) | PromptSource::Stage(_) => None,
    })
}

/// A new task in the report.
struct GeneratedTask {
    id: String,
    approval: Approval,
}

impl GeneratedTask {
    fn from_change(change: &TaskChange) -> Option<Self> {
        match change {
            TaskChange::Add { task, approval, .. } => Some(Self { id: task.id.clone(), approval: *approval }),
            TaskChange::Replace { .. } | TaskChange::Approve { .. } | TaskChange::Delete { .. } => None,
        }
    }
}

fn print_generated_tasks(spec: &str, generated: &[GeneratedTask], audience: OutputVisibility) {
    let waiting = generated.iter().filter(|task| task.approval == Approval::Pending).count();
    match audience {
        OutputVisibility::Hidden => {
            let tasks = generated
                .iter()
                .map(|task| json!({ "id": task.id, "status": "todo", "approved": task.approval == Approval::Granted }));
            let tasks: Vec<_> = tasks.collect();
            out::print_line(&json!({ "spec_id": spec, "tasks": tasks }).to_string());
        }
        OutputVisibility::Shown => {
            let created = pluralize(generated.len() as i64, "task");
            out::print_message(&format!("created   {created} of spec {spec}: ralph task list --spec {spec}"));
            if waiting > 0 {
                let pending = pluralize(waiting as i64, "task");
                out::print_message(&format!("approve   checks of {pending}: ralph task approve --spec {spec}"));
            }
        }
    }
}
