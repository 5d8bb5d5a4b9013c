//! Answers the hook events of a session's program. If ralph fails, the session may stop, so that an error in ralph never
//! keeps a session from ending.
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_core::session_loop::{PromptCommand, SessionNotice, parse_prompt_command};
use ralph_engine::session_driver::{
    HookCall, HookError, HookEvent, HookLog, HookPayload, HookProtocol, HookReply, LoopStore, SessionKey,
    find_loop_folder, hook_deadline,
};

use super::find_loop_store;
use crate::error::{AppError, AppResult};

/// One event of a session.
pub struct HookRequest {
    /// The program that runs the session.
    pub host: &'static dyn HookProtocol,
    pub payload: HookPayload,
    /// When the program has called the hook.
    pub started: Instant,
    /// How long the program waits for the answer.
    pub time_limit: Duration,
}

/// A prompt of the user that contains a slash command.
#[derive(Debug, Clone, Copy)]
pub struct PromptCall<'a> {
    pub session: &'a SessionKey,
    /// The folder of the session, if the program reports it.
    pub folder: Option<&'a Path>,
    /// The transcript of the session, if the program reports it.
    pub transcript: Option<&'a Path>,
    /// When checks must be finished, because the program waits for the answer.
    pub deadline: Instant,
}

/// The reply to the program.
#[derive(Debug)]
pub struct HookAnswer {
    pub reply: HookReply,
    /// Messages for the person who watches the hook.
    pub notes: Vec<String>,
    /// Messages for the hook log.
    pub log_messages: Vec<String>,
}

impl HookAnswer {
    fn allow() -> Self {
        Self::from_reply(HookReply::Allow { notices: Vec::new() })
    }

    fn from_reply(reply: HookReply) -> Self {
        Self { reply, notes: Vec::new(), log_messages: Vec::new() }
    }
}

/// Answers an event. A slash command in a prompt is answered by `answer_command`.
pub fn answer_hook_event(
    request: HookRequest,
    answer_command: impl FnOnce(PromptCommand<'_>, &PromptCall<'_>) -> HookReply,
) -> AppResult<HookAnswer> {
    let HookRequest { host, payload, started, time_limit } = request;
    let Some(session) = payload.non_empty_session_id().map(str::to_owned) else {
        return Ok(HookAnswer {
            notes: vec!["the event has no session id; nothing was done".to_owned()],
            log_messages: vec!["an event had no session id; nothing was done".to_owned()],
            ..HookAnswer::allow()
        });
    };
    let (folder, transcript) = (payload.cwd.clone(), payload.transcript_path.clone());
    let incoming = host.parse_event(payload);
    if let HookEvent::Prompt { text } = &incoming {
        let key = SessionKey::new(Some(host.name()), &session);
        let (folder, transcript) = (folder.as_deref(), transcript.as_deref());
        let deadline = hook_deadline(started, time_limit);
        let call = PromptCall { session: &key, folder, transcript, deadline };
        let reply = parse_prompt_command(text).map(|command| answer_command(command, &call));
        return Ok(reply.map_or_else(HookAnswer::allow, HookAnswer::from_reply));
    }
    let loop_store = find_loop_store()?;
    let variable = |name: &str| std::env::var_os(name);
    let call = HookCall { store: &loop_store, host, session_id: &session, started, time_limit, env_var: &variable };
    let response = call.respond_to(incoming).map_err(|error| match error {
        HookError::Store(error) => error.into(),
        HookError::Process(_) | HookError::Runtime(_) => AppError::internal(&error),
    })?;
    Ok(HookAnswer { reply: response.reply, notes: response.log_messages.clone(), log_messages: response.log_messages })
}

/// Lets the session stop after an error, with a notice if a loop may be active.
pub fn allow_stop_after_error(host: &dyn HookProtocol, problem: &str, log_message: String) -> HookAnswer {
    let may_be_active = |folder| LoopStore::new(folder).may_have_active_loop(host.name());
    let needs_notice = find_loop_folder(|name| std::env::var_os(name)).is_ok_and(may_be_active);
    let notice = Some(SessionNotice::ralph_failed(problem)).filter(|_| needs_notice);
    let reply = HookReply::Allow { notices: notice.into_iter().collect() };
    HookAnswer { log_messages: vec![log_message], ..HookAnswer::from_reply(reply) }
}

/// Appends messages to the hook log. Errors are ignored, because the messages are printed too.
pub fn append_hook_log(host: &dyn HookProtocol, messages: &[String]) {
    let Ok(folder) = find_loop_folder(|name| std::env::var_os(name)) else { return };
    let log = HookLog::new(&folder);
    for message in messages {
        let _ = log.append_line(&format!("{}: {message}", host.name()));
    }
}
