//! `ralph task generate`: a run whose agent writes tasks into a file, and whose check is the import of that file. When it
//! has completed, the tasks are stored, with all that waits for approval.
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::criterion::{CheckCommand, Criterion, ExternalCheck};
use ralph_core::outcome::exit_code;
use ralph_core::policy::{Baseline, Policy, Proof};
use ralph_core::task::{Approval, Author, GeneratePrompt};
use serde_json::json;

use super::create::additions;
use super::field_args::text_of;
use super::generate_args::GenerateArgs;
use super::import::{Source, read_in};
use super::made_store;
use crate::cli::agent_args::AgentArgs;
use crate::cli::resume::refuse_tracked;
use crate::cli::run::{drive, preflight, refuse_recursion, with_keeper};
use crate::cli::{out, trust};
use crate::config::{Part, Settings};
use crate::engine::{Audience, Clock, KIND_GENERATE, PromptSource, RunPlan, RunSettings, new_run_id};
use crate::error::Failure;
use crate::lock::Sharing;
use crate::project::Project;
use crate::store::{RunRow, Store, TaskChange, TaskHead};
use crate::task::Form;
use crate::verify::Acceptance;
use crate::view::one_or_many;

/// Longer specs are mistakes, and no agent reads them.
const LONGEST: usize = 1 << 20;

/// Where a task says which run made it.
const MADE_BY: &str = "generated_by";

pub fn run(args: &GenerateArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    let settings = args.settings(&project)?;
    let id = new_run_id();
    let prompt = prompt(args, &project, &id)?;
    if args.dry_run {
        out::data(&prompt.render());
        return Ok(0);
    }
    let plan = plan(args, (&settings, project.clone()), (id.clone(), prompt))?;
    preflight(&plan)?;
    trust::ensure_with(&plan, &settings, Part::Left, &[])?;
    with_keeper(async |keeper| {
        let show = args.output.show(&plan);
        let code = drive(plan, keeper, show).await?;
        finish(&project, &id, (code, args.output.audience())).await
    })
}

fn prompt(args: &GenerateArgs, project: &Project, id: &str) -> Result<GeneratePrompt, Failure> {
    let (spec_text, name) = text_of(&args.file)?;
    let refused = |what: &str| Failure::preflight(format!("the spec {name} {what}"));
    if spec_text.trim().is_empty() {
        return Err(refused("is empty").hint("write down what is to be built"));
    }
    if spec_text.len() > LONGEST {
        return Err(refused("is larger than 1 MB").hint("make several specs of it"));
    }
    let answer = project.answer(id);
    let answer = answer.strip_prefix(&project.root).unwrap_or(&answer).display().to_string();
    Ok(GeneratePrompt { spec_id: args.spec_id()?, spec_text, answer })
}

fn plan(
    args: &GenerateArgs,
    (settings, project): (&Settings, Project),
    (id, prompt): (String, GeneratePrompt),
) -> Result<RunPlan, Failure> {
    let promise = Promise::parse(GeneratePrompt::PROMISE)
        .map_err(|error| Failure::plain(exit_code::INTERNAL, error))?;
    Ok(RunPlan {
        rules: settings.claim_rules(promise),
        judge: None,
        checks: vec![importable(&project, &id, &prompt.spec_id)?],
        // What the agent wrote lies where git does not look.
        acceptance: Acceptance { is_always_fresh: true, ..Acceptance::default() },
        agent: args.agent.choice(settings, &project)?,
        fallback: AgentArgs::fallback(settings, &project)?,
        policy: Policy {
            context: settings.context.value,
            // There is nothing to import yet.
            baseline: Baseline::Skip,
            ..settings.policy(args.max_iterations, Proof::Checks)
        },
        id,
        kind: KIND_GENERATE,
        stage: None,
        prompt: PromptSource::Generate(Box::new(prompt)),
        follows: None,
        session: None,
        grace: settings.limits.grace.value,
        audience: args.output.audience(),
        max_memory: settings.limits.max_memory.value,
        log_limit: settings.limits.log_limit.value,
        sharing: Sharing::Alone,
        configured: Some(settings.fingerprints.clone()),
        project,
    })
}

/// The check: this very program would import what the agent wrote.
fn importable(project: &Project, id: &str, spec: &str) -> Result<Criterion, Failure> {
    let no_text = |path: &Path| {
        Failure::preflight(format!("the path {} is no UTF-8 text", path.display()))
            .hint("tasks cannot be generated from there")
    };
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| no_text(path));
    let own = std::env::current_exe().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let (base, answer) = (project.base(), project.answer(id));
    let answer = text(answer.strip_prefix(base).unwrap_or(&answer))?;
    let words = ["task", "import", "--dry-run", "--spec", spec, &answer].map(str::to_owned);
    let command = CheckCommand::Argv([text(&own)?].into_iter().chain(words).collect());
    // From the root another home might be found.
    let folder = base.strip_prefix(&project.root).ok().filter(|folder| !folder.as_os_str().is_empty());
    let check = ExternalCheck { working_dir: folder.map(text).transpose()?, ..ExternalCheck::of(command) };
    Ok(Criterion { name: Some("tasks".to_owned()), ..check.into() })
}

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
