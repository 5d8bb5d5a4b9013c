//! The answer to one event of a session: what is kept is read, the rules decide, what they decided is kept, and only then
//! is it told. The right to decide about a stop is taken first; whoever comes second lets the session stop.
use std::ffi::OsString;
use std::time::{Duration, Instant};

use ralph_core::session_loop::{
    CapResetRule, SessionAction, SessionDecision, SessionLoopEvent, SessionNotice, TurnEnd,
};

use super::apply_event::apply_event;
use super::loop_checks::{CheckProgress, LoopCheckRun};
use super::loop_file::LoopFile;
use super::loop_store::{LoopStore, LoopStoreError, SessionKey, sleep_blocking};
use super::session_clock::format_timestamp;
use super::transcript_tail::{LastMessage, TRANSCRIPT_WRITE_TIMEOUT, has_used_tool, read_last_message};
use super::transcript_usage::{TranscriptUsage, count_usage};
use crate::git;
use ralph_agents::hooks::{HookEvent, HookProtocol, HookReply, MessageSource, TurnStop};
use ralph_process::{Keeper, ProcessError};
use ralph_util::digest::sha256_hex;

/// What is left of a hook's time when its checks must be through.
const HOOK_TIME_MARGIN: Duration = Duration::from_secs(15);

/// How often somebody looks whether a loop was ended while it waits.
const LOOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Store(#[from] LoopStoreError),
    #[error("the checks cannot be run")]
    Process(#[from] ProcessError),
    #[error("the checks cannot be waited for")]
    Runtime(#[source] std::io::Error),
}

/// One call of a hook.
pub struct HookCall<'a> {
    pub store: &'a LoopStore,
    pub host: &'static dyn HookProtocol,
    pub session_id: &'a str,
    /// When it began, and how long the host waits for it.
    pub started: Instant,
    pub time_limit: Duration,
    pub env_var: &'a dyn Fn(&str) -> Option<OsString>,
}

/// What came of it, with what somebody should know.
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
    /// Answers an event. A prompt of the user's is answered elsewhere.
    pub fn respond_to(&self, incoming: HookEvent) -> Result<HookResponse, HookError> {
        match incoming {
            HookEvent::Stop(stop) => self.handle_stop(&stop),
            HookEvent::Error { name } => self.handle_session_event(SessionLoopEvent::SessionError { name }),
            HookEvent::Deleted => self.handle_session_event(SessionLoopEvent::SessionDeleted),
            HookEvent::Prompt { .. } | HookEvent::Other => Ok(HookResponse::allow_stop()),
        }
    }

    fn session_key(&self) -> SessionKey {
        SessionKey::new(Some(self.host.name()), self.session_id)
    }

    fn handle_session_event(&self, happening: SessionLoopEvent) -> Result<HookResponse, HookError> {
        let Some((key, entry)) = self.store.find_with_key(&self.session_key())? else {
            return Ok(HookResponse::allow_stop());
        };
        let answer = self.apply_to_loop(&key, &entry.id, |_| happening)?;
        Ok(HookResponse { reply: HookReply::Allow { notices: answer.notices }, log_messages: Vec::new() })
    }

    fn handle_stop(&self, stop: &TurnStop) -> Result<HookResponse, HookError> {
        let Some((key, entry)) = self.store.find_with_key(&self.session_key())? else {
            return Ok(HookResponse::allow_stop());
        };
        if !entry.loop_state.is_active() {
            return Ok(HookResponse::allow_stop());
        }
        // The keeper must be forked before a lock is taken: it would have it too.
        let keeper = if entry.loop_state.criteria.is_empty() { None } else { Some(Keeper::start()?) };
        let Some(_turn) = self.store.try_lock_stop(&key)? else {
            let notes = vec!["another hook is deciding about this stop".to_owned()];
            let notice = SessionNotice::already_answered(
                entry.loop_state.current_iteration(),
                entry.loop_state.max_iterations(),
            );
            return Ok(HookResponse { reply: HookReply::Allow { notices: vec![notice] }, log_messages: notes });
        };
        let (message, notes) = self.find_last_message(stop, &entry);
        let counted = self.count_usage(stop, &entry);
        let idle = TurnEnd {
            spend: counted.map(|counted| counted.spend).unwrap_or_default(),
            ..self.build_idle(stop, message.clone())
        };
        let standing = worktree_state(&entry);
        let has_moved = standing.as_ref().map(|now| entry.worktree_state.as_ref() != Some(now));
        let idle = TurnEnd { has_changes: has_moved, ..idle };
        let answer = self.apply_to_loop(&key, &entry.id, |entry| {
            entry.usage_offset = counted.map(|counted| counted.read_until).or(entry.usage_offset);
            entry.worktree_state = standing.or(entry.worktree_state.take());
            entry.last_message_digest = stop.message.as_ref().map(|said| (said.len(), sha256_hex(said)));
            SessionLoopEvent::TurnEnded(idle)
        })?;
        let answer = match (answer.action, keeper) {
            (SessionAction::RunChecks, Some(keeper)) => {
                self.verify_claim((&key, &entry), keeper, message.unwrap_or_default())?
            }
            (act, _) => SessionDecision { action: act, ..answer },
        };
        Ok(HookResponse { reply: self.wait_before_injection(to_reply(answer), (&key, &entry)), log_messages: notes })
    }

    fn apply_to_loop(
        &self,
        key: &SessionKey,
        id: &str,
        happening: impl FnOnce(&mut LoopFile) -> SessionLoopEvent,
    ) -> Result<SessionDecision, HookError> {
        Ok(apply_event(self.store, (key, id), happening)?.1)
    }

    fn build_idle(&self, stop: &TurnStop, message: Option<String>) -> TurnEnd {
        TurnEnd {
            message,
            session: self.session_id.to_owned(),
            stop_id: stop_fingerprint(stop),
            is_continuation: stop.is_continuation,
            cap: self.host.capabilities(self.env_var).block_cap,
            has_used_tools: self.has_used_tool(stop),
            ..TurnEnd::default()
        }
    }

    /// Tells whether the agent used a tool, where that makes a difference to its program.
    fn has_used_tool(&self, stop: &TurnStop) -> Option<bool> {
        self.host.capabilities(self.env_var).block_cap.filter(|cap| cap.reset_rule == CapResetRule::OnToolUse)?;
        has_used_tool(stop.transcript.as_ref()?, self.host).ok().flatten()
    }

    /// Waits a little where a prompt is put into the session, so that it is at rest, and lets a session alone whose loop was
    /// ended meanwhile.
    fn wait_before_injection(&self, reply: HookReply, (key, entry): (&SessionKey, &LoopFile)) -> HookReply {
        let is_continued = matches!(reply, HookReply::Continue { .. });
        if !is_continued || !self.host.capabilities(self.env_var).injects_prompts {
            return reply;
        }
        let until = (Instant::now() + Duration::from_millis(entry.delay_ms)).min(self.deadline());
        loop {
            let goes_on = |now: LoopFile| now.id == entry.id && now.loop_state.is_active();
            if self.store.find_loop(key).is_ok_and(|now| !now.is_some_and(goes_on)) {
                return HookReply::Allow { notices: Vec::new() };
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return reply;
            }
            sleep_blocking(left.min(LOOP_POLL_INTERVAL));
        }
    }

    /// When everything must be through.
    fn deadline(&self) -> Instant {
        self.started + self.time_limit.saturating_sub(HOOK_TIME_MARGIN.min(self.time_limit / 4))
    }

    /// Finds the agent's last message, where the host has it.
    fn find_last_message(&self, stop: &TurnStop, entry: &LoopFile) -> (Option<String>, Vec<String>) {
        let facts = self.host.capabilities(self.env_var);
        let reported = stop.message.as_deref().map(|said| match &entry.last_message_digest {
            Some(heard) if facts.is_message_cumulative && stop.is_continuation => text_since_last_stop(said, heard),
            Some(_) | None => said,
        });
        let reported = reported.filter(|said| !said.trim().is_empty()).map(str::to_owned);
        if reported.is_some() && facts.message_source == MessageSource::InEvent {
            return (reported, Vec::new());
        }
        let Some(path) = &stop.transcript else { return (reported, Vec::new()) };
        match read_last_message(path, self.host, TRANSCRIPT_WRITE_TIMEOUT) {
            Ok(LastMessage::Text(said)) => (Some(said), Vec::new()),
            Ok(LastMessage::Silent) => (None, Vec::new()),
            Ok(LastMessage::NoConversation) => {
                (reported, vec![format!("the transcript {} holds no message yet", path.display())])
            }
            Err(error) => (reported, vec![format!("the transcript {} cannot be read: {error}", path.display())]),
        }
    }

    /// Adds up what was used since the last stop, where the transcript tells.
    fn count_usage(&self, stop: &TurnStop, entry: &LoopFile) -> Option<TranscriptUsage> {
        let path = stop.transcript.as_ref()?;
        count_usage(path, (entry.usage_offset, &format_timestamp(entry.loop_state.started)), self.host).ok()
    }

    fn verify_claim(
        &self,
        (key, entry): (&SessionKey, &LoopFile),
        keeper: Keeper,
        claim: String,
    ) -> Result<SessionDecision, HookError> {
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
        let happening = match checked {
            CheckProgress::Complete(evidence) => SessionLoopEvent::Verified(evidence),
            CheckProgress::OutOfTime { done, total: of } => SessionLoopEvent::StillChecking { done, total: of },
        };
        self.apply_to_loop(key, &entry.id, |_| happening)
    }
}

