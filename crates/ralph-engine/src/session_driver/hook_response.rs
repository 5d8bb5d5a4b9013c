//! Responds to one event of a session: reads the loop, lets the core decide, stores the decision, then replies. A stop
//! is handled under a lock; a second hook for the same stop lets the session stop.
use std::ffi::OsString;
use std::time::{Duration, Instant};

use ralph_core::session_loop::{
    CapResetRule, SessionAction, SessionDecision, SessionLoopEvent, SessionNotice, TurnEnd,
};

use super::apply_event::apply_event;
use super::loop_checks::{CheckProgress, LoopCheckRun};
use super::loop_file::LoopFile;
use super::loop_preparation::hook_deadline;
use super::loop_recorder::LoopRecordError;
use super::loop_store::{LoopStore, LoopStoreError, SessionKey, sleep_blocking};
use super::session_clock::format_timestamp;
use super::transcript_tail::{
    LastMessage, TRANSCRIPT_WRITE_TIMEOUT, TranscriptPosition, TranscriptReader, has_used_tool,
};
use super::transcript_usage::{TranscriptUsage, count_usage};
use crate::git;
use ralph_agents::hooks::{HookEvent, HookProtocol, HookReply, MessageSource, TurnStop};
use ralph_process::{Keeper, ProcessError};
use ralph_util::digest::sha256_hex;

