//! Sends a question to a judge and returns its reply. The core evaluates the reply.
use std::time::Duration;

use ralph_core::attempt::ModelSpend;
use ralph_core::judge::{JudgeEndpoint, JudgeErrorPolicy, JudgeFailure};

use crate::verify::CheckContext;
use crate::verify::judges::agent_judge::{self, AgentJudge};
use crate::verify::judges::api_judge;
use crate::verify::verification_control::VerificationControl;
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

pub(in crate::verify) struct JudgeQuestion<'a> {
    pub(in crate::verify) text: &'a str,
    /// The model of the criterion, else of the settings.
    pub(in crate::verify) model: Option<&'a str>,
    pub(in crate::verify) timeout: Duration,
    /// The name of the log, without its ending.
    pub(in crate::verify) log_name: &'a str,
}

/// The text of a judge's answer or the reason of its failure, and its usage.
pub(in crate::verify) struct JudgeReply {
    pub(in crate::verify) text: Result<String, JudgeFailure>,
    pub(in crate::verify) model: Option<String>,
    pub(in crate::verify) spend: ModelSpend,
    pub(in crate::verify) leftovers: u32,
}

/// Sends one question. Question and answer are written to the log.
pub(in crate::verify) async fn ask_judge(
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
    pub(in crate::verify) fn failed(reason: impl Into<String>) -> Self {
        let failure = JudgeFailure::Permanent { reason: reason.into() };
        Self { text: Err(failure), model: None, spend: ModelSpend::default(), leftovers: 0 }
    }
}
