//! Chooses the judge of a run, if a check needs one.
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy};

use super::agent_choice::{build_agent_choice, request_or_config_error};
use crate::advice::Advice;
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use ralph_engine::git::{self, GitError};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{JudgeChoice, JudgeProvider};
use ralph_process as process;

/// Returns the judge of these criteria, or `None` if none of them needs one.
pub fn choose_judge(settings: &Settings, project: &Project, criteria: &[Criterion]) -> AppResult<Option<JudgeChoice>> {
    if !criteria.iter().any(Criterion::needs_judge) {
        return Ok(None);
    }
    let provider = match settings.judge_endpoint() {
        Some(endpoint) => choose_api_judge(settings, endpoint, criteria)?,
        None => choose_agent_judge(settings, project)?,
    };
    let on_error = settings.judge.on_error.value;
    let timeout = settings.judge.timeout.value;
    let base = base_commit(&project.root).map_err(|error| AppError::from_error(ErrorKind::GitFailed, &error))?;
    Ok(Some(JudgeChoice { provider, on_error, timeout, base_commit: base }))
}

/// Checks that model and key are set before anything is spent.
fn choose_api_judge(settings: &Settings, endpoint: JudgeEndpoint, criteria: &[Criterion]) -> AppResult<JudgeProvider> {
    let model = settings.judge.model.value.clone();
    let has_model = model.is_some() || criteria.iter().all(Criterion::names_judge_model);
    if !has_model {
        return Err(AppError::preflight(format!("the judge at {} needs a model", endpoint.host()))
            .with_cause("a check needs a judge, and an API needs the name of its model")
            .with_advice("set verification.judge.model, such as claude-haiku-4-5 or gpt-5-mini"));
    }
    let is_set = |name: &String| std::env::var_os(name).is_some_and(|key| !key.is_empty());
    let missing = endpoint.key_env.as_ref().filter(|name| !is_set(name));
    // With another policy the run does not depend on the judge.
    match missing.filter(|_| settings.judge.on_error.value == JudgeErrorPolicy::Reject) {
        Some(name) => Err(AppError::preflight(format!("the variable {name} is not set"))
            .with_cause(format!("a check needs a judge, and the key for {} is expected there", endpoint.host()))
            .with_advice("set it, or name another variable: verification.judge.key_env")),
        None => Ok(JudgeProvider::Api { endpoint, model }),
    }
}

fn choose_agent_judge(settings: &Settings, project: &Project) -> AppResult<JudgeProvider> {
    let flags = [&settings.judge.agent.origin, &settings.judge.model.origin];
    let chosen = settings.judge_agent(&project.root).map_err(|error| request_or_config_error(&flags, error))?;
    let agent = build_agent_choice(settings, chosen, Vec::new())?;
    let program = agent.overrides.cli.as_deref().unwrap_or(agent.adapter.program().name());
    // With another policy the run does not depend on the judge.
    if settings.judge.on_error.value == JudgeErrorPolicy::Reject {
        process::find_program(&project.root, program).map_err(|error| {
            AppError::from_error(ErrorKind::Preflight, &error)
                .with_cause(format!("a check needs a judge, and the judge is {}", agent.name))
                .with_advice(Advice::InstallJudge(agent.adapter.profile().install))
        })?;
    }
    Ok(JudgeProvider::Agent(Box::new(agent)))
}

/// Returns the commit that the work starts from, or the empty tree in a repository without commits.
fn base_commit(root: &Path) -> Result<String, GitError> {
    let head = git::run_git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let found = head.or_else(|_| git::run_git(root, &["hash-object", "-t", "tree", "/dev/null"]))?;
    Ok(found.trim().to_owned())
}
