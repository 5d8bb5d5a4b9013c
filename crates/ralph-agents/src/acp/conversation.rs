//! The talk with an agent: what it says becomes events, and what it must be told next is kept until somebody takes it.
//! Phase by phase: greeting, session, perhaps the model, one prompt, the end. Nothing here waits or does anything.
//! Without something to talk about it only listens: the agent's side of somebody else's talk becomes the same events.
use super::handshake::ResumeMethod;
use super::message::{AcpMessage, AcpResponse, AcpSessionNotification};
use super::notifications::AcpPromptEcho;
use super::requests;
use super::rpc_error;
use super::tool_calls::AcpToolCalls;
use super::turn::AcpTurn;
use super::usage::AcpUsageTracker;
use crate::event::{AgentErrorKind, AgentEvent};
use crate::fatal_error::push_fatal_error;
use crate::parser::{ConversationRequest, PendingStdin, PriorUsage, RecordReader, RecordStatus, StdinDisposition};
use ralph_util::json::{self, MalformedJson, RawJson};

/// Longer ids no agent gives.
const MAX_REQUEST_ID_BYTES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct AcpConversation {
    /// What it is about; `None` where it is somebody else's.
    pub(super) request: Option<ConversationRequest>,
    pub(super) phase: AcpPhase,
    /// The id of our last request.
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
            AcpPhase::Initializing => "initialize: is it one that speaks the Agent Client Protocol, and told to do so?",
            AcpPhase::OpeningSession => "the request for a session",
            AcpPhase::SelectingModel => "the choice of the model",
            AcpPhase::RunningTurn => "session/prompt",
            AcpPhase::Finished => return,
        };
        let message = format!("the agent ended before it had answered {awaited}");
        self.fail_conversation(AgentErrorKind::Crash, message, out);
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.usage.continue_from(before);
    }

    fn skip_display_events(&mut self) {
        self.tool_calls.skip_display_events();
    }

    fn start_conversation(&mut self, talk: ConversationRequest) {
        self.request = Some(talk);
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

    /// Ends the talk: one process, one prompt.
    pub(super) fn finish_conversation(&mut self, ok: bool, out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Finished { ok });
        if self.request.is_some() {
            self.phase = AcpPhase::Finished;
            self.pending_stdin.disposition = StdinDisposition::Close;
        }
    }

    /// The agent answers a request of ours.
    fn handle_response(
        &mut self,
        id: RawJson<'_>,
        message: &AcpMessage<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let answer = AcpResponse::of(message.result)?;
        let error = message.error.filter(|error| *error != b"null");
        if !self.is_awaited_response(id, &answer, error.is_some()) {
            return Ok(());
        }
        if let Some(error) = error {
            let (kind, why) = rpc_error::classify_rpc_error(error)?;
            self.handle_error_response(kind, why, out);
            return Ok(());
        }
        match self.phase {
            AcpPhase::Initializing => self.handle_initialized(&answer, out),
            AcpPhase::OpeningSession => self.handle_session_opened(&answer, out)?,
            AcpPhase::SelectingModel => self.send_prompt(),
            AcpPhase::RunningTurn => self.handle_turn_ended(&answer, out),
            AcpPhase::Finished => {}
        }
        Ok(())
    }

    /// Somebody else's requests are not known, but answers differ by what is in them.
    fn is_awaited_response(&self, id: RawJson<'_>, answer: &AcpResponse<'_>, is_error: bool) -> bool {
        if self.request.is_some() {
            return json::parse_u64(Some(id)) == Some(self.last_request_id);
        }
        is_error
            || match self.phase {
                AcpPhase::Initializing => answer.protocol_version.is_some(),
                AcpPhase::OpeningSession => answer.sessions.is_none(),
                AcpPhase::RunningTurn => answer.stop_reason.is_some(),
                AcpPhase::SelectingModel | AcpPhase::Finished => false,
            }
    }

    fn handle_error_response(&mut self, kind: AgentErrorKind, why: String, out: &mut Vec<AgentEvent>) {
        self.turn.end_message(out);
        match self.phase {
            AcpPhase::Initializing => self.fail_conversation(kind, format!("the agent refused initialize: {why}"), out),
            AcpPhase::OpeningSession if self.is_session_lost(kind) => {
                let message = format!("session not found, or of no use to the agent any more: {why}");
                self.fail_conversation(kind, message, out);
            }
            AcpPhase::OpeningSession => {
                self.fail_conversation(kind, format!("the agent opened no session: {why}"), out);
            }
            AcpPhase::SelectingModel => {
                self.fail_conversation(AgentErrorKind::Model, format!("the agent refused the model: {why}"), out);
            }
            AcpPhase::RunningTurn => self.fail_conversation(kind, why, out),
            AcpPhase::Finished => {}
        }
    }

    /// Some agents say no more of a session that is gone than that something went wrong. No model was asked yet, so what
    /// is not a matter of the account is one of the session.
    fn is_session_lost(&self, kind: AgentErrorKind) -> bool {
        let is_old = self.request.as_ref().is_some_and(|talk| talk.session.is_some());
        is_old && !matches!(kind, AgentErrorKind::Auth | AgentErrorKind::Budget | AgentErrorKind::RateLimit)
    }

    pub(super) fn send_prompt(&mut self) {
        self.phase = AcpPhase::RunningTurn;
        if let (Some(talk), Some(session)) = (&self.request, self.session.clone()) {
            let prompt = talk.prompt.clone();
            self.send_request(|id| requests::prompt_request(id, &session, &prompt));
        }
    }

    fn handle_turn_ended(&mut self, answer: &AcpResponse<'_>, out: &mut Vec<AgentEvent>) {
        self.turn.end_message(out);
        let usage = self.usage.finish_turn(answer);
        let has_answered = usage.is_some();
        out.extend(usage);
        let stop = match json::as_name(answer.stop_reason) {
            "end_turn" => self.turn.failure_in_message().filter(|_| !has_answered),
            "max_tokens" => {
                Some((AgentErrorKind::Unknown, "the model's answer was cut off at its limit of tokens".into()))
            }
            "max_turn_requests" => {
                Some((AgentErrorKind::Budget, "the agent reached its maximum number of turns".into()))
            }
            "refusal" => Some((AgentErrorKind::Unknown, "the agent refused to go on".into())),
            "cancelled" => Some((AgentErrorKind::Crash, "the agent's turn was cancelled".into())),
            other => Some((AgentErrorKind::Format, format!("the agent's turn ended for an unknown reason: {other:?}"))),
        };
        match stop {
            Some((kind, message)) => self.fail_conversation(kind, message, out),
            None => self.finish_conversation(true, out),
        }
    }
}
