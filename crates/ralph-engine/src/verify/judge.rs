//! Judges: whom to ask, and what they said. What it is worth is decided elsewhere.
use std::time::Duration;

use ralph_core::attempt::ModelSpend;
use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy};

use super::agent_judge::{self, AgentJudge};
use super::verification_control::VerificationControl;
use super::{CheckContext, api_judge};
use ralph_process::RawLog;

/// A judge: whom to ask, and what a silence means.
pub struct ClaimJudge {
    /// What the user calls it.
    pub name: String,
    pub connection: JudgeConnection,
    pub model: Option<String>,
    pub on_error: JudgeErrorPolicy,
    pub timeout: Duration,
    /// The commit that the work began from.
    pub base: String,
}

/// How a judge is asked.
pub enum JudgeConnection {
    Agent(AgentJudge),
    Api(JudgeEndpoint),
}

/// What is asked of whom.
pub(super) struct JudgeQuestion<'a> {
    pub(super) text: &'a str,
    /// The model that the criterion or the settings name.
    pub(super) model: Option<&'a str>,
    pub(super) timeout: Duration,
}

/// What a judge said, in its own words, and what it used.
pub(super) struct JudgeReply {
    pub(super) text: Result<String, String>,
    pub(super) model: Option<String>,
    pub(super) spend: ModelSpend,
    pub(super) leftovers: u32,
}

/// Asks once. Question and answer are in the log.
pub(super) async fn ask_judge(
    context: &CheckContext,
    judge: &ClaimJudge,
    (question, model): (&str, Option<&str>),
    mut log: RawLog,
    control: &mut VerificationControl,
) -> JudgeReply {
    log.write(&mut format!("{question}\n[ralph: the answer of {}]\n", judge.name).into_bytes());
    let model = model.or(judge.model.as_deref());
    let question = JudgeQuestion { text: question, model, timeout: judge.timeout };
    match &judge.connection {
        JudgeConnection::Agent(agent) => agent_judge::ask_agent(context, agent, &question, log, control).await,
        JudgeConnection::Api(endpoint) => api_judge::ask_api(endpoint, &question, log, control).await,
    }
}

impl JudgeReply {
    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Self { text: Err(reason.into()), model: None, spend: ModelSpend::default(), leftovers: 0 }
    }
}
