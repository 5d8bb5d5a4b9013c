//! What must hold for the result of a landing: what the stages of the task had to prove, as far as it can be repeated; where
//! none was run here, what they would have to.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::outcome::exit_code;
use ralph_core::receipt::repeatable_criteria;
use ralph_core::task::{ProjectChecks, Role, resolve_stage};

use super::config_args::ConfigArgs;
use super::resume::HIDDEN_SECRET_HINT;
use super::task::ensure_task_approved;
use super::trust;
use crate::error::CommandError;
use ralph_app::config::{Settings, SettingsPart, SettingsUse};
use ralph_app::plan::build_acceptance;
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_engine::verify::AcceptancePolicy;
use ralph_store::{RunRow, Store, TaskRow};
use ralph_util::redact;

#[derive(Debug, Default)]
pub struct LandingCriteria {
    pub criteria: Vec<Criterion>,
    pub acceptance: AcceptancePolicy,
}

impl LandingCriteria {
    fn add_criteria(&mut self, criteria: &[Criterion]) {
        for criterion in repeatable_criteria(criteria) {
            if !self.criteria.contains(&criterion) {
                self.criteria.push(criterion);
            }
        }
    }
}

/// What is landed.
pub enum LandingSubject {
    Task(Box<TaskRow>),
    /// A run in a tree of its own.
    Run(Box<RunRow>),
}

pub async fn collect_landing_criteria(
    store: &Store,
    subject: &LandingSubject,
    project: &Project,
) -> Result<LandingCriteria, CommandError> {
    let runs = match subject {
        LandingSubject::Task(row) => store.runs_of_task(&row.task.id).await?,
        LandingSubject::Run(run) => vec![run.as_ref().clone()],
    };
    let proven = collect_proven_criteria(store, runs, project).await?;
    match subject {
        LandingSubject::Task(row) if proven.criteria.is_empty() => resolve_task_criteria(row, project),
        LandingSubject::Task(_) | LandingSubject::Run(_) => Ok(proven),
    }
}

/// Returns what the newest completed stage of each role was held to. What was read in from a file is somebody else's.
async fn collect_proven_criteria(
    store: &Store,
    runs: Vec<RunRow>,
    project: &Project,
) -> Result<LandingCriteria, CommandError> {
    let mut newest: BTreeMap<String, RunRow> = BTreeMap::new();
    for run in runs {
        if run.status == "completed" && store.load_run(&run.id).await?.fence > 0 {
            newest.insert(run.role.clone().unwrap_or_default(), run);
        }
    }
    let mut proof = LandingCriteria::default();
    for run in newest.values() {
        if redact::has_redaction_mark(&run.settings) {
            // What the configuration gives to agents and prompts is known from now on.
            drop(ConfigArgs::default().load_settings(Some(project)));
        }
        let settings = RunSpec::parse(&run.settings).map_err(|error| {
            CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error).with_hint(HIDDEN_SECRET_HINT)
        })?;
        proof.add_criteria(settings.criteria());
        proof.acceptance = settings.acceptance().clone();
    }
    Ok(proof)
}

/// Returns what coder and tester would be held to.
fn resolve_task_criteria(row: &TaskRow, project: &Project) -> Result<LandingCriteria, CommandError> {
    let mut settings: Settings = ConfigArgs::default().load_settings(Some(project))?;
    row.task.completion.iter().for_each(|spec| settings.apply_completion(spec));
    let used = RefCell::new(Vec::new());
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| {
        used.borrow_mut().push(name.to_owned());
        ralph_app::plan::fill_template(&settings.templates, name, with)
    };
    let mut proof = LandingCriteria { acceptance: build_acceptance(&settings)?, ..LandingCriteria::default() };
    let mut checks = SettingsPart::Unused;
    for role in [Role::Coder, Role::Tester] {
        let rules = settings.role_rules(&role);
        let resolved = resolve_stage(&row.task, &role, &rules, &from_template)
            .map_err(|problem| CommandError::preflight_error(&problem.message).with_hint(problem.hint))?;
        if resolved.project_checks == ProjectChecks::Included {
            checks = SettingsPart::Used;
        }
        proof.add_criteria(&resolved.criteria);
    }
    if proof.criteria.is_empty() {
        return Ok(proof);
    }
    ensure_task_approved(row)?;
    let used = used.borrow();
    let used =
        SettingsUse { agents: Vec::new(), permission: SettingsPart::Unused, checks, criteria: &[], templates: &used };
    trust::ensure_use_approved(project, &settings, &used)?;
    Ok(proof)
}
