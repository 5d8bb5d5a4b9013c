//! What must hold for the result of a landing: what the stages of the task had to prove, as far as it can be repeated; where
//! none was run here, what they would have to.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::Values;
use ralph_core::outcome::exit_code;
use ralph_core::receipt::repeatable;
use ralph_core::task::{ProjectChecks, Role, resolve};

use super::config_args::ConfigArgs;
use super::resume::HIDDEN;
use super::task::{approved, templates};
use super::trust;
use super::usual_plan::acceptance;
use crate::error::Failure;
use ralph_app::config::{Part, Settings, Use};
use ralph_engine::engine::RunSettings;
use ralph_engine::project::Project;
use ralph_engine::verify::Acceptance;
use ralph_store::{RunRow, Store, TaskRow};
use ralph_util::redact;

#[derive(Debug, Default)]
pub struct Proof {
    pub criteria: Vec<Criterion>,
    pub acceptance: Acceptance,
}

impl Proof {
    fn add(&mut self, criteria: &[Criterion]) {
        for criterion in repeatable(criteria) {
            if !self.criteria.contains(&criterion) {
                self.criteria.push(criterion);
            }
        }
    }
}

/// What is landed.
pub enum Subject {
    Task(Box<TaskRow>),
    /// A run in a tree of its own.
    Run(Box<RunRow>),
}

pub async fn proof(store: &Store, subject: &Subject, project: &Project) -> Result<Proof, Failure> {
    let runs = match subject {
        Subject::Task(row) => store.runs_of_task(&row.task.id).await?,
        Subject::Run(run) => vec![run.as_ref().clone()],
    };
    let proven = proven(store, runs, project).await?;
    match subject {
        Subject::Task(row) if proven.criteria.is_empty() => owed(row, project),
        Subject::Task(_) | Subject::Run(_) => Ok(proven),
    }
}

/// Returns what the newest completed stage of each role was held to. What was read in from a file is somebody else's.
async fn proven(store: &Store, runs: Vec<RunRow>, project: &Project) -> Result<Proof, Failure> {
    let mut newest: BTreeMap<String, RunRow> = BTreeMap::new();
    for run in runs {
        if run.status == "completed" && store.stored(&run.id).await?.fence > 0 {
            newest.insert(run.role.clone().unwrap_or_default(), run);
        }
    }
    let mut proof = Proof::default();
    for run in newest.values() {
        if redact::is_marked(&run.settings) {
            // What the configuration gives to agents and prompts is known from now on.
            drop(ConfigArgs::default().settings(Some(project)));
        }
        let settings = RunSettings::parse(&run.settings)
            .map_err(|error| Failure::new(exit_code::PREFLIGHT, &error).hint(HIDDEN))?;
        proof.add(settings.criteria());
        proof.acceptance = settings.acceptance().clone();
    }
    Ok(proof)
}

/// Returns what coder and tester would be held to.
fn owed(row: &TaskRow, project: &Project) -> Result<Proof, Failure> {
    let mut settings: Settings = ConfigArgs::default().settings(Some(project))?;
    row.task.completion.iter().for_each(|spec| settings.take_completion(spec));
    let used = RefCell::new(Vec::new());
    let from_template = |name: &str, with: &BTreeMap<String, Values>| {
        used.borrow_mut().push(name.to_owned());
        templates::filled(&settings.templates, name, with)
    };
    let mut proof = Proof { acceptance: acceptance(&settings)?, ..Proof::default() };
    let mut checks = Part::Left;
    for role in [Role::Coder, Role::Tester] {
        let rules = settings.role_rules(&role);
        let resolved = resolve(&row.task, &role, &rules, &from_template)
            .map_err(|problem| Failure::preflight(&problem.what).hint(problem.hint))?;
        if resolved.project_checks == ProjectChecks::Added {
            checks = Part::Used;
        }
        proof.add(&resolved.criteria);
    }
    if proof.criteria.is_empty() {
        return Ok(proof);
    }
    approved(row)?;
    let used = used.borrow();
    let used = Use { agents: Vec::new(), permission: Part::Left, checks, criteria: &[], templates: &used };
    trust::ensure_use(project, &settings, &used)?;
    Ok(proof)
}
