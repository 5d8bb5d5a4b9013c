//! The criteria of a landing: those that the stages of the task had to meet, as far as they can be repeated. If no stage ran here,
//! those that they would have to meet.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::receipt::repeatable_criteria;
use ralph_core::task::{ProjectChecks, Role, resolve_stage};
use ralph_engine::run_driver::RunSpec;
use ralph_engine::verify::AcceptancePolicy;
use ralph_store::{RunRow, TaskRow};
use ralph_util::redact;

use super::LandingContext;
use crate::advice::Advice;
use crate::config::{ConfigSource, Settings, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::plan::{build_acceptance, ensure_task_approved, fill_template};
use crate::trust::ensure_use_approved;

#[derive(Debug, Default)]
pub(super) struct LandingCriteria {
    pub(super) criteria: Vec<Criterion>,
    pub(super) acceptance: AcceptancePolicy,
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

/// The task or run to land.
pub(super) enum LandingSubject {
    Task(Box<TaskRow>),
    /// A run with a work tree.
    Run(Box<RunRow>),
}

pub(super) async fn collect_landing_criteria(
    context: &LandingContext<'_>,
    subject: &LandingSubject,
) -> AppResult<LandingCriteria> {
    let runs = match subject {
        LandingSubject::Task(row) => context.store.runs_of_task(&row.task.id).await?,
        LandingSubject::Run(run) => vec![run.as_ref().clone()],
    };
    let proven = collect_completed_criteria(context, runs).await?;
    match subject {
        LandingSubject::Task(row) if proven.criteria.is_empty() => resolve_task_criteria(row, context),
        LandingSubject::Task(_) | LandingSubject::Run(_) => Ok(proven),
    }
}

/// Returns the criteria of the newest completed stage of each role. Imported runs do not count: a stranger may have written them.
async fn collect_completed_criteria(context: &LandingContext<'_>, runs: Vec<RunRow>) -> AppResult<LandingCriteria> {
    let mut newest: BTreeMap<String, RunRow> = BTreeMap::new();
    for run in runs {
        if run.status == "completed" && context.store.load_run(&run.id).await?.fence > 0 {
            newest.insert(run.role.clone().unwrap_or_default(), run);
        }
    }
    let mut proof = LandingCriteria::default();
    for run in newest.values() {
        if redact::has_redaction_mark(&run.settings) {
            // Registers the secrets of the configuration.
            drop(ConfigSource::default().load_settings(Some(context.project)));
        }
        let spec = RunSpec::parse(&run.settings).map_err(|error| {
            AppError::from_error(ErrorKind::Preflight, &error).with_advice(Advice::KeepSecretsInVariables)
        })?;
        proof.add_criteria(&spec.criteria);
        proof.acceptance = spec.acceptance;
    }
    Ok(proof)
}

/// Returns the criteria that coder and tester would have to meet.
fn resolve_task_criteria(row: &TaskRow, context: &LandingContext<'_>) -> AppResult<LandingCriteria> {
    let mut settings: Settings = ConfigSource::default().load_settings(Some(context.project))?;
    row.task.completion.iter().for_each(|spec| settings.apply_completion(spec));
    let used_templates = RefCell::new(Vec::new());
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| {
        used_templates.borrow_mut().push(name.to_owned());
        fill_template(&settings.templates, name, with)
    };
    let mut proof = LandingCriteria { acceptance: build_acceptance(&settings)?, ..LandingCriteria::default() };
    let mut checks = SettingsPart::Unused;
    for role in [Role::Coder, Role::Tester] {
        let rules = settings.role_rules(&role);
        let resolved = resolve_stage(&row.task, &role, &rules, &from_template)
            .map_err(|problem| AppError::preflight(&problem.message).with_advice(problem.hint))?;
        if resolved.project_checks == ProjectChecks::Included {
            checks = SettingsPart::Used;
        }
        proof.add_criteria(&resolved.criteria);
    }
    if proof.criteria.is_empty() {
        return Ok(proof);
    }
    ensure_task_approved(row)?;
    let templates = used_templates.borrow();
    let used = SettingsUse {
        agents: Vec::new(),
        permission: SettingsPart::Unused,
        checks,
        criteria: &[],
        templates: &templates,
    };
    ensure_use_approved(context.project, &settings, &used, context.person)?;
    Ok(proof)
}
