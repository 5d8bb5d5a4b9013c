//! The conversation with an ACP agent as a pure state machine: initialize, open a session, optionally select the model,
//! send one prompt, finish. Incoming messages become events; outgoing messages are queued until the caller writes them.
//! Without a request it only parses, so that a recorded conversation yields the same events.
use super::handshake::ResumeMethod;
use super::message::{AcpMessage, AcpResponse, AcpSessionNotification};
use super::notifications::AcpPromptEcho;
use super::requests;
use super::rpc_error;
use super::tool_calls::AcpToolCalls;
use super::turn::AcpTurn;
use super::usage::AcpUsageTracker;
use crate::event::{AgentErrorKind, AgentEvent, AgentFailure};
use crate::fatal_error::push_fatal_error;
use crate::parser::{ConversationRequest, PendingStdin, PriorUsage, RecordReader, RecordStatus, StdinDisposition};
use ralph_util::json::{self, MalformedJson, RawJson};

/// Longer request ids are ignored.
const MAX_REQUEST_ID_BYTES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct AcpConversation {
    /// The input of the conversation; `None` when a recording is parsed.
    pub(super) request: Option<ConversationRequest>,
    pub(super) phase: AcpPhase,
    /// The id of the last request that was sent.
    pub(super) last_request_id: u64,
    pub(super) resume_method: ResumeMethod,
    pub(super) session: Option<String>,
    pub(super) prompt_echo: AcpPromptEcho,
    pub(super) turn: AcpTurn,
    pub(super) tool_calls: AcpToolCalls,
    pub(super) usage: AcpUsageTracker,
    pub(super) pending_stdin: PendingStdin,
    pub(super) is_cancelled: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcpPhase {
    #[default]
    Initializing,
    OpeningSession,
    SelectingModel,
    RunningTurn,
    Finished,
}

impl RecordReader for AcpConversation {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let message = AcpMessage::of_line(line)?;
        if json::as_name(message.version) != "2.0" {
            return Ok(RecordStatus::Unknown);
        }
        match (message.method, message.id.filter(|id| *id != b"null" && id.len() <= MAX_REQUEST_ID_BYTES)) {
            (Some(method), Some(id)) => self.handle_request(id, json::as_name(Some(method)), message.params, out),
            (Some(method), None) if json::as_name(Some(method)) == "session/update" => {
                let notice = AcpSessionNotification::of(message.params)?;
                self.handle_session_update(&notice, out)?;
            }
            (Some(_), None) => {}
            (None, Some(id)) => self.handle_response(id, &message, out)?,
            (None, None) => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }

    fn finish_stream(&mut self, out: &mut Vec<AgentEvent>) {
        let awaited = match self.phase {
            _ if self.request.is_none() => return,
            AcpPhase::Initializing => {
                "initialize (does the program speak the Agent Client Protocol, and with these arguments?)"
            }
            AcpPhase::OpeningSession => "the session request",
            AcpPhase::SelectingModel => "the model selection",
            AcpPhase::RunningTurn => "session/prompt",
            AcpPhase::Finished => return,
        };
        let message = format!("the agent exited before it answered {awaited}");
        self.fail_conversation(AgentErrorKind::Crash, message, out);
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.usage.continue_from(before);
    }

    fn skip_display_events(&mut self) {
        self.tool_calls.skip_display_events();
    }

    fn start_conversation(&mut self, request: ConversationRequest) {
        self.request = Some(request);
        self.send_request(requests::initialize_request);
    }

    fn take_pending_stdin(&mut self) -> PendingStdin {
        std::mem::take(&mut self.pending_stdin)
    }

    fn interrupt_turn(&mut self) {
        if let (AcpPhase::RunningTurn, Some(_), Some(session), false) =
            (self.phase, &self.request, &self.session, self.is_cancelled)
        {
            self.is_cancelled = true;
            self.pending_stdin.bytes.extend(requests::cancel_notification(session));
        }
    }

    fn is_opening_session(&self) -> bool {
        self.request.is_some()
            && matches!(self.phase, AcpPhase::Initializing | AcpPhase::OpeningSession | AcpPhase::SelectingModel)
    }

    fn is_conversation_over(&self) -> bool {
        self.request.is_some() && self.phase == AcpPhase::Finished
    }
}

impl AcpConversation {
    pub(super) fn send_request(&mut self, request: impl FnOnce(u64) -> Vec<u8>) {
        self.last_request_id += 1;
        self.pending_stdin.bytes.extend(request(self.last_request_id));
    }

    pub(super) fn fail_conversation(&mut self, kind: AgentErrorKind, message: String, out: &mut Vec<AgentEvent>) {
        push_fatal_error(kind, message, out);
        self.finish_conversation(false, out);
    }

    /// Ends the conversation. A process receives only one prompt.
    pub(super) fn finish_conversation(&mut self, ok: bool, out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Finished { ok });
        if self.request.is_some() {
            self.phase = AcpPhase::Finished;
            self.pending_stdin.disposition = StdinDisposition::Close;
        }
    }

    /// Handles a response to one of our requests.
    fn handle_response(
        &mut self,
        id: RawJson<'_>,
        message: &AcpMessage<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let response = AcpResponse::of(message.result)?;
        let error = message.error.filter(|error| *error != b"null");
        if !self.is_awaited_response(id, &response, error.is_some()) {
            return Ok(());
        }
        if let Some(error) = error {
            self.handle_error_response(rpc_error::classify_rpc_error(error)?, out);
            return Ok(());
        }
        match self.phase {
            AcpPhase::Initializing => self.handle_initialized(&response, out),
            AcpPhase::OpeningSession => self.handle_session_opened(&response, out)?,
            AcpPhase::SelectingModel => self.send_prompt(),
            AcpPhase::RunningTurn => self.handle_turn_ended(&response, out),
            AcpPhase::Finished => {}
        }
        Ok(())
    }

    /// Returns whether a response answers the pending request. In a recording the requests are unknown, so the response
    /// is identified by its members.
    fn is_awaited_response(&self, id: RawJson<'_>, response: &AcpResponse<'_>, is_error: bool) -> bool {
        if self.request.is_some() {
            return json::parse_u64(Some(id)) == Some(self.last_request_id);
        }
        is_error
            || match self.phase {
                AcpPhase::Initializing => response.protocol_version.is_some(),
                AcpPhase::OpeningSession => response.sessions.is_none(),
                AcpPhase::RunningTurn => response.stop_reason.is_some(),
                AcpPhase::SelectingModel | AcpPhase::Finished => false,
            }
    }

    fn handle_error_response(&mut self, failure: AgentFailure, out: &mut Vec<AgentEvent>) {
        let AgentFailure { kind, message: reason } = failure;
        self.turn.end_message(out);
        match self.phase {
            AcpPhase::Initializing => {
                self.fail_conversation(kind, format!("the agent refused initialize: {reason}"), out);
            }
            AcpPhase::OpeningSession if self.is_session_lost(kind) => {
                let message = format!("session not found, or no longer usable: {reason}");
                self.fail_conversation(kind, message, out);
            }
            AcpPhase::OpeningSession => {
                self.fail_conversation(kind, format!("the agent did not open a session: {reason}"), out);
            }
            AcpPhase::SelectingModel => {
                self.fail_conversation(AgentErrorKind::Model, format!("the agent refused the model: {reason}"), out);
            }
            AcpPhase::RunningTurn => self.fail_conversation(kind, reason, out),
            AcpPhase::Finished => {}
        }
    }

    /// Some agents report a lost session only as a general error. No model request was made yet, so any error that does
    /// not concern the account concerns the session.
    fn is_session_lost(&self, kind: AgentErrorKind) -> bool {
        let is_old = self.request.as_ref().is_some_and(|request| request.session.is_some());
        is_old && !matches!(kind, AgentErrorKind::Auth | AgentErrorKind::Budget | AgentErrorKind::RateLimit)
    }

    pub(super) fn send_prompt(&mut self) {
        self.phase = AcpPhase::RunningTurn;
        if let (Some(request), Some(session)) = (&self.request, self.session.clone()) {
            let prompt = request.prompt.clone();
            self.send_request(|id| requests::prompt_request(id, &session, &prompt));
        }
    }

    fn handle_turn_ended(&mut self, response: &AcpResponse<'_>, out: &mut Vec<AgentEvent>) {
        self.turn.end_message(out);
        let usage = self.usage.finish_turn(response);
        let has_answered = usage.is_some();
        out.extend(usage);
        let failure = match json::as_name(response.stop_reason) {
            "end_turn" => self.turn.failure_in_message().filter(|_| !has_answered),
            "max_tokens" => {
                Some(AgentFailure::new(AgentErrorKind::Unknown, "the model's answer was cut off at the token limit"))
            }
            "max_turn_requests" => {
                Some(AgentFailure::new(AgentErrorKind::Budget, "the agent reached its maximum number of turns"))
            }
            "refusal" => Some(AgentFailure::new(AgentErrorKind::Unknown, "the agent refused to continue")),
            "cancelled" => Some(AgentFailure::new(AgentErrorKind::Crash, "the agent's turn was cancelled")),
            other => {
                let message = format!("the agent's turn ended for an unknown reason: {other:?}");
                Some(AgentFailure::new(AgentErrorKind::Format, message))
            }
        };
        match failure {
            Some(AgentFailure { kind, message }) => self.fail_conversation(kind, message, out),
            None => self.finish_conversation(true, out),
        }
    }
}
