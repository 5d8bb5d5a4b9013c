//! The judge of a run, where a check asks for one.
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::judge::{Endpoint, OnError};
use ralph_core::outcome::exit_code;

use super::agent_args::tried;
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::engine::{JudgeChoice, Who};
use ralph_engine::git::{self, GitError};
use ralph_engine::project::Project;
use ralph_process as process;

/// Returns who judges these criteria; nobody where there is nothing to judge.
pub fn choose(
    settings: &Settings,
    project: &Project,
    criteria: &[Criterion],
) -> Result<Option<JudgeChoice>, Failure> {
    if !criteria.iter().any(Criterion::needs_a_judge) {
        return Ok(None);
    }
    let who = match settings.judge_endpoint() {
        Some(endpoint) => api(settings, endpoint, criteria)?,
        None => agent(settings, project)?,
    };
    let on_error = settings.judge.on_error.value;
    let timeout = settings.judge.timeout.value;
    let base = base(&project.root).map_err(|error| Failure::new(exit_code::GIT, &error))?;
    Ok(Some(JudgeChoice { who, on_error, timeout, base }))
}

/// Everything that an API needs must be there before anything is spent.
fn api(settings: &Settings, endpoint: Endpoint, criteria: &[Criterion]) -> Result<Who, Failure> {
    let model = settings.judge.model.value.clone();
    let is_told = model.is_some() || criteria.iter().all(Criterion::names_its_model);
    if !is_told {
        return Err(Failure::preflight(format!("the judge at {} needs a model", endpoint.host()))
            .cause("a check needs a judge, and an API must be told its model")
            .hint("set verification.judge.model, such as claude-haiku-4-5 or gpt-5-mini"));
    }
    let is_set = |name: &String| std::env::var_os(name).is_some_and(|key| !key.is_empty());
    let missing = endpoint.key_env.as_ref().filter(|name| !is_set(name));
    // Who has said what shall hold without a judge can do without one.
    match missing.filter(|_| settings.judge.on_error.value == OnError::Reject) {
        Some(name) => Err(Failure::preflight(format!("the variable {name} is not set"))
            .cause(format!("a check needs a judge, and the key for {} is expected there", endpoint.host()))
            .hint("set it, or name another variable: verification.judge.key_env")),
        None => Ok(Who::Api { endpoint, model }),
    }
}

fn agent(settings: &Settings, project: &Project) -> Result<Who, Failure> {
    let agent = tried(settings, settings.judging(&project.root)?, Vec::new())?;
    let program = agent.overrides.cli.as_deref().unwrap_or(agent.adapter.program().name());
    // Who has said what shall hold without a judge can do without one.
    if settings.judge.on_error.value == OnError::Reject {
        process::find_program(&project.root, program).map_err(|error| {
            Failure::new(exit_code::PREFLIGHT, &error)
                .cause(format!("a check needs a judge, and the judge is {}", agent.name))
                .hint(format!(
                    "{}; or choose another judge: verification.judge.agent",
                    agent.adapter.about().install_hint
                ))
        })?;
    }
    Ok(Who::Agent(Box::new(agent)))
}

/// Returns the commit that the work begins from; before the first one, the empty tree.
fn base(root: &Path) -> Result<String, GitError> {
    let head = git::git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let found = head.or_else(|_| git::git(root, &["hash-object", "-t", "tree", "/dev/null"]))?;
    Ok(found.trim().to_owned())
}