/// How often a waiting hook checks whether the loop was ended.
const LOOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Store(#[from] LoopStoreError),
    #[error("cannot run the checks")]
    Process(#[from] ProcessError),
    #[error("cannot start the runtime for the checks")]
    Runtime(#[source] std::io::Error),
}

/// One call of a hook.
pub struct HookCall<'a> {
    pub store: &'a LoopStore,
    pub host: &'static dyn HookProtocol,
    pub session_id: &'a str,
    pub started: Instant,
    /// How long the host waits for the hook.
    pub time_limit: Duration,
    pub env_var: &'a dyn Fn(&str) -> Option<OsString>,
}

/// The reply to the host, and messages for the hook log.
#[derive(Debug)]
pub struct HookResponse {
    pub reply: HookReply,
    pub log_messages: Vec<String>,
}

impl HookResponse {
    fn allow_stop() -> Self {
        Self { reply: HookReply::Allow { notices: Vec::new() }, log_messages: Vec::new() }
    }
}

impl HookCall<'_> {
    /// Responds to an event. Prompts of the user are handled elsewhere.
    pub fn respond_to(&self, event: HookEvent) -> Result<HookResponse, HookError> {
        match event {
            HookEvent::Stop(stop) => self.handle_stop(&stop),
            HookEvent::Error { name } => self.handle_session_event(SessionLoopEvent::SessionError { name }),
            HookEvent::Deleted => self.handle_session_event(SessionLoopEvent::SessionDeleted),
            HookEvent::Prompt { .. } | HookEvent::Other => Ok(HookResponse::allow_stop()),
        }
    }

    fn session_key(&self) -> SessionKey {
        SessionKey::new(Some(self.host.name()), self.session_id)
    }

    fn handle_session_event(&self, event: SessionLoopEvent) -> Result<HookResponse, HookError> {
        let Some((key, entry)) = self.store.find_with_key(&self.session_key())? else {
            return Ok(HookResponse::allow_stop());
        };
        let mut log_messages = Vec::new();
        let decision = self.apply_to_loop(&key, &entry, &mut log_messages, |_| event)?;
        Ok(HookResponse { reply: HookReply::Allow { notices: decision.notices }, log_messages })
    }

    fn handle_stop(&self, stop: &TurnStop) -> Result<HookResponse, HookError> {
        let Some((key, entry)) = self.store.find_with_key(&self.session_key())? else {
            return Ok(HookResponse::allow_stop());
        };
        if !entry.loop_state.is_active() {
            return Ok(HookResponse::allow_stop());
        }
        // The keeper must be forked before the lock is taken, or it would hold the lock too.
        let keeper = if entry.loop_state.has_verification() { Some(Keeper::start()?) } else { None };
        let Some(_lock) = self.store.try_lock_stop(&key)? else {
            let log_messages = vec!["another hook is deciding about this stop".to_owned()];
            let notice = SessionNotice::already_answered(
                entry.loop_state.current_iteration(),
                entry.loop_state.max_iterations(),
            );
            return Ok(HookResponse { reply: HookReply::Allow { notices: vec![notice] }, log_messages });
        };
        let (message, mut log_messages) = self.find_last_message(stop, &entry);
        let usage = self.count_usage(stop, &entry);
        let now = worktree_state(&entry);
        let turn_end = TurnEnd {
            spend: usage.map(|usage| usage.spend).unwrap_or_default(),
            has_changes: now.as_ref().map(|now| entry.worktree_state.as_ref() != Some(now)),
            ..self.build_turn_end(stop, message.clone())
        };
        let mut notices = Vec::new();
        let decision = self.apply_to_loop(&key, &entry, &mut log_messages, |entry| {
            notices = std::mem::take(&mut entry.pending_notices);
            entry.usage_offset = usage.map(|usage| usage.read_until).or(entry.usage_offset);
            entry.worktree_state = now.or(entry.worktree_state.take());
            entry.transcript_position = stop.transcript.as_deref().and_then(TranscriptPosition::at_end_of);
            entry.last_message_digest = stop.message.as_ref().map(|text| (text.len(), sha256_hex(text)));
            SessionLoopEvent::TurnEnded(turn_end)
        })?;
        let decision = match (decision.action, keeper) {
            (SessionAction::RunChecks, Some(keeper)) => {
                let event = self.verify_claim(&key, &entry, keeper, message.unwrap_or_default())?;
                self.apply_to_loop(&key, &entry, &mut log_messages, |_| event)?
            }
            (action, _) => SessionDecision { action, ..decision },
        };
        notices.extend(decision.notices);
        let reply = to_reply(SessionDecision { notices, ..decision });
        Ok(HookResponse { reply: self.wait_before_injection(reply, &key, &entry), log_messages })
    }

    fn apply_to_loop(
        &self,
        key: &SessionKey,
        entry: &LoopFile,
        log_messages: &mut Vec<String>,
        event: impl FnOnce(&mut LoopFile) -> SessionLoopEvent + Send,
    ) -> Result<SessionDecision, HookError> {
        let applied = apply_event(self.store, key, entry, event)?;
        log_messages.extend(applied.record_error.map(|error| describe_record_error(&error)));
        Ok(applied.decision)
    }

    fn build_turn_end(&self, stop: &TurnStop, message: Option<String>) -> TurnEnd {
        TurnEnd {
            message,
            session: self.session_id.to_owned(),
            stop_id: stop_fingerprint(stop),
            is_continuation: stop.is_continuation,
            cap: self.host.capabilities(self.env_var).continuation_cap,
            has_used_tools: self.has_used_tool(stop),
            ..TurnEnd::default()
        }
    }

    /// Returns whether the agent used a tool, if that matters for the block cap of the host.
    fn has_used_tool(&self, stop: &TurnStop) -> Option<bool> {
        self.host
            .capabilities(self.env_var)
            .continuation_cap
            .filter(|cap| cap.reset_rule == CapResetRule::OnToolUse)?;
        has_used_tool(stop.transcript.as_ref()?, self.host).ok().flatten()
    }

    /// Waits before a prompt is injected, so that the session is idle, and drops the prompt if the loop was ended
    /// meanwhile.
    fn wait_before_injection(&self, reply: HookReply, key: &SessionKey, entry: &LoopFile) -> HookReply {
        let is_continued = matches!(reply, HookReply::Continue { .. });
        if !is_continued || !self.host.capabilities(self.env_var).injects_prompts {
            return reply;
        }
        let until = (Instant::now() + Duration::from_millis(entry.delay_ms)).min(self.deadline());
        loop {
            let is_same_loop = |now: LoopFile| now.id == entry.id && now.loop_state.is_active();
            if self.store.find_loop(key).is_ok_and(|now| !now.is_some_and(is_same_loop)) {
                return HookReply::Allow { notices: Vec::new() };
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return reply;
            }
            sleep_blocking(remaining.min(LOOP_POLL_INTERVAL));
        }
    }

    /// Returns the time at which the checks must be finished.
    fn deadline(&self) -> Instant {
        hook_deadline(self.started, self.time_limit)
    }

    /// Finds the agent's last message in the event or in the transcript. Also returns messages for the hook log.
    fn find_last_message(&self, stop: &TurnStop, entry: &LoopFile) -> (Option<String>, Vec<String>) {
        let host = self.host.capabilities(self.env_var);
        let reported = stop.message.as_deref().map(|text| match &entry.last_message_digest {
            Some(digest) if host.is_message_cumulative && stop.is_continuation => text_since_last_stop(text, digest),
            Some(_) | None => text,
        });
        let reported = reported.filter(|text| !text.trim().is_empty()).map(str::to_owned);
        if reported.is_some() && host.message_source == MessageSource::InEvent {
            return (reported, Vec::new());
        }
        let Some(path) = &stop.transcript else { return (reported, Vec::new()) };
        let reader = TranscriptReader { path, host: self.host, last_stop: entry.transcript_position.as_ref() };
        match reader.read_last_message(TRANSCRIPT_WRITE_TIMEOUT) {
            Ok(LastMessage::Text(text)) => (Some(text), Vec::new()),
            Ok(LastMessage::Silent) => (None, Vec::new()),
            Ok(LastMessage::NoConversation) => {
                (reported, vec![format!("the transcript {} contains no message yet", path.display())])
            }
            Err(error) => (reported, vec![format!("the transcript {} cannot be read: {error}", path.display())]),
        }
    }

    /// Adds up the usage since the last stop, if the transcript contains it.
    fn count_usage(&self, stop: &TurnStop, entry: &LoopFile) -> Option<TranscriptUsage> {
        let path = stop.transcript.as_ref()?;
        count_usage(path, entry.usage_offset, &format_timestamp(entry.loop_state.started), self.host).ok()
    }

    fn verify_claim(
        &self,
        key: &SessionKey,
        entry: &LoopFile,
        keeper: Keeper,
        claim: String,
    ) -> Result<SessionLoopEvent, HookError> {
        let check_run = LoopCheckRun {
            store: self.store,
            key,
            loop_file: entry,
            keeper,
            deadline: self.deadline(),
            claim_text: claim,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let checked = runtime.map_err(HookError::Runtime)?.block_on(check_run.run());
        Ok(match checked {
            CheckProgress::Complete(evidence) => SessionLoopEvent::Verified(evidence),
            CheckProgress::OutOfTime { done, total } => SessionLoopEvent::StillChecking { done, total },
        })
    }
}

fn to_reply(decision: SessionDecision) -> HookReply {
    let notices: Vec<SessionNotice> = decision.notices;
    match decision.action {
        SessionAction::Continue { prompt } => HookReply::Continue { prompt, notices },
        SessionAction::AllowStop | SessionAction::RunChecks => HookReply::Allow { notices },
    }
}

fn describe_record_error(error: &LoopRecordError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    format!(
        "the loop continues, but its run is not recorded: {error}{}",
        causes.map(|cause| format!(": {cause}")).collect::<String>()
    )
}

/// Returns the state of the files, if the loop ends when nothing changes.
pub fn worktree_state(entry: &LoopFile) -> Option<String> {
    if entry.loop_state.machine.policy.stall_after == 0 {
        return None;
    }
    let snapshot = git::take_snapshot(&entry.root).ok()?;
    Some(format!("{} {}", snapshot.commit.unwrap_or_default(), snapshot.tree))
}

/// Returns the text since the last stop, for hosts that repeat earlier messages. `digest` is the length and hash of the
/// text at the last stop.
fn text_since_last_stop<'a>(text: &'a str, digest: &(usize, String)) -> &'a str {
    let (length, hash) = digest;
    match text.split_at_checked(*length) {
        Some((before, since)) if sha256_hex(before) == *hash => since,
        Some(_) | None => text,
    }
}

/// Returns an id of a stop, if it can be distinguished from others by the length of the transcript or by the id of the
/// message. The turn id and the text alone may be the same at the next stop.
fn stop_fingerprint(stop: &TurnStop) -> Option<String> {
    let length = stop.transcript.as_ref().and_then(|path| path.metadata().ok()).map(|metadata| metadata.len());
    let is_unique = length.is_some() || stop.message_id.is_some();
    let all = (&stop.turn_id, &stop.message_id, &stop.message, length, stop.is_continuation);
    is_unique.then(|| sha256_hex(format!("{all:?}")))
}
