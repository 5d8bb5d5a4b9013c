//! The judge of a run: chosen before it starts, stored with it, and asked by the verifiers.
use std::time::Duration;

use ralph_core::judge::{Endpoint, OnError};
use serde::{Deserialize, Serialize};

use super::plan::AgentChoice;
use super::stored_agent::StoredAgent;
use crate::verify::{Asked, AskedAgent, Judge};

pub struct JudgeChoice {
    pub who: Who,
    pub on_error: OnError,
    pub timeout: Duration,
    /// The commit that the work began from, or the empty tree.
    pub base: String,
}

/// Who judges.
pub enum Who {
    Agent(Box<AgentChoice>),
    Api { endpoint: Endpoint, model: Option<String> },
}

impl JudgeChoice {
    /// Returns the judge as the verifiers know it.
    #[must_use]
    pub fn judge(&self) -> Judge {
        let (name, asked, model) = match &self.who {
            Who::Agent(agent) => (agent.name.clone(), Asked::Agent(asked(agent)), agent.model.clone()),
            Who::Api { endpoint, model } => {
                (endpoint.host().to_owned(), Asked::Api(endpoint.clone()), model.clone())
            }
        };
        let (on_error, timeout, base) = (self.on_error, self.timeout, self.base.clone());
        Judge { name, asked, model, on_error, timeout, base }
    }
}

fn asked(agent: &AgentChoice) -> AskedAgent {
    AskedAgent {
        adapter: agent.adapter,
        format: agent.format(),
        program: agent.overrides.cli.clone(),
        args: agent.overrides.args.clone(),
        env: agent.env.clone(),
    }
}

/// The judge as it is stored with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredJudge {
    #[serde(flatten)]
    who: StoredWho,
    on_error: OnError,
    timeout_ms: u64,
    base: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredWho {
    Agent(Box<StoredAgent>),
    Api {
        #[serde(flatten)]
        endpoint: Endpoint,
        model: Option<String>,
    },
}

impl StoredJudge {
    #[must_use]
    pub fn of(choice: &JudgeChoice) -> Self {
        Self {
            who: match &choice.who {
                Who::Agent(agent) => StoredWho::Agent(Box::new(StoredAgent::of(agent))),
                Who::Api { endpoint, model } => {
                    StoredWho::Api { endpoint: endpoint.clone(), model: model.clone() }
                }
            },
            on_error: choice.on_error,
            timeout_ms: u64::try_from(choice.timeout.as_millis()).unwrap_or(u64::MAX),
            base: choice.base.clone(),
        }
    }

    /// Returns the judge again. `again` does the same for an agent.
    pub fn choice<E>(
        self,
        again: impl FnOnce(StoredAgent) -> Result<AgentChoice, E>,
    ) -> Result<JudgeChoice, E> {
        Ok(JudgeChoice {
            who: match self.who {
                StoredWho::Agent(agent) => Who::Agent(Box::new(again(*agent)?)),
                StoredWho::Api { endpoint, model } => Who::Api { endpoint, model },
            },
            on_error: self.on_error,
            timeout: Duration::from_millis(self.timeout_ms),
            base: self.base,
        })
    }
}
