//! Messages that the agent sends during its turn: session updates and requests.
use super::conversation::{AcpConversation, AcpPhase};
use super::message::{
    AcpPermissionOption, AcpPermissionRequest, AcpSessionNotification, AcpSessionUpdate, AcpToolLocation,
};
use super::permission_policy;
use super::requests;
use crate::stream::event::{AgentErrorKind, AgentEvent, permission_denied_event};
use crate::stream::parser::{ConversationRequest, RecordReader};
use crate::stream::tool_summary;
use ralph_util::json::{self, MalformedJson, RawJson};

/// How much of our prompt the agent has echoed, in a session that was loaded.
#[derive(Debug, Default)]
pub(crate) enum AcpPromptEcho {
    #[default]
    Unchecked,
    /// This many bytes of our prompt have been echoed. Any other user text belongs to the old conversation.
    MatchedBytes(usize),
}

impl AcpConversation {
    /// Answers a request of the agent. All requests except permission requests are rejected.
    pub(crate) fn handle_request(
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
        let request = AcpPermissionRequest::of(params)?;
        let tool = request.tool_call.unwrap_or_default();
        let (options, mut locations) =
            (AcpPermissionOption::list(request.options)?, AcpToolLocation::list(tool.locations)?);
        locations.extend(AcpToolLocation::list(tool.content)?);
        self.turn.end_message(out);
        self.tool_calls.record_update(&tool, out)?;
        let Some(conversation) = &self.request else { return Ok(()) };
        if self.is_cancelled || self.phase != AcpPhase::RunningTurn {
            self.pending_stdin.bytes.extend(requests::permission_response(id, None));
            return Ok(());
        }
        let kind = self.tool_calls.tool_kind(&tool);
        let command = requested_command(&tool);
        let rules = permission_policy::PermissionRules {
            level: conversation.permission,
            work_scope: &conversation.work_scope,
            folder: &conversation.folder,
        };
        let action =
            permission_policy::RequestedAction { kind: &kind, locations: &locations, command: command.as_deref() };
        let decision = permission_policy::decide_permission(rules, action);
        let option = permission_policy::choose_option(decision, &options);
        if let Some(refusal) = refusal_excerpt(conversation, decision, option.as_deref(), &tool) {
            out.push(AgentEvent::ToolResult { ok: false, excerpt: refusal });
            out.push(permission_denied_event(&kind, &denied_action(&tool)));
        }
        self.pending_stdin.bytes.extend(requests::permission_response(id, option.as_deref()));
        Ok(())
    }

    /// Handles a session update. Only updates in our session after our prompt are part of the work.
    pub(crate) fn handle_session_update(
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
            // Sent when a session starts, so earlier text belongs to another session.
            "available_commands_update" => self.turn.end_message(out),
            _ => {}
        }
        Ok(())
    }

    /// Handles user text that the agent echoes. In a loaded session it must be our prompt. Otherwise the agent still
    /// replays the old conversation, and its old and new messages cannot be separated.
    fn handle_user_message_echo(&mut self, text: &str, out: &mut Vec<AgentEvent>) {
        self.turn.end_message(out);
        if let (AcpPromptEcho::MatchedBytes(matched), Some(conversation)) = (&mut self.prompt_echo, &self.request) {
            if !conversation.prompt.get(*matched..).is_some_and(|rest| rest.starts_with(text)) {
                return self.fail_on_late_replay(out);
            }
            *matched += text.len();
        }
        out.push(AgentEvent::Prompted);
    }

    fn fail_on_late_replay(&mut self, out: &mut Vec<AgentEvent>) {
        self.interrupt_turn();
        let message = "session not found in a usable form: the agent continues to replay the old conversation after \
                       reporting it as loaded, so old and new messages cannot be separated";
        self.fail_conversation(AgentErrorKind::Unknown, message.to_owned(), out);
    }
}

/// Returns the command line that a tool is about to run. A title is written for people, so it proves nothing.
fn requested_command(tool: &AcpSessionUpdate<'_>) -> Option<String> {
    let [command] = json::pick_members_or_none(tool.input, ["command"]);
    json::decode_string(command)
}

fn denied_action(tool: &AcpSessionUpdate<'_>) -> String {
    let detail = tool_summary::summarize_tool_input(tool.input);
    if detail.is_empty() { tool_summary::summarize_value(tool.title) } else { detail }
}

/// Describes a refused request, or one that could not be allowed because the agent offered no such option.
fn refusal_excerpt(
    request: &ConversationRequest,
    decision: permission_policy::PermissionDecision,
    option: Option<&str>,
    tool: &AcpSessionUpdate<'_>,
) -> Option<String> {
    let title = tool_summary::summarize_value(tool.title);
    match (decision, option) {
        (permission_policy::PermissionDecision::Allow, Some(_)) => None,
        (permission_policy::PermissionDecision::Allow, None) => {
            Some(format!("the agent offered no option to allow: {title}"))
        }
        (permission_policy::PermissionDecision::Refuse, _) => {
            Some(format!("refused by permission `{}`: {title}", request.permission))
        }
    }
}

fn update_text(update: &AcpSessionUpdate<'_>) -> String {
    let [text] = json::pick_members_or_none(update.content, ["text"]);
    json::decode_string(text).unwrap_or_default()
}
