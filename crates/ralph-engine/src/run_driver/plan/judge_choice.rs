//! The judge of a run: chosen before the run starts, stored with it, and queried by the verifiers.
use std::time::Duration;

use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy};
use serde::{Deserialize, Serialize};

use super::agent_choice::AgentChoice;
use super::stored_agent::StoredAgent;
use crate::verify::{AgentJudge, ClaimJudge, JudgeConnection};

pub struct JudgeChoice {
    pub provider: JudgeProvider,
    pub on_error: JudgeErrorPolicy,
    pub timeout: Duration,
    /// The commit that the work starts from, or the empty tree.
    pub base_commit: String,
}

/// An agent or an HTTP API.
pub enum JudgeProvider {
    Agent(Box<AgentChoice>),
    Api { endpoint: JudgeEndpoint, model: Option<String> },
}

impl JudgeChoice {
    /// Converts it into the judge that the verifiers use.
    #[must_use]
    pub fn to_judge(&self) -> ClaimJudge {
        let (name, connection, model) = match &self.provider {
            JudgeProvider::Agent(agent) => {
                (agent.name.clone(), JudgeConnection::Agent(to_judge_agent(agent)), agent.model.clone())
            }
            JudgeProvider::Api { endpoint, model } => {
                (endpoint.host().to_owned(), JudgeConnection::Api(endpoint.clone()), model.clone())
            }
        };
        let (on_error, timeout, base) = (self.on_error, self.timeout, self.base_commit.clone());
        ClaimJudge { name, connection, model, on_error, timeout, base }
    }
}

fn to_judge_agent(agent: &AgentChoice) -> AgentJudge {
    AgentJudge {
        adapter: agent.adapter,
        format: agent.output_format(),
        program: agent.overrides.cli.clone(),
        args: agent.overrides.args.clone(),
        env: agent.env.clone(),
    }
}

/// The judge as it is stored with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredJudge {
    #[serde(flatten)]
    provider: StoredJudgeProvider,
    on_error: JudgeErrorPolicy,
    timeout_ms: u64,
    base: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredJudgeProvider {
    Agent(Box<StoredAgent>),
    Api {
        #[serde(flatten)]
        endpoint: JudgeEndpoint,
        model: Option<String>,
    },
}

impl StoredJudge {
    #[must_use]
    pub fn from_choice(choice: &JudgeChoice) -> Self {
        Self {
            provider: match &choice.provider {
                JudgeProvider::Agent(agent) => StoredJudgeProvider::Agent(Box::new(StoredAgent::from_choice(agent))),
                JudgeProvider::Api { endpoint, model } => {
                    StoredJudgeProvider::Api { endpoint: endpoint.clone(), model: model.clone() }
                }
            },
            on_error: choice.on_error,
            timeout_ms: u64::try_from(choice.timeout.as_millis()).unwrap_or(u64::MAX),
            base: choice.base_commit.clone(),
        }
    }

    /// Restores the judge. `restore_agent` restores a stored agent.
    pub fn to_choice<E>(
        &self,
        restore_agent: impl FnOnce(&StoredAgent) -> Result<AgentChoice, E>,
    ) -> Result<JudgeChoice, E> {
        Ok(JudgeChoice {
            provider: match &self.provider {
                StoredJudgeProvider::Agent(agent) => JudgeProvider::Agent(Box::new(restore_agent(agent)?)),
                StoredJudgeProvider::Api { endpoint, model } => {
                    JudgeProvider::Api { endpoint: endpoint.clone(), model: model.clone() }
                }
            },
            on_error: self.on_error,
            timeout: Duration::from_millis(self.timeout_ms),
            base_commit: self.base.clone(),
        })
    }
}
