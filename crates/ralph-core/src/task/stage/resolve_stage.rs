//! Resolves promise, criteria and iterations of a task for one role. The task takes precedence over the configuration,
//! and the configuration over the defaults of the role.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::claim::Promise;
use crate::criterion::template::ParameterValues;
use crate::criterion::{
    CheckCommand, CheckStage, Criterion, ExternalCheck, PluginCheck, SemanticCheck, StagedCheck, VerificationMethod,
};
use crate::task::validation::validate_task::is_acceptance_placeholder;
use crate::task::{
    CheckForSpec, MethodName, Role, RoleSpec, StageSpec, Task, TaskProblem, TimeoutSpec, VerificationConfig,
};

/// The configuration for a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRules {
    /// If false, the stage runs a single iteration. It is verified in both cases.
    pub is_loop: bool,
    pub max_iterations: Option<u32>,
    pub default_max_iterations: u32,
    pub promise: Option<String>,
    /// For roles without a default method.
    pub default_verification: MethodName,
    /// If false, the claim alone decides.
    pub verify_promises: bool,
    /// The project checks, for stages whose verification is not defined by the task.
    pub checks: Vec<Criterion>,
}

#[cfg(test)]
impl RoleRules {
    /// The rules without any configuration.
    pub(crate) fn default_rules() -> Self {
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

/// Builds a criterion from a template and its values. The field of an error is `template` or `with.NAME`.
pub type TemplateResolver<'a> = dyn Fn(&str, &BTreeMap<String, ParameterValues>) -> Result<Criterion, TaskProblem> + 'a;

/// The requirements for a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedStage {
    pub promise: Promise,
    /// When the stage is done, for users and agents.
    pub description: String,
    /// If empty, the claim alone decides.
    pub criteria: Vec<Criterion>,
    pub project_checks: ProjectChecks,
    pub max_iterations: u32,
    /// Warnings to print before the stage starts.
    pub warnings: Vec<String>,
}

/// Whether the project checks are among the criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectChecks {
    Included,
    Omitted,
}

/// Resolves the requirements of a task for a role.
pub fn resolve_stage(
    task: &Task,
    role: &Role,
    rules: &RoleRules,
    template_resolver: &TemplateResolver<'_>,
) -> Result<ResolvedStage, TaskProblem> {
    let block = task.completion.as_ref().and_then(|spec| spec.role_spec(role)).cloned().unwrap_or_default();
    let promise = block.promise.as_ref().or(rules.promise.as_ref()).map_or(role.default_promise(), String::as_str);
    let promise = Promise::parse(promise)
        .map_err(|error| TaskProblem::new(format!("completion.{role}.promise"), error.to_string(), "set a word"))?;
    let default_description = || format!("Complete {role} stage for: {}", task.title);
    let resolved = resolve_criteria(task, role, rules, template_resolver)?;
    Ok(ResolvedStage {
        promise,
        description: block.description.clone().unwrap_or_else(default_description),
        criteria: resolved.criteria,
        project_checks: resolved.project_checks,
        max_iterations: resolve_iterations(&block, role, rules),
        warnings: resolved.warnings,
    })
}

/// The role in the task takes precedence over `ralph.ROLE`, and that over the default for all roles.
fn resolve_iterations(block: &RoleSpec, role: &Role, rules: &RoleRules) -> u32 {
    if !rules.is_loop {
        return 1;
    }
    let configured = block.max_iterations.or(rules.max_iterations).or_else(|| role.default_iterations());
    configured.unwrap_or(rules.default_max_iterations).max(1)
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

    /// For roles whose verification the task does not define. The project checks run first because they cost no tokens.
    fn with_project_checks(role: &Role, rules: &RoleRules, last: Criterion) -> Self {
        if !role.is_verified_by_project_checks() || rules.checks.is_empty() {
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
    task: &Task,
    role: &Role,
    rules: &RoleRules,
    template_resolver: &TemplateResolver<'_>,
) -> Result<StageCriteria, TaskProblem> {
    let Some(spec) = &task.completion else { return Ok(criteria_without_spec(task, role, rules)) };
    if !rules.verify_promises {
        let warning = "verify_promises is false: the claim alone decides, and nothing is verified";
        return Ok(StageCriteria::without_project_checks(Vec::new()).with_warning(warning.to_string()));
    }
    let acceptance = &spec.acceptance_criteria;
    let Some(block) = spec.role_spec(role) else {
        return Ok(StageCriteria::with_project_checks(role, rules, default_criterion(role, rules, acceptance)));
    };
    let config = block.verification_config.clone().unwrap_or_default();
    let field = format!("completion.{role}.verification_config");
    let context = CriterionContext { field: &field, acceptance, template_resolver };
    let method = MethodChoice { explicit: block.verification_method, effective: block.method_for(role) };
    Ok(StageCriteria::without_project_checks(vec![build_criterion(method, &config, &context)?]))
}

fn default_criterion(role: &Role, rules: &RoleRules, acceptance: &[String]) -> Criterion {
    match role {
        Role::Other(_) => criterion_for_default_method(rules.default_verification, acceptance),
        Role::Coder | Role::Reviewer | Role::Tester | Role::Qa => judged_criterion(acceptance.to_vec()),
    }
}

fn criteria_without_spec(task: &Task, role: &Role, rules: &RoleRules) -> StageCriteria {
    let problem = format!("task {} has no completion spec", task.id);
    if !rules.verify_promises {
        return StageCriteria::without_project_checks(Vec::new())
            .with_warning(format!("{problem}: the agent's promise alone decides"));
    }
    let resolved =
        StageCriteria::with_project_checks(role, rules, Criterion::from_method(VerificationMethod::StringMatch));
    let consequence = match resolved.project_checks {
        ProjectChecks::Included => "the project checks decide",
        ProjectChecks::Omitted => "the agent's promise alone decides",
    };
    resolved.with_warning(format!("{problem}: {consequence}"))
}

/// Methods that need a command or stages have none here, so the acceptance criteria are judged instead.
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

/// The path of a criterion and the values that it refers to.
struct CriterionContext<'a> {
    field: &'a str,
    /// Replaces [`crate::task::ACCEPTANCE_PLACEHOLDER`].
    acceptance: &'a [String],
    template_resolver: &'a TemplateResolver<'a>,
}

impl CriterionContext<'_> {
    fn missing_field(&self, name: &str) -> TaskProblem {
        TaskProblem::new(format!("{}.{name}", self.field), format!("{name} is missing"), "add it")
    }
}

