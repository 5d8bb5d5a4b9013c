//! What a task means for one role: its promise, its criteria, its iterations. What the task says comes before what the
//! configuration says, and that before what is usual for the role.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::validate::is_acceptance;
use super::{CheckFor, MethodName, Problem, Role, RoleSpec, StageSpec, Task, VerificationConfig};
use crate::claim::Promise;
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
}

/// What a stage is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub promise: Promise,
    /// When the stage is done, for people and agents.
    pub description: String,
    /// Empty: the claim alone decides.
    pub criteria: Vec<Criterion>,
    pub max_iterations: u32,
    /// What people should know before it starts.
    pub warnings: Vec<String>,
}

/// What becomes of a task without a completion spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCriteria {
    /// It runs, with a warning.
    Warn,
    Refuse,
}

/// Settles what a role must bring for a task.
pub fn resolve(
    task: &Task,
    role: &Role,
    rules: &RoleRules,
    lacking: NoCriteria,
) -> Result<Resolved, Problem> {
    let block = task.completion.as_ref().and_then(|spec| spec.of(role)).cloned().unwrap_or_default();
    let written =
        block.promise.as_ref().or(rules.promise.as_ref()).map_or(role.usual_promise(), String::as_str);
    let promise = Promise::parse(written).map_err(|error| {
        Problem::new(format!("completion.{role}.promise"), error.to_string(), "give a word")
    })?;
    let usual = || format!("Complete {role} stage for: {}", task.title);
    let (criteria, warnings) = criteria(task, role, rules, lacking)?;
    Ok(Resolved {
        promise,
        description: block.description.clone().unwrap_or_else(usual),
        criteria,
        max_iterations: iterations(&block, role, rules),
        warnings,
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

type Settled = (Vec<Criterion>, Vec<String>);

fn criteria(task: &Task, role: &Role, rules: &RoleRules, lacking: NoCriteria) -> Result<Settled, Problem> {
    let Some(spec) = &task.completion else { return without_spec(task, rules, lacking) };
    if !rules.verify_promises {
        let says = "verify_promises is false: the claim alone decides, and nothing is verified";
        return Ok((Vec::new(), vec![says.to_string()]));
    }
    let acceptance = &spec.acceptance_criteria;
    let criterion = match (spec.of(role), role) {
        (Some(block), _) => {
            let config = block.verification_config.clone().unwrap_or_default();
            let field = format!("completion.{role}.verification_config");
            one(block.method(role), &config, &Within { field: &field, acceptance })?
        }
        (None, Role::Other(_)) => by_default(rules.default_verification, acceptance),
        (None, Role::Coder | Role::Reviewer | Role::Tester | Role::Qa) => judged(acceptance.clone()),
    };
    Ok((vec![criterion], Vec::new()))
}

fn without_spec(task: &Task, rules: &RoleRules, lacking: NoCriteria) -> Result<Settled, Problem> {
    let what = format!("task {} has no completion spec: nobody has said when it is done", task.id);
    match lacking {
        NoCriteria::Refuse => {
            let hint = "give it --outcome and --acceptance with `ralph task edit`";
            Err(Problem::new("completion", what, hint))
        }
        NoCriteria::Warn => {
            let criteria = match rules.verify_promises {
                true => vec![Criterion::of(Method::StringMatch)],
                false => Vec::new(),
            };
            Ok((criteria, vec![format!("{what}; the agent's promise alone decides")]))
        }
    }
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

/// Where a criterion stands, and what stands for [`super::ACCEPTANCE`] in it.
struct Within<'a> {
    field: &'a str,
    acceptance: &'a [String],
}

impl Within<'_> {
    fn lacks(&self, what: &str) -> Problem {
        Problem::new(format!("{}.{what}", self.field), format!("there is no {what}"), "write one")
    }
}

fn one(method: MethodName, config: &VerificationConfig, within: &Within<'_>) -> Result<Criterion, Problem> {
    let method = match method {
        MethodName::StringMatch => Method::StringMatch,
        MethodName::External => Method::External(external(config, within)?),
        MethodName::Semantic => Method::Semantic(semantic(config, within.acceptance)),
        MethodName::MultiStage => Method::MultiStage(staged(config, within)?),
        MethodName::Plugin => Method::Plugin(plugin(config, within)?),
    };
    Ok(Criterion { retries: config.retries.unwrap_or(0), ..Criterion::of(method) })
}

fn external(config: &VerificationConfig, within: &Within<'_>) -> Result<ExternalCheck, Problem> {
    let command: CheckCommand = config.command.clone().ok_or_else(|| within.lacks("command"))?;
    Ok(ExternalCheck {
        success_exit_code: config.success_exit_code.unwrap_or(0),
        output_contains: config.output_contains.clone(),
        output_not_contains: config.output_not_contains.clone(),
        timeout_ms: time(config, within)?,
        working_dir: config.working_dir.clone(),
        env: config.env.clone().unwrap_or_default(),
        ..ExternalCheck::of(command)
    })
}

fn time(config: &VerificationConfig, within: &Within<'_>) -> Result<u64, Problem> {
    let usual = ExternalCheck::USUAL_TIMEOUT_MS;
    config.timeout.as_ref().map_or(Ok(usual), |time| {
        time.ms().map_err(|error| {
            Problem::new(format!("{}.timeout", within.field), error.to_string(), "such as 5m")
        })
    })
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
    let criterion = one(stage.method(), &config, within)?;
    let name = Some(stage.name().to_string());
    Ok(Stage { required: stage.required.unwrap_or(true), criterion: Criterion { name, ..criterion } })
}

fn plugin(config: &VerificationConfig, within: &Within<'_>) -> Result<PluginCheck, Problem> {
    Ok(PluginCheck {
        plugin: config.plugin.clone().ok_or_else(|| within.lacks("plugin"))?,
        config: config.config.clone().unwrap_or_else(|| "null".to_string()),
        timeout_ms: time(config, within)?,
    })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
