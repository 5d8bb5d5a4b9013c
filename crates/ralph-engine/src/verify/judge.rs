//! Sends a question to a judge and returns its reply. The core evaluates the reply.
use std::time::Duration;

use ralph_core::attempt::ModelSpend;
use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy, JudgeFailure};

use super::agent_judge::{self, AgentJudge};
use super::verification_control::VerificationControl;
use super::{CheckContext, api_judge};
use ralph_process::RawLog;

/// The configured judge, and the policy for the case that it fails.
pub struct ClaimJudge {
    /// The name in the configuration.
    pub name: String,
    pub connection: JudgeConnection,
    pub model: Option<String>,
    pub on_error: JudgeErrorPolicy,
    pub timeout: Duration,
    /// The commit from which the work started.
    pub base: String,
}

pub enum JudgeConnection {
    Agent(AgentJudge),
    Api(JudgeEndpoint),
}

pub(super) struct JudgeQuestion<'a> {
    pub(super) text: &'a str,
    /// The model of the criterion, else of the settings.
    pub(super) model: Option<&'a str>,
    pub(super) timeout: Duration,
    /// The name of the log, without its ending.
    pub(super) log_name: &'a str,
}

/// The text of a judge's answer or the reason of its failure, and its usage.
pub(super) struct JudgeReply {
    pub(super) text: Result<String, JudgeFailure>,
    pub(super) model: Option<String>,
    pub(super) spend: ModelSpend,
    pub(super) leftovers: u32,
}

/// Sends one question. Question and answer are written to the log.
pub(super) async fn ask_judge(
    context: &CheckContext,
    judge: &ClaimJudge,
    question: &JudgeQuestion<'_>,
    mut log: RawLog,
    control: &mut VerificationControl,
) -> JudgeReply {
    log.write(&mut format!("{}\n[ralph: answer of {}]\n", question.text, judge.name).into_bytes());
    match &judge.connection {
        JudgeConnection::Agent(agent) => agent_judge::ask_agent(context, agent, question, log, control).await,
        JudgeConnection::Api(endpoint) => api_judge::ask_api(endpoint, question, log, control).await,
    }
}

impl JudgeReply {
    /// A reply that a retry would not change.
    pub(super) fn failed(reason: impl Into<String>) -> Self {
        let failure = JudgeFailure::Permanent { reason: reason.into() };
        Self { text: Err(failure), model: None, spend: ModelSpend::default(), leftovers: 0 }
    }
}