/// The method in the task, and the one that applies after defaults.
#[derive(Clone, Copy)]
struct MethodChoice {
    explicit: Option<MethodName>,
    effective: MethodName,
}

fn build_criterion(
    method: MethodChoice,
    config: &VerificationConfig,
    context: &CriterionContext<'_>,
) -> Result<Criterion, TaskProblem> {
    if let Some(name) = &config.template {
        return criterion_from_template(name, method.explicit, config, context);
    }
    let method = match method.effective {
        MethodName::StringMatch => VerificationMethod::StringMatch,
        MethodName::External => VerificationMethod::External(build_external_check(config, context)?),
        MethodName::Semantic => VerificationMethod::Semantic(build_semantic_check(config, context.acceptance)),
        MethodName::MultiStage => VerificationMethod::MultiStage(build_staged_check(config, context)?),
        MethodName::Plugin => VerificationMethod::Plugin(build_plugin_check(config, context)?),
    };
    Ok(Criterion { retries: config.retries.unwrap_or(0), ..Criterion::from_method(method) })
}

/// A template defines the method. An explicit method must be the same.
fn criterion_from_template(
    name: &str,
    explicit: Option<MethodName>,
    config: &VerificationConfig,
    context: &CriterionContext<'_>,
) -> Result<Criterion, TaskProblem> {
    let criterion = (context.template_resolver)(name, &config.template_values());
    let criterion = criterion.map_err(|problem| problem.nested_under(context.field))?;
    let method = criterion.method.name();
    match explicit.filter(|explicit| explicit.as_str() != method) {
        Some(explicit) => {
            let message = format!("template {name} uses the method {method}, not {}", explicit.as_str());
            let field = format!("{}.template", context.field);
            Err(TaskProblem::new(field, message, "remove the method: the template defines it"))
        }
        None => Ok(Criterion { retries: config.retries.unwrap_or(0).max(criterion.retries), ..criterion }),
    }
}

fn build_external_check(
    config: &VerificationConfig,
    context: &CriterionContext<'_>,
) -> Result<ExternalCheck, TaskProblem> {
    let command: CheckCommand = config.command.clone().ok_or_else(|| context.missing_field("command"))?;
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

/// Without `check_for` and `negative_patterns`, the acceptance criteria are judged.
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

fn build_staged_check(config: &VerificationConfig, context: &CriterionContext<'_>) -> Result<StagedCheck, TaskProblem> {
    let stages = config.stages.as_deref().unwrap_or_default();
    if stages.is_empty() {
        return Err(context.missing_field("stages"));
    }
    let stages = stages.iter().enumerate().map(|(index, stage)| {
        let field = format!("{}.stages.{index}.config", context.field);
        build_stage(stage, &CriterionContext { field: &field, ..*context })
    });
    Ok(StagedCheck {
        stages: stages.collect::<Result<_, _>>()?,
        require_all: config.require_all.unwrap_or(true),
        parallel: config.parallel.unwrap_or(false),
    })
}

fn build_stage(stage: &StageSpec, context: &CriterionContext<'_>) -> Result<CheckStage, TaskProblem> {
    let config = stage.config.clone().unwrap_or_default();
    let method = MethodChoice { explicit: stage.method, effective: stage.method_or_default() };
    let criterion = build_criterion(method, &config, context)?;
    let name = Some(stage.name().to_string());
    Ok(CheckStage { required: stage.required.unwrap_or(true), criterion: Criterion { name, ..criterion } })
}

fn build_plugin_check(config: &VerificationConfig, context: &CriterionContext<'_>) -> Result<PluginCheck, TaskProblem> {
    Ok(PluginCheck {
        plugin: config.plugin.clone().ok_or_else(|| context.missing_field("plugin"))?,
        config: config.config.clone().unwrap_or_else(|| "null".to_string()),
        timeout_ms: timeout_ms(config),
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
