//! What a task means for one role: its promise, its criteria, its iterations. What the task says comes before what the
//! configuration says, and that before what is usual for the role.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::validate::is_acceptance;
use super::{
    CheckFor, MethodName, Problem, Role, RoleSpec, StageSpec, Task, VerificationConfig, WrittenTime,
};
use crate::claim::Promise;
use crate::criterion::template::Values;
use crate::criterion::{
    CheckCommand, Criterion, ExternalCheck, Method, PluginCheck, SemanticCheck, Stage, StagedCheck,
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
    pub(super) fn usual() -> Self {
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
pub type FromTemplate<'a> = dyn Fn(&str, &BTreeMap<String, Values>) -> Result<Criterion, Problem> + 'a;

/// What a stage is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
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
    Added,
    Left,
}

/// Settles what a role must bring for a task.
pub fn resolve(
    task: &Task,
    role: &Role,
    rules: &RoleRules,
    templates: &FromTemplate<'_>,
) -> Result<Resolved, Problem> {
    let block = task.completion.as_ref().and_then(|spec| spec.of(role)).cloned().unwrap_or_default();
    let written =
        block.promise.as_ref().or(rules.promise.as_ref()).map_or(role.usual_promise(), String::as_str);
    let promise = Promise::parse(written).map_err(|error| {
        Problem::new(format!("completion.{role}.promise"), error.to_string(), "give a word")
    })?;
    let usual = || format!("Complete {role} stage for: {}", task.title);
    let settled = criteria((task, role), rules, templates)?;
    Ok(Resolved {
        promise,
        description: block.description.clone().unwrap_or_else(usual),
        criteria: settled.criteria,
        project_checks: settled.project_checks,
        max_iterations: iterations(&block, role, rules),
        warnings: settled.warnings,
    })
}

/// The task's role comes before `ralph.ROLE`, and that before the default of all.
fn iterations(block: &RoleSpec, role: &Role, rules: &RoleRules) -> u32 {
    if !rules.is_loop {
        return 1;
    }
    let said = block.max_iterations.or(rules.max_iterations).or_else(|| role.usual_iterations());
    said.unwrap_or(rules.default_max_iterations).max(1)
}

struct Settled {
    criteria: Vec<Criterion>,
    project_checks: ProjectChecks,
    warnings: Vec<String>,
}

impl Settled {
    fn own(criteria: Vec<Criterion>) -> Self {
        Self { criteria, project_checks: ProjectChecks::Left, warnings: Vec::new() }
    }

    /// Where the task does not say how a role is verified, the checks of the project come first: they cost no tokens.
    fn with_project(role: &Role, rules: &RoleRules, last: Criterion) -> Self {
        if !role.vouches_for_the_work() || rules.checks.is_empty() {
            return Self::own(vec![last]);
        }
        let criteria = rules.checks.iter().cloned().chain([last]).collect();
        Self { project_checks: ProjectChecks::Added, ..Self::own(criteria) }
    }

    fn warn(mut self, warning: String) -> Self {
        self.warnings.push(warning);
        self
    }
}

fn criteria(
    (task, role): (&Task, &Role),
    rules: &RoleRules,
    templates: &FromTemplate<'_>,
) -> Result<Settled, Problem> {
    let Some(spec) = &task.completion else { return Ok(without_spec((task, role), rules)) };
    if !rules.verify_promises {
        let says = "verify_promises is false: the claim alone decides, and nothing is verified";
        return Ok(Settled::own(Vec::new()).warn(says.to_string()));
    }
    let acceptance = &spec.acceptance_criteria;
    let Some(block) = spec.of(role) else {
        return Ok(Settled::with_project(role, rules, without_block(role, rules, acceptance)));
    };
    let config = block.verification_config.clone().unwrap_or_default();
    let field = format!("completion.{role}.verification_config");
    let within = Within { field: &field, acceptance, templates };
    let way = Way { named: block.verification_method, usual: block.method(role) };
    Ok(Settled::own(vec![one(way, &config, &within)?]))
}

fn without_block(role: &Role, rules: &RoleRules, acceptance: &[String]) -> Criterion {
    match role {
        Role::Other(_) => by_default(rules.default_verification, acceptance),
        Role::Coder | Role::Reviewer | Role::Tester | Role::Qa => judged(acceptance.to_vec()),
    }
}

fn without_spec((task, role): (&Task, &Role), rules: &RoleRules) -> Settled {
    let what = format!("task {} has no completion spec: nobody has said when it is done", task.id);
    if !rules.verify_promises {
        return Settled::own(Vec::new()).warn(format!("{what}; the agent's promise alone decides"));
    }
    let settled = Settled::with_project(role, rules, Criterion::of(Method::StringMatch));
    let decides = match settled.project_checks {
        ProjectChecks::Added => "the checks of the project decide",
        ProjectChecks::Left => "the agent's promise alone decides",
    };
    settled.warn(format!("{what}; {decides}"))
}

/// A method that needs a command or stages has none here: the acceptance criteria are judged.
fn by_default(method: MethodName, acceptance: &[String]) -> Criterion {
    match method {
        MethodName::StringMatch => Criterion::of(Method::StringMatch),
        MethodName::Semantic | MethodName::External | MethodName::MultiStage | MethodName::Plugin => {
            judged(acceptance.to_vec())
        }
    }
}

fn judged(check_for: Vec<String>) -> Criterion {
    Criterion::of(Method::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() }))
}

