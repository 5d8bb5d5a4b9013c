//! The end of a run that makes tasks: what its agent wrote is stored, once, with all that waits for approval. Whoever
//! resumes a run whose ralph died before does the same.
use ralph_core::outcome::exit_code;
use ralph_core::task::{Approval, TaskAuthor};
use serde_json::json;

use super::field_args::read_task_text;
use super::open_or_create_store;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::task::TaskFileFormat;
use ralph_app::tasks::{TaskImportSource, plan_additions, read_tasks};
use ralph_app::view::pluralize;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, GENERATE_RUN_KIND, OutputVisibility, PromptSource, RunSpec};
use ralph_store::{RunRow, Store, TaskChange, TaskListItem};

/// Where a task says which run made it.
const GENERATED_BY_KEY: &str = "generated_by";

/// Stores the tasks of a run that has ended, once, if it was to make some and has completed.
pub async fn finish_generation(project: &Project, id: &str, ended: (u8, OutputVisibility)) -> Result<u8, CommandError> {
    let store = open_or_create_store().await?;
    let done = finish_generation_in(&store, project, id, ended).await;
    store.close().await;
    done
}

/// The same with a store that is open already.
pub async fn finish_generation_in(
    store: &Store,
    project: &Project,
    id: &str,
    (code, audience): (u8, OutputVisibility),
) -> Result<u8, CommandError> {
    let run = store.find_runs_by_id_part(id).await?.into_iter().next();
    match run.filter(|run| run.kind == GENERATE_RUN_KIND) {
        Some(run) if code == exit_code::COMPLETED => import_generated_tasks(store, project, (&run, audience)).await?,
        Some(_) => print_answer_location(project, id),
        None => {}
    }
    Ok(code)
}

/// Says where the tasks are that could not be imported.
fn print_answer_location(project: &Project, id: &str) {
    let answer = project.generated_tasks_file(id);
    if answer.is_file() {
        out::print_note(&format!(
            "nothing was imported; what the agent wrote is in {}: mend it, look at its commands, and read it in with \
             `ralph task import`",
            answer.display()
        ));
    }
}

async fn import_generated_tasks(
    store: &Store,
    project: &Project,
    (run, audience): (&RunRow, OutputVisibility),
) -> Result<(), CommandError> {
    if is_already_imported(store, &run.id).await? {
        return Ok(());
    }
    let Some(spec) = generated_spec_id(run)? else { return Ok(()) };
    let answer = project.generated_tasks_file(&run.id);
    let (text, name) = read_task_text(&answer)?;
    let mut given =
        read_tasks(project, &TaskImportSource { text: &text, form: TaskFileFormat::Yaml, name: &name }, Some(&spec))?;
    for read in &mut given.tasks {
        read.metadata.insert(GENERATED_BY_KEY.to_owned(), json!(run.id));
    }
    let mut told = Vec::new();
    let decide = |there: &[TaskListItem]| {
        let changes = plan_additions(given.tasks, there, TaskAuthor::Agent)?;
        told = changes.iter().filter_map(GeneratedTask::from_change).collect();
        Ok::<_, CommandError>(changes)
    };
    store.change_tasks(Clock::wall_now(), decide).await?;
    print_generated_tasks(&spec, &told, audience);
    // It is stored now; a file that stays harms nobody.
    let _ = std::fs::remove_file(answer);
    Ok(())
}

/// Tells whether the tasks of a run are there.
async fn is_already_imported(store: &Store, run: &str) -> Result<bool, CommandError> {
    let made_by = |metadata: &str| {
        let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
        metadata[GENERATED_BY_KEY] == run
    };
    Ok(store.list_full_tasks().await?.iter().any(|row| made_by(&row.metadata)))
}

/// Returns the spec that a stored run makes tasks of.
fn generated_spec_id(run: &RunRow) -> Result<Option<String>, CommandError> {
    let settings = RunSpec::parse(&run.settings);
    let settings = settings.map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    Ok(match settings.prompt_source() {
        PromptSource::Generate(prompt) => Some(prompt.spec_id.clone()),
        PromptSource::Text(_) | PromptSource::File(_) | PromptSource::Template(_) | PromptSource::Stage(_) => None,
    })
}

/// What is said of a new task.
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
    let waiting = generated.iter().filter(|told| told.approval == Approval::Pending).count();
    match audience {
        OutputVisibility::Hidden => {
            let tasks = generated
                .iter()
                .map(|told| json!({ "id": told.id, "status": "todo", "approved": told.approval == Approval::Granted }));
            let tasks: Vec<_> = tasks.collect();
            out::print_line(&json!({ "spec_id": spec, "tasks": tasks }).to_string());
        }
        OutputVisibility::Shown => {
            let made = pluralize(generated.len() as i64, "task");
            out::print_message(&format!("made      {made} of spec {spec}: ralph task list --spec {spec}"));
            if waiting > 0 {
                let what = pluralize(waiting as i64, "task");
                out::print_message(&format!("approve   checks of {what}: ralph task approve --spec {spec}"));
            }
        }
    }
}
