//! The end of a run that makes tasks: what its agent wrote is stored, once, with all that waits for approval. Whoever
//! resumes a run whose ralph died before does the same.
use ralph_core::outcome::exit_code;
use ralph_core::task::{Approval, Author};
use serde_json::json;

use super::create::additions;
use super::field_args::text_of;
use super::import::{Source, read_in};
use super::made_store;
use crate::cli::out;
use crate::error::Failure;
use ralph_app::task::Form;
use ralph_app::view::one_or_many;
use ralph_engine::engine::{Audience, Clock, KIND_GENERATE, PromptSource, RunSettings};
use ralph_engine::project::Project;
use ralph_store::{RunRow, Store, TaskChange, TaskHead};

/// Where a task says which run made it.
const MADE_BY: &str = "generated_by";

/// Stores the tasks of a run that has ended, once, if it was to make some and has completed.
pub async fn finish(project: &Project, id: &str, ended: (u8, Audience)) -> Result<u8, Failure> {
    let store = made_store().await?;
    let done = finish_in(&store, project, id, ended).await;
    store.close().await;
    done
}

/// The same with a store that is open already.
pub async fn finish_in(
    store: &Store,
    project: &Project,
    id: &str,
    (code, audience): (u8, Audience),
) -> Result<u8, Failure> {
    let run = store.runs_like(id).await?.into_iter().next();
    match run.filter(|run| run.kind == KIND_GENERATE) {
        Some(run) if code == exit_code::COMPLETED => take_in(store, project, (&run, audience)).await?,
        Some(_) => say_where(project, id),
        None => {}
    }
    Ok(code)
}

/// Says where the tasks are that could not be imported.
fn say_where(project: &Project, id: &str) {
    let answer = project.answer(id);
    if answer.is_file() {
        out::note(&format!(
            "nothing was imported; what the agent wrote is in {}: mend it, look at its commands, and read it in with \
             `ralph task import`",
            answer.display()
        ));
    }
}

async fn take_in(
    store: &Store,
    project: &Project,
    (run, audience): (&RunRow, Audience),
) -> Result<(), Failure> {
    if is_made(store, &run.id).await? {
        return Ok(());
    }
    let Some(spec) = spec_of(run)? else { return Ok(()) };
    let answer = project.answer(&run.id);
    let (text, name) = text_of(&answer)?;
    let mut given = read_in(&Source { text: &text, form: Form::Yaml, name: &name }, Some(&spec))?;
    for read in &mut given.tasks {
        read.metadata.insert(MADE_BY.to_owned(), json!(run.id));
    }
    let mut told = Vec::new();
    let decide = |there: &[TaskHead]| {
        let changes = additions(given.tasks, there, Author::Agent)?;
        told = changes.iter().filter_map(Told::of).collect();
        Ok::<_, Failure>(changes)
    };
    store.change_tasks(Clock::wall(), decide).await?;
    say(&spec, &told, audience);
    // It is stored now; a file that stays harms nobody.
    let _ = std::fs::remove_file(answer);
    Ok(())
}

/// Tells whether the tasks of a run are there.
async fn is_made(store: &Store, run: &str) -> Result<bool, Failure> {
    let made_by = |metadata: &str| {
        let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
        metadata[MADE_BY] == run
    };
    Ok(store.whole_tasks().await?.iter().any(|row| made_by(&row.metadata)))
}

/// Returns the spec that a stored run makes tasks of.
fn spec_of(run: &RunRow) -> Result<Option<String>, Failure> {
    let settings = RunSettings::parse(&run.settings);
    let settings = settings.map_err(|error| Failure::new(exit_code::PREFLIGHT, &error))?;
    Ok(match settings.prompt() {
        PromptSource::Generate(prompt) => Some(prompt.spec_id.clone()),
        PromptSource::Text(_)
        | PromptSource::File(_)
        | PromptSource::Template(_)
        | PromptSource::Stage(_) => None,
    })
}

/// What is said of a new task.
struct Told {
    id: String,
    approval: Approval,
}

impl Told {
    fn of(change: &TaskChange) -> Option<Self> {
        match change {
            TaskChange::Add { task, approval, .. } => Some(Self { id: task.id.clone(), approval: *approval }),
            TaskChange::Replace { .. } | TaskChange::Approve { .. } | TaskChange::Delete { .. } => None,
        }
    }
}

fn say(spec: &str, told: &[Told], audience: Audience) {
    let waiting = told.iter().filter(|told| told.approval == Approval::Awaited).count();
    match audience {
        Audience::Nobody => {
            let tasks = told.iter().map(|told| {
                json!({ "id": told.id, "status": "todo", "approved": told.approval == Approval::Given })
            });
            let tasks: Vec<_> = tasks.collect();
            out::line(&json!({ "spec_id": spec, "tasks": tasks }).to_string());
        }
        Audience::People => {
            let made = one_or_many(told.len() as i64, "task");
            out::say(&format!("made      {made} of spec {spec}: ralph task list --spec {spec}"));
            if waiting > 0 {
                let what = one_or_many(waiting as i64, "task");
                out::say(&format!("approve   checks of {what}: ralph task approve --spec {spec}"));
            }
        }
    }
}