/// Where a criterion stands, and what is put into it.
struct Within<'a> {
    field: &'a str,
    /// Stands for [`super::ACCEPTANCE`].
    acceptance: &'a [String],
    templates: &'a FromTemplate<'a>,
}

impl Within<'_> {
    fn lacks(&self, what: &str) -> Problem {
        Problem::new(format!("{}.{what}", self.field), format!("there is no {what}"), "write one")
    }
}

/// The method that was chosen, and the one that holds where none was.
#[derive(Clone, Copy)]
struct Way {
    named: Option<MethodName>,
    usual: MethodName,
}

fn one(way: Way, config: &VerificationConfig, within: &Within<'_>) -> Result<Criterion, Problem> {
    if let Some(name) = &config.template {
        return from_template(name, way.named, config, within);
    }
    let method = match way.usual {
        MethodName::StringMatch => Method::StringMatch,
        MethodName::External => Method::External(external(config, within)?),
        MethodName::Semantic => Method::Semantic(semantic(config, within.acceptance)),
        MethodName::MultiStage => Method::MultiStage(staged(config, within)?),
        MethodName::Plugin => Method::Plugin(plugin(config, within)?),
    };
    Ok(Criterion { retries: config.retries.unwrap_or(0), ..Criterion::of(method) })
}

/// A template brings its method along; a method that was named beside it must be the same.
fn from_template(
    name: &str,
    named: Option<MethodName>,
    config: &VerificationConfig,
    within: &Within<'_>,
) -> Result<Criterion, Problem> {
    let made = (within.templates)(name, &config.values());
    let made = made.map_err(|problem| problem.below(within.field))?;
    let brought = made.method.name();
    match named.filter(|named| named.as_str() != brought) {
        Some(named) => {
            let what = format!("{name} is verified by {brought}, and the method is {}", named.as_str());
            let field = format!("{}.template", within.field);
            Err(Problem::new(field, what, "leave the method out: a template brings its own"))
        }
        None => Ok(Criterion { retries: config.retries.unwrap_or(0).max(made.retries), ..made }),
    }
}

fn external(config: &VerificationConfig, within: &Within<'_>) -> Result<ExternalCheck, Problem> {
    let command: CheckCommand = config.command.clone().ok_or_else(|| within.lacks("command"))?;
    Ok(ExternalCheck {
        success_exit_code: config.success_exit_code.unwrap_or(0),
        output_contains: config.output_contains.clone(),
        output_not_contains: config.output_not_contains.clone(),
        timeout_ms: time(config),
        working_dir: config.working_dir.clone(),
        env: config.env.clone().unwrap_or_default(),
        ..ExternalCheck::of(command)
    })
}

fn time(config: &VerificationConfig) -> u64 {
    config.timeout.as_ref().map_or(ExternalCheck::USUAL_TIMEOUT_MS, WrittenTime::ms)
}

/// Where nothing is said at all, the acceptance criteria are judged.
fn semantic(config: &VerificationConfig, acceptance: &[String]) -> SemanticCheck {
    let negative_patterns = config.negative_patterns.clone();
    let check_for = match (&config.check_for, &negative_patterns) {
        (Some(CheckFor::Text(_)), _) | (None, None) => acceptance.to_vec(),
        (Some(CheckFor::List(list)), _) => list.iter().flat_map(|item| filled_in(item, acceptance)).collect(),
        (None, Some(_)) => Vec::new(),
    };
    SemanticCheck {
        check_for,
        negative_patterns: negative_patterns.unwrap_or_default(),
        model: config.model.clone(),
    }
}

fn filled_in(item: &str, acceptance: &[String]) -> Vec<String> {
    if is_acceptance(item) { acceptance.to_vec() } else { vec![item.to_string()] }
}

fn staged(config: &VerificationConfig, within: &Within<'_>) -> Result<StagedCheck, Problem> {
    let stages = config.stages.as_deref().unwrap_or_default();
    if stages.is_empty() {
        return Err(within.lacks("stages"));
    }
    let stages = stages.iter().enumerate().map(|(place, stage)| {
        let field = format!("{}.stages.{place}.config", within.field);
        one_stage(stage, &Within { field: &field, ..*within })
    });
    Ok(StagedCheck {
        stages: stages.collect::<Result<_, _>>()?,
        require_all: config.require_all.unwrap_or(true),
        parallel: config.parallel.unwrap_or(false),
    })
}

fn one_stage(stage: &StageSpec, within: &Within<'_>) -> Result<Stage, Problem> {
    let config = stage.config.clone().unwrap_or_default();
    let way = Way { named: stage.method, usual: stage.method() };
    let criterion = one(way, &config, within)?;
    let name = Some(stage.name().to_string());
    Ok(Stage { required: stage.required.unwrap_or(true), criterion: Criterion { name, ..criterion } })
}

fn plugin(config: &VerificationConfig, within: &Within<'_>) -> Result<PluginCheck, Problem> {
    Ok(PluginCheck {
        plugin: config.plugin.clone().ok_or_else(|| within.lacks("plugin"))?,
        config: config.config.clone().unwrap_or_else(|| "null".to_string()),
        timeout_ms: time(config),
    })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
