//! The start of a conversation: protocol version, session and model.
use super::conversation::{AcpConversation, AcpPhase};
use super::message::{AcpConfigOption, AcpResponse};
use super::notifications::AcpPromptEcho;
use super::requests;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::parser::ConversationRequest;
use ralph_util::json::{self, MalformedJson};

/// Agents that continue to replay the old conversation after they have reported it as loaded, so that old and new
/// messages cannot be separated.
const LATE_REPLAY_AGENTS: &[&str] = &["gemini-cli"];

/// How the agent can resume an earlier session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResumeMethod {
    #[default]
    Unsupported,
    /// Replays nothing.
    Resume,
    /// Replays the whole conversation first.
    Load,
}

impl AcpConversation {
    pub(crate) fn handle_initialized(&mut self, response: &AcpResponse<'_>, out: &mut Vec<AgentEvent>) {
        match json::parse_u64(response.protocol_version) {
            Some(requests::PROTOCOL_VERSION) => {}
            Some(other) => {
                let message = format!(
                    "the agent speaks version {other} of the Agent Client Protocol, but ralph speaks version {}",
                    requests::PROTOCOL_VERSION
                );
                return self.fail_conversation(AgentErrorKind::Format, message, out);
            }
            None => {
                let message = "the agent reported no version of the Agent Client Protocol".to_owned();
                return self.fail_conversation(AgentErrorKind::Format, message, out);
            }
        }
        self.resume_method = resume_method(response);
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
                let message = "session not found: the agent has no safe way to resume a session".to_owned();
                self.fail_conversation(AgentErrorKind::Unknown, message, out);
            }
        }
    }

    pub(crate) fn handle_session_opened(
        &mut self,
        response: &AcpResponse<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let requested = self.request.as_ref().and_then(|request| request.session.clone());
        self.session = json::decode_string(response.session).or(requested).or(self.session.take());
        if self.request.is_some() && self.session.is_none() {
            self.fail_conversation(AgentErrorKind::Format, "the agent opened a session without an id".to_owned(), out);
            return Ok(());
        }
        let options = AcpConfigOption::list(response.config_options)?;
        let model_option = options.iter().find(|option| json::as_name(option.category) == "model");
        let models = response.models.unwrap_or_default();
        let model = model_option
            .map_or_else(|| json::decode_string(models.current), |option| json::decode_string(option.current));
        out.push(AgentEvent::Started { session: self.resumable_session(), model: model.clone() });
        self.phase = AcpPhase::RunningTurn;
        match self
            .request
            .as_ref()
            .and_then(|request| request.model.clone())
            .filter(|wanted| Some(wanted) != model.as_ref())
        {
            Some(wanted) => {
                let option_id = model_option.and_then(|option| json::decode_string(option.id));
                self.select_model(option_id, response.models.is_some(), &wanted, out);
            }
            None => self.send_prompt(),
        }
        Ok(())
    }

    /// Returns the session unless the agent cannot resume it, so that no resume is attempted.
    fn resumable_session(&self) -> Option<String> {
        let is_not_resumable = self.request.is_some() && self.resume_method == ResumeMethod::Unsupported;
        self.session.clone().filter(|_| !is_not_resumable)
    }

    /// Requests the model with a config option or with `session/set_model`, whichever the agent supports.
    fn select_model(&mut self, option: Option<String>, has_models: bool, model: &str, out: &mut Vec<AgentEvent>) {
        self.phase = AcpPhase::SelectingModel;
        let session = self.session.clone().unwrap_or_default();
        match option {
            Some(option) => self.send_request(|id| requests::set_config_option_request(id, &session, &option, model)),
            None if has_models => self.send_request(|id| requests::set_model_request(id, &session, model)),
            None => {
                let message = format!("the agent does not support model selection, so {model:?} cannot be selected");
                self.fail_conversation(AgentErrorKind::Model, message, out);
            }
        }
    }
}

fn resume_method(response: &AcpResponse<'_>) -> ResumeMethod {
    let capabilities = response.capabilities.unwrap_or_default();
    let name = response.agent.unwrap_or_default().name;
    let can_resume = json::is_set(capabilities.session_capabilities.unwrap_or_default().resume);
    let can_load = json::is_true(capabilities.load_session) && !LATE_REPLAY_AGENTS.contains(&json::as_name(name));
    match (can_resume, can_load) {
        (true, _) => ResumeMethod::Resume,
        (false, true) => ResumeMethod::Load,
        (false, false) => ResumeMethod::Unsupported,
    }
}
