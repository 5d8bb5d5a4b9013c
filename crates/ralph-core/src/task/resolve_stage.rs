//! What a task means for one role: its promise, its criteria, its iterations. What the task says comes before what the
//! configuration says, and that before what is usual for the role.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::validate_task::is_acceptance_placeholder;
use super::{CheckForSpec, MethodName, Role, RoleSpec, StageSpec, Task, TaskProblem, TimeoutSpec, VerificationConfig};
use crate::claim::Promise;
use crate::criterion::template::ParameterValues;
use crate::criterion::{
    CheckCommand, CheckStage, Criterion, ExternalCheck, PluginCheck, SemanticCheck, StagedCheck, VerificationMethod,
};

/// What the configuration says about a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRules {
    /// A stage that is no loop is a single pass, and still checked.
    pub is_loop: bool,
    pub max_iterations: Option<u32>,
    pub default_max_iterations: u32,
    pub promise: Option<String>,
    /// For roles that have no method of their own.
    pub default_verification: MethodName,
    /// Else the claim alone decides.
    pub verify_promises: bool,
    /// The checks of the project, for stages of which the task does not say how they are verified.
    pub checks: Vec<Criterion>,
}

#[cfg(test)]
impl RoleRules {
    /// What holds where nothing is configured.
    pub(super) fn default_rules() -> Self {
        Self {
            is_loop: true,
            max_iterations: None,
            default_max_iterations: 10,
            promise: None,
            default_verification: MethodName::StringMatch,
            verify_promises: true,
            checks: Vec::new(),
        }
    }
}

/// Makes a criterion of a template and its values. The field of a problem is `template`, or `with.NAME`.
pub type TemplateResolver<'a> = dyn Fn(&str, &BTreeMap<String, ParameterValues>) -> Result<Criterion, TaskProblem> + 'a;

/// What a stage is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedStage {
    pub promise: Promise,
    /// When the stage is done, for people and agents.
    pub description: String,
    /// Empty: the claim alone decides.
    pub criteria: Vec<Criterion>,
    pub project_checks: ProjectChecks,
    pub max_iterations: u32,
    /// What people should know before it starts.
    pub warnings: Vec<String>,
}

/// Whether the checks of the project are among the criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectChecks {
    Included,
    Omitted,
}

/// Settles what a role must bring for a task.
pub fn resolve_stage(
    task: &Task,
    role: &Role,
    rules: &RoleRules,
    template_resolver: &TemplateResolver<'_>,
) -> Result<ResolvedStage, TaskProblem> {
    let block = task.completion.as_ref().and_then(|spec| spec.role_spec(role)).cloned().unwrap_or_default();
    let written = block.promise.as_ref().or(rules.promise.as_ref()).map_or(role.default_promise(), String::as_str);
    let promise = Promise::parse(written)
        .map_err(|error| TaskProblem::new(format!("completion.{role}.promise"), error.to_string(), "give a word"))?;
    let usual = || format!("Complete {role} stage for: {}", task.title);
    let settled = resolve_criteria((task, role), rules, template_resolver)?;
    Ok(ResolvedStage {
        promise,
        description: block.description.clone().unwrap_or_else(usual),
        criteria: settled.criteria,
        project_checks: settled.project_checks,
        max_iterations: resolve_iterations(&block, role, rules),
        warnings: settled.warnings,
    })
}

/// The task's role comes before `ralph.ROLE`, and that before the default of all.
fn resolve_iterations(block: &RoleSpec, role: &Role, rules: &RoleRules) -> u32 {
    if !rules.is_loop {
        return 1;
    }
    let said = block.max_iterations.or(rules.max_iterations).or_else(|| role.default_iterations());
    said.unwrap_or(rules.default_max_iterations).max(1)
}

struct StageCriteria {
    criteria: Vec<Criterion>,
    project_checks: ProjectChecks,
    warnings: Vec<String>,
}

impl StageCriteria {
    fn without_project_checks(criteria: Vec<Criterion>) -> Self {
        Self { criteria, project_checks: ProjectChecks::Omitted, warnings: Vec::new() }
    }

    /// Where the task does not say how a role is verified, the checks of the project come first: they cost no tokens.
    fn with_project_checks(role: &Role, rules: &RoleRules, last: Criterion) -> Self {
        if !role.vouches_for_work() || rules.checks.is_empty() {
            return Self::without_project_checks(vec![last]);
        }
        let criteria = rules.checks.iter().cloned().chain([last]).collect();
        Self { project_checks: ProjectChecks::Included, ..Self::without_project_checks(criteria) }
    }

