//! The judge of a run: chosen before it starts, stored with it, and asked by the verifiers.
use std::time::Duration;

use ralph_core::judge::OnError;
use serde::{Deserialize, Serialize};

use super::plan::AgentChoice;
use super::stored_agent::StoredAgent;
use crate::agent::UnknownAgent;
use crate::verify::Judge;

pub struct JudgeChoice {
    pub agent: AgentChoice,
    pub on_error: OnError,
    pub timeout: Duration,
    /// The commit that the work began from, or the empty tree.
    pub base: String,
}

impl JudgeChoice {
    /// Returns the judge as the verifiers know it.
    #[must_use]
    pub fn judge(&self) -> Judge {
        let agent = &self.agent;
        Judge {
            name: agent.name.clone(),
            adapter: agent.adapter,
            format: agent.format(),
            program: agent.overrides.cli.clone(),
            args: agent.overrides.args.clone(),
            env: agent.env.clone(),
            model: agent.model.clone(),
            on_error: self.on_error,
            timeout: self.timeout,
            base: self.base.clone(),
        }
    }
}

/// The judge as it is stored with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredJudge {
    #[serde(flatten)]
    pub agent: StoredAgent,
    on_error: OnError,
    timeout_ms: u64,
    base: String,
}

impl StoredJudge {
    #[must_use]
    pub fn of(choice: &JudgeChoice) -> Self {
        Self {
            agent: StoredAgent::of(&choice.agent),
            on_error: choice.on_error,
            timeout_ms: u64::try_from(choice.timeout.as_millis()).unwrap_or(u64::MAX),
            base: choice.base.clone(),
        }
    }

    /// Returns the judge again. `env` has the values of its variables.
    pub fn choice(self, env: Vec<(String, String)>) -> Result<JudgeChoice, UnknownAgent> {
        Ok(JudgeChoice {
            agent: self.agent.choice(env)?,
            on_error: self.on_error,
            timeout: Duration::from_millis(self.timeout_ms),
            base: self.base,
        })
    }
}