fn to_reply(answer: SessionDecision) -> HookReply {
    let notices: Vec<SessionNotice> = answer.notices;
    match answer.action {
        SessionAction::Continue { prompt } => HookReply::Continue { prompt, notices },
        SessionAction::AllowStop | SessionAction::RunChecks => HookReply::Allow { notices },
    }
}

/// Returns where the files stand, for a loop that ends when nothing changes.
pub fn worktree_state(entry: &LoopFile) -> Option<String> {
    if entry.loop_state.machine.policy.stall_after == 0 {
        return None;
    }
    let seen = git::take_snapshot(&entry.root).ok()?;
    Some(format!("{} {}", seen.commit.unwrap_or_default(), seen.tree))
}

/// Returns what was said since the last stop, where a host repeats what was said before.
fn text_since_last_stop<'a>(said: &'a str, (length, hash): &(usize, String)) -> &'a str {
    match said.split_at_checked(*length) {
        Some((before, since)) if sha256_hex(before) == *hash => since,
        Some(_) | None => said,
    }
}

/// Names a stop, where one can be told from another: by how long the transcript is, or by the message's own id. What names
/// the turn, and what was said, may be the same at the next stop.
fn stop_fingerprint(stop: &TurnStop) -> Option<String> {
    let length = stop.transcript.as_ref().and_then(|path| path.metadata().ok()).map(|about| about.len());
    let is_one = length.is_some() || stop.message_id.is_some();
    let all = (&stop.turn_id, &stop.message_id, &stop.message, length, stop.is_continuation);
    is_one.then(|| sha256_hex(format!("{all:?}")))
}
