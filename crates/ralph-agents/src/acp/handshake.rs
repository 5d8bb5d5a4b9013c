//! How a talk begins: the version, the session, the model.
use super::conversation::{AcpConversation, AcpPhase};
use super::message::{AcpConfigOption, AcpResponse};
use super::notifications::AcpPromptEcho;
use super::requests;
use crate::event::{AgentErrorKind, AgentEvent};
use crate::parser::ConversationRequest;
use ralph_util::json::{self, MalformedJson};

/// Agents that go on with the old conversation after they have said that it is loaded. What of it is new nobody can tell.
const LATE_REPLAY_AGENTS: &[&str] = &["gemini-cli"];

/// How the agent goes on with a session of before.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeMethod {
    #[default]
    Unsupported,
    /// Repeats nothing.
    Resume,
    /// Repeats the whole conversation first.
    Load,
}

impl AcpConversation {
    pub(super) fn handle_initialized(&mut self, answer: &AcpResponse<'_>, out: &mut Vec<AgentEvent>) {
        match json::parse_u64(answer.protocol_version) {
            Some(requests::PROTOCOL_VERSION) => {}
            Some(other) => {
                let message = format!(
                    "the agent speaks version {other} of the Agent Client Protocol, and ralph speaks {}",
                    requests::PROTOCOL_VERSION
                );
                return self.fail_conversation(AgentErrorKind::Format, message, out);
            }
            None => {
                let message = "the agent named no version of the Agent Client Protocol".to_owned();
                return self.fail_conversation(AgentErrorKind::Format, message, out);
            }
        }
        self.resume_method = resume_method(answer);
        self.phase = AcpPhase::OpeningSession;
        self.open_session(out);
    }

    fn open_session(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(ConversationRequest { session, folder, .. }) = &self.request else { return };
        let (session, folder) = (session.clone(), folder.clone());
        match (session, self.resume_method) {
            (None, _) => self.send_request(|id| requests::new_session_request(id, &folder)),
            (Some(session), ResumeMethod::Resume) => {
                self.send_request(|id| requests::existing_session_request(id, "session/resume", &session, &folder));
            }
            (Some(session), ResumeMethod::Load) => {
                self.prompt_echo = AcpPromptEcho::MatchedBytes(0);
                self.send_request(|id| requests::existing_session_request(id, "session/load", &session, &folder));
            }
            (Some(_), ResumeMethod::Unsupported) => {
                let message = "session not found: the agent offers no safe way to go on with one".to_owned();
                self.fail_conversation(AgentErrorKind::Unknown, message, out);
            }
        }
    }

    pub(super) fn handle_session_opened(
        &mut self,
        answer: &AcpResponse<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let asked_for = self.request.as_ref().and_then(|talk| talk.session.clone());
        self.session = json::decode_string(answer.session).or(asked_for).or(self.session.take());
        if self.request.is_some() && self.session.is_none() {
            self.fail_conversation(AgentErrorKind::Format, "the agent opened a session without an id".to_owned(), out);
            return Ok(());
        }
        let settings = AcpConfigOption::list(answer.config_options)?;
        let of_model = settings.iter().find(|setting| json::as_name(setting.category) == "model");
        let models = answer.models.unwrap_or_default();
        let model = of_model
            .map_or_else(|| json::decode_string(models.current), |of_model| json::decode_string(of_model.current));
        out.push(AgentEvent::Started { session: self.resumable_session(), model: model.clone() });
        self.phase = AcpPhase::RunningTurn;
        match self.request.as_ref().and_then(|talk| talk.model.clone()).filter(|wanted| Some(wanted) != model.as_ref())
        {
            Some(wanted) => {
                let by = of_model.and_then(|of_model| json::decode_string(of_model.id));
                self.select_model(by, answer.models.is_some(), &wanted, out);
            }
            None => self.send_prompt(),
        }
        Ok(())
    }

    /// A session that cannot be gone on with is not named: nobody shall try.
    fn resumable_session(&self) -> Option<String> {
        let is_useless = self.request.is_some() && self.resume_method == ResumeMethod::Unsupported;
        self.session.clone().filter(|_| !is_useless)
    }

    /// Agents offer their models as a setting, or by a request of its own, or not at all.
    fn select_model(&mut self, setting: Option<String>, has_models: bool, model: &str, out: &mut Vec<AgentEvent>) {
        self.phase = AcpPhase::SelectingModel;
        let session = self.session.clone().unwrap_or_default();
        match setting {
            Some(setting) => self.send_request(|id| requests::set_config_option_request(id, &session, &setting, model)),
            None if has_models => self.send_request(|id| requests::set_model_request(id, &session, model)),
            None => {
                let message = format!("the agent offers no choice of models, so {model:?} cannot be chosen");
                self.fail_conversation(AgentErrorKind::Model, message, out);
            }
        }
    }
}

fn resume_method(answer: &AcpResponse<'_>) -> ResumeMethod {
    let can = answer.capabilities.unwrap_or_default();
    let name = answer.agent.unwrap_or_default().name;
    let can_resume = json::is_set(can.session_capabilities.unwrap_or_default().resume);
    let can_load = json::is_true(can.load_session) && !LATE_REPLAY_AGENTS.contains(&json::as_name(name));
    match (can_resume, can_load) {
        (true, _) => ResumeMethod::Resume,
        (false, true) => ResumeMethod::Load,
        (false, false) => ResumeMethod::Unsupported,
    }
}
