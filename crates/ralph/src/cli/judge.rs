//! The judge of a run, where a check asks for one.
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::judge::OnError;
use ralph_core::outcome::exit_code;

use super::agent_args::tried;
use crate::config::Settings;
use crate::engine::JudgeChoice;
use crate::error::Failure;
use crate::git::{self, GitError};
use crate::process;
use crate::project::Project;

/// Returns who judges these criteria; nobody where there is nothing to judge.
pub fn choose(
    settings: &Settings,
    project: &Project,
    criteria: &[Criterion],
) -> Result<Option<JudgeChoice>, Failure> {
    if !criteria.iter().any(Criterion::needs_a_judge) {
        return Ok(None);
    }
    let agent = tried(settings, settings.judging(&project.root)?, Vec::new())?;
    let on_error = settings.judge.on_error.value;
    let program = agent.overrides.cli.as_deref().unwrap_or(agent.adapter.program().name());
    // Who has said what shall hold without a judge can do without one.
    if on_error == OnError::Reject {
        process::find_program(&project.root, program).map_err(|error| {
            Failure::new(exit_code::PREFLIGHT, &error)
                .cause(format!("a check needs a judge, and the judge is {}", agent.name))
                .hint(format!(
                    "{}; or choose another judge: verification.judge.agent",
                    agent.adapter.about().install_hint
                ))
        })?;
    }
    let timeout = settings.judge.timeout.value;
    let base = base(&project.root).map_err(|error| Failure::new(exit_code::GIT, &error))?;
    Ok(Some(JudgeChoice { agent, on_error, timeout, base }))
}

/// Returns the commit that the work begins from; before the first one, the empty tree.
fn base(root: &Path) -> Result<String, GitError> {
    let head = git::git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let found = head.or_else(|_| git::git(root, &["hash-object", "-t", "tree", "/dev/null"]))?;
    Ok(found.trim().to_owned())
}
