//! What the agent does in its turn: what it tells, and what it asks for.
use super::conversation::{AcpConversation, AcpPhase};
use super::message::{
    AcpPermissionOption, AcpPermissionRequest, AcpSessionNotification, AcpSessionUpdate, AcpToolLocation,
};
use super::permission_policy;
use super::requests;
use crate::event::{AgentErrorKind, AgentEvent};
use crate::parser::{ConversationRequest, RecordReader};
use crate::tool_summary;
use ralph_util::json::{self, MalformedJson, RawJson};

/// What the agent repeats of what users said, in a session that was loaded.
#[derive(Debug, Default)]
pub(super) enum AcpPromptEcho {
    #[default]
    Unchecked,
    /// So much of our prompt has come back. Anything else is the old conversation.
    MatchedBytes(usize),
}

impl AcpConversation {
    /// The agent asks something of us, and waits until it is answered. All but permissions it asks in vain.
    pub(super) fn handle_request(
        &mut self,
        id: RawJson<'_>,
        method: &str,
        params: Option<RawJson<'_>>,
        out: &mut Vec<AgentEvent>,
    ) {
        let refusal = match method {
            "session/request_permission" => match self.handle_permission_request(id, params, out) {
                Ok(()) => return,
                Err(MalformedJson) => requests::invalid_params_response(id, method),
            },
            _ => requests::method_not_found_response(id, method),
        };
        if self.request.is_some() && self.phase != AcpPhase::Finished {
            self.pending_stdin.bytes.extend(refusal);
        }
    }

    fn handle_permission_request(
        &mut self,
        id: RawJson<'_>,
        params: Option<RawJson<'_>>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let asked = AcpPermissionRequest::of(params)?;
        let tool = asked.tool_call.unwrap_or_default();
        let (options, mut places) = (AcpPermissionOption::list(asked.options)?, AcpToolLocation::list(tool.locations)?);
        places.extend(AcpToolLocation::list(tool.content)?);
        self.turn.end_message(out);
        self.tool_calls.record_update(&tool, out)?;
        let Some(talk) = &self.request else { return Ok(()) };
        if self.is_cancelled || self.phase != AcpPhase::RunningTurn {
            self.pending_stdin.bytes.extend(requests::permission_response(id, None));
            return Ok(());
        }
        let kind = self.tool_calls.tool_kind(&tool);
        let answer = permission_policy::decide_permission(talk.permission, &kind, &places, &talk.folder);
        let option = permission_policy::choose_option(answer, &options);
        if let Some(refusal) = refusal_excerpt(talk, answer, option.as_deref(), &tool) {
            out.push(AgentEvent::ToolResult { ok: false, excerpt: refusal });
        }
        self.pending_stdin.bytes.extend(requests::permission_response(id, option.as_deref()));
        Ok(())
    }

    /// The agent tells what it does. Only what follows our prompt, in our session, is its work.
    pub(super) fn handle_session_update(
        &mut self,
        notice: &AcpSessionNotification<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), MalformedJson> {
        let update = notice.update.unwrap_or_default();
        let session = json::decode_string(notice.session);
        if self.request.is_none() && self.session.is_none() {
            self.session.clone_from(&session);
        }
        if self.phase != AcpPhase::RunningTurn || session != self.session {
            return Ok(());
        }
        out.extend(self.usage.record_update(&update));
        match json::as_name(update.kind) {
            "agent_message_chunk" => {
                let text = update_text(&update);
                self.turn.push_message_piece(json::decode_string(update.message_id), text, out);
            }
            "agent_thought_chunk" => self.turn.push_thought_piece(&update_text(&update)),
            "user_message_chunk" => self.handle_user_message_echo(&update_text(&update), out),
            "tool_call" | "tool_call_update" => {
                self.turn.end_message(out);
                self.tool_calls.record_update(&update, out)?;
            }
            // Told when a session begins, so what was said before is of another.
            "available_commands_update" => self.turn.end_message(out),
            _ => {}
        }
        Ok(())
    }

    /// The agent repeats what a user said. In a session that was loaded that is our prompt, or the old conversation is
    /// still being told: then nobody knows what of the words to come is new.
    fn handle_user_message_echo(&mut self, text: &str, out: &mut Vec<AgentEvent>) {
        self.turn.end_message(out);
        if let (AcpPromptEcho::MatchedBytes(heard), Some(talk)) = (&mut self.prompt_echo, &self.request) {
            if !talk.prompt.get(*heard..).is_some_and(|rest| rest.starts_with(text)) {
                return self.fail_on_late_replay(out);
            }
            *heard += text.len();
        }
        out.push(AgentEvent::Prompted);
    }

    fn fail_on_late_replay(&mut self, out: &mut Vec<AgentEvent>) {
        self.interrupt_turn();
        let message = "session not found in a usable form: the agent repeats the old conversation after it has said \
                       that it is loaded, so its old words cannot be told from new ones";
        self.fail_conversation(AgentErrorKind::Unknown, message.to_owned(), out);
    }
}

/// Says what was refused, or what could not be allowed because the agent gave no such option.
fn refusal_excerpt(
    talk: &ConversationRequest,
    answer: permission_policy::PermissionDecision,
    option: Option<&str>,
    tool: &AcpSessionUpdate<'_>,
) -> Option<String> {
    let title = tool_summary::summarize_value(tool.title);
    match (answer, option) {
        (permission_policy::PermissionDecision::Allow, Some(_)) => None,
        (permission_policy::PermissionDecision::Allow, None) => {
            Some(format!("the agent offered no way to allow: {title}"))
        }
        (permission_policy::PermissionDecision::Refuse, _) => {
            Some(format!("refused by permission `{}`: {title}", talk.permission))
        }
    }
}

fn update_text(update: &AcpSessionUpdate<'_>) -> String {
    let [text] = json::pick_members_or_none(update.content, ["text"]);
    json::decode_string(text).unwrap_or_default()
}