    fn with_warning(mut self, warning: String) -> Self {
        self.warnings.push(warning);
        self
    }
}

fn resolve_criteria(
    (task, role): (&Task, &Role),
    rules: &RoleRules,
    template_resolver: &TemplateResolver<'_>,
) -> Result<StageCriteria, TaskProblem> {
    let Some(spec) = &task.completion else { return Ok(criteria_without_spec((task, role), rules)) };
    if !rules.verify_promises {
        let says = "verify_promises is false: the claim alone decides, and nothing is verified";
        return Ok(StageCriteria::without_project_checks(Vec::new()).with_warning(says.to_string()));
    }
    let acceptance = &spec.acceptance_criteria;
    let Some(block) = spec.role_spec(role) else {
        return Ok(StageCriteria::with_project_checks(role, rules, default_criterion(role, rules, acceptance)));
    };
    let config = block.verification_config.clone().unwrap_or_default();
    let field = format!("completion.{role}.verification_config");
    let within = CriterionContext { field: &field, acceptance, template_resolver };
    let way = MethodChoice { explicit: block.verification_method, effective: block.method_for(role) };
    Ok(StageCriteria::without_project_checks(vec![build_criterion(way, &config, &within)?]))
}

fn default_criterion(role: &Role, rules: &RoleRules, acceptance: &[String]) -> Criterion {
    match role {
        Role::Other(_) => criterion_for_default_method(rules.default_verification, acceptance),
        Role::Coder | Role::Reviewer | Role::Tester | Role::Qa => judged_criterion(acceptance.to_vec()),
    }
}

fn criteria_without_spec((task, role): (&Task, &Role), rules: &RoleRules) -> StageCriteria {
    let what = format!("task {} has no completion spec: nobody has said when it is done", task.id);
    if !rules.verify_promises {
        return StageCriteria::without_project_checks(Vec::new())
            .with_warning(format!("{what}; the agent's promise alone decides"));
    }
    let settled =
        StageCriteria::with_project_checks(role, rules, Criterion::from_method(VerificationMethod::StringMatch));
    let decides = match settled.project_checks {
        ProjectChecks::Included => "the checks of the project decide",
        ProjectChecks::Omitted => "the agent's promise alone decides",
    };
    settled.with_warning(format!("{what}; {decides}"))
}

/// A method that needs a command or stages has none here: the acceptance criteria are judged.
fn criterion_for_default_method(method: MethodName, acceptance: &[String]) -> Criterion {
    match method {
        MethodName::StringMatch => Criterion::from_method(VerificationMethod::StringMatch),
        MethodName::Semantic | MethodName::External | MethodName::MultiStage | MethodName::Plugin => {
            judged_criterion(acceptance.to_vec())
        }
    }
}

fn judged_criterion(check_for: Vec<String>) -> Criterion {
    Criterion::from_method(VerificationMethod::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() }))
}

/// Where a criterion stands, and what is put into it.
struct CriterionContext<'a> {
    field: &'a str,
    /// Stands for [`super::ACCEPTANCE`].
    acceptance: &'a [String],
    template_resolver: &'a TemplateResolver<'a>,
}

impl CriterionContext<'_> {
    fn missing_field(&self, what: &str) -> TaskProblem {
        TaskProblem::new(format!("{}.{what}", self.field), format!("there is no {what}"), "write one")
    }
}

/// The method that was chosen, and the one that holds where none was.
#[derive(Clone, Copy)]
struct MethodChoice {
    explicit: Option<MethodName>,
    effective: MethodName,
}

fn build_criterion(
    way: MethodChoice,
    config: &VerificationConfig,
    within: &CriterionContext<'_>,
) -> Result<Criterion, TaskProblem> {
    if let Some(name) = &config.template {
        return criterion_from_template(name, way.explicit, config, within);
    }
    let method = match way.effective {
        MethodName::StringMatch => VerificationMethod::StringMatch,
        MethodName::External => VerificationMethod::External(build_external_check(config, within)?),
        MethodName::Semantic => VerificationMethod::Semantic(build_semantic_check(config, within.acceptance)),
        MethodName::MultiStage => VerificationMethod::MultiStage(build_staged_check(config, within)?),
        MethodName::Plugin => VerificationMethod::Plugin(build_plugin_check(config, within)?),
    };
    Ok(Criterion { retries: config.retries.unwrap_or(0), ..Criterion::from_method(method) })
}

