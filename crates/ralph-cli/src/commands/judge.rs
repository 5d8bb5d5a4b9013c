//! The judge of a run, where a check asks for one.
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy};
use ralph_core::outcome::exit_code;

use super::agent_args::build_agent_choice;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::git::{self, GitError};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{JudgeChoice, JudgeProvider};
use ralph_process as process;

/// Returns who judges these criteria; nobody where there is nothing to judge.
pub fn choose_judge(
    settings: &Settings,
    project: &Project,
    criteria: &[Criterion],
) -> Result<Option<JudgeChoice>, CommandError> {
    if !criteria.iter().any(Criterion::needs_judge) {
        return Ok(None);
    }
    let who = match settings.judge_endpoint() {
        Some(endpoint) => choose_api_judge(settings, endpoint, criteria)?,
        None => choose_agent_judge(settings, project)?,
    };
    let on_error = settings.judge.on_error.value;
    let timeout = settings.judge.timeout.value;
    let base = base_commit(&project.root).map_err(|error| CommandError::from_error(exit_code::GIT_FAILED, &error))?;
    Ok(Some(JudgeChoice { provider: who, on_error, timeout, base_commit: base }))
}

/// Everything that an API needs must be there before anything is spent.
fn choose_api_judge(
    settings: &Settings,
    endpoint: JudgeEndpoint,
    criteria: &[Criterion],
) -> Result<JudgeProvider, CommandError> {
    let model = settings.judge.model.value.clone();
    let has_model = model.is_some() || criteria.iter().all(Criterion::names_judge_model);
    if !has_model {
        return Err(CommandError::preflight_error(format!("the judge at {} needs a model", endpoint.host()))
            .with_cause("a check needs a judge, and an API must be told its model")
            .with_hint("set verification.judge.model, such as claude-haiku-4-5 or gpt-5-mini"));
    }
    let is_set = |name: &String| std::env::var_os(name).is_some_and(|key| !key.is_empty());
    let missing = endpoint.key_env.as_ref().filter(|name| !is_set(name));
    // Who has said what shall hold without a judge can do without one.
    match missing.filter(|_| settings.judge.on_error.value == JudgeErrorPolicy::Reject) {
        Some(name) => Err(CommandError::preflight_error(format!("the variable {name} is not set"))
            .with_cause(format!("a check needs a judge, and the key for {} is expected there", endpoint.host()))
            .with_hint("set it, or name another variable: verification.judge.key_env")),
        None => Ok(JudgeProvider::Api { endpoint, model }),
    }
}

fn choose_agent_judge(settings: &Settings, project: &Project) -> Result<JudgeProvider, CommandError> {
    let agent = build_agent_choice(settings, settings.judge_agent(&project.root)?, Vec::new())?;
    let program = agent.overrides.cli.as_deref().unwrap_or(agent.adapter.program().name());
    // Who has said what shall hold without a judge can do without one.
    if settings.judge.on_error.value == JudgeErrorPolicy::Reject {
        process::find_program(&project.root, program).map_err(|error| {
            CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error)
                .with_cause(format!("a check needs a judge, and the judge is {}", agent.name))
                .with_hint(format!(
                    "{}; or choose another judge: verification.judge.agent",
                    agent.adapter.profile().install_hint
                ))
        })?;
    }
    Ok(JudgeProvider::Agent(Box::new(agent)))
}

/// Returns the commit that the work begins from; before the first one, the empty tree.
fn base_commit(root: &Path) -> Result<String, GitError> {
    let head = git::run_git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let found = head.or_else(|_| git::run_git(root, &["hash-object", "-t", "tree", "/dev/null"]))?;
    Ok(found.trim().to_owned())
}