/// A template brings its method along; a method that was named beside it must be the same.
fn criterion_from_template(
    name: &str,
    named: Option<MethodName>,
    config: &VerificationConfig,
    within: &CriterionContext<'_>,
) -> Result<Criterion, TaskProblem> {
    let made = (within.template_resolver)(name, &config.template_values());
    let made = made.map_err(|problem| problem.nested_under(within.field))?;
    let brought = made.method.name();
    match named.filter(|named| named.as_str() != brought) {
        Some(named) => {
            let what = format!("{name} is verified by {brought}, and the method is {}", named.as_str());
            let field = format!("{}.template", within.field);
            Err(TaskProblem::new(field, what, "leave the method out: a template brings its own"))
        }
        None => Ok(Criterion { retries: config.retries.unwrap_or(0).max(made.retries), ..made }),
    }
}

fn build_external_check(
    config: &VerificationConfig,
    within: &CriterionContext<'_>,
) -> Result<ExternalCheck, TaskProblem> {
    let command: CheckCommand = config.command.clone().ok_or_else(|| within.missing_field("command"))?;
    Ok(ExternalCheck {
        success_exit_code: config.success_exit_code.unwrap_or(0),
        output_contains: config.output_contains.clone(),
        output_not_contains: config.output_not_contains.clone(),
        timeout_ms: timeout_ms(config),
        working_dir: config.working_dir.clone(),
        env: config.env.clone().unwrap_or_default(),
        ..ExternalCheck::new(command)
    })
}

fn timeout_ms(config: &VerificationConfig) -> u64 {
    config.timeout.as_ref().map_or(ExternalCheck::DEFAULT_TIMEOUT_MS, TimeoutSpec::as_millis)
}

/// Where nothing is said at all, the acceptance criteria are judged.
fn build_semantic_check(config: &VerificationConfig, acceptance: &[String]) -> SemanticCheck {
    let negative_patterns = config.negative_patterns.clone();
    let check_for = match (&config.check_for, &negative_patterns) {
        (Some(CheckForSpec::Text(_)), _) | (None, None) => acceptance.to_vec(),
        (Some(CheckForSpec::List(list)), _) => {
            list.iter().flat_map(|item| expand_acceptance(item, acceptance)).collect()
        }
        (None, Some(_)) => Vec::new(),
    };
    SemanticCheck { check_for, negative_patterns: negative_patterns.unwrap_or_default(), model: config.model.clone() }
}

fn expand_acceptance(item: &str, acceptance: &[String]) -> Vec<String> {
    if is_acceptance_placeholder(item) { acceptance.to_vec() } else { vec![item.to_string()] }
}

fn build_staged_check(config: &VerificationConfig, within: &CriterionContext<'_>) -> Result<StagedCheck, TaskProblem> {
    let stages = config.stages.as_deref().unwrap_or_default();
    if stages.is_empty() {
        return Err(within.missing_field("stages"));
    }
    let stages = stages.iter().enumerate().map(|(place, stage)| {
        let field = format!("{}.stages.{place}.config", within.field);
        build_stage(stage, &CriterionContext { field: &field, ..*within })
    });
    Ok(StagedCheck {
        stages: stages.collect::<Result<_, _>>()?,
        require_all: config.require_all.unwrap_or(true),
        parallel: config.parallel.unwrap_or(false),
    })
}

fn build_stage(stage: &StageSpec, within: &CriterionContext<'_>) -> Result<CheckStage, TaskProblem> {
    let config = stage.config.clone().unwrap_or_default();
    let way = MethodChoice { explicit: stage.method, effective: stage.method_or_default() };
    let criterion = build_criterion(way, &config, within)?;
    let name = Some(stage.name().to_string());
    Ok(CheckStage { required: stage.required.unwrap_or(true), criterion: Criterion { name, ..criterion } })
}

fn build_plugin_check(config: &VerificationConfig, within: &CriterionContext<'_>) -> Result<PluginCheck, TaskProblem> {
    Ok(PluginCheck {
        plugin: config.plugin.clone().ok_or_else(|| within.missing_field("plugin"))?,
        config: config.config.clone().unwrap_or_else(|| "null".to_string()),
        timeout_ms: timeout_ms(config),
    })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
