//! Loops for programs that have sessions of their own and no hooks: they implement [`Host`], and report what happens to
//! their sessions. The rules, the state and the checks are those of the hooks.
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_core::claim::{ClaimRules, Promise, PromiseError};
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::policy::Policy;
use ralph_core::seal::SealingResult;
use ralph_core::session_loop::{
    SessionAction, SessionDecision, SessionLoopEvent, SessionLoopPlan, SessionNotice, TurnEnd, start_session_loop,
};

use super::apply_event::apply_event;
use super::loop_checks::{CheckProgress, LoopCheckRun, build_sealer};
use super::loop_file::LoopFile;
use super::loop_store::{LoopStore, LoopStoreError, SessionKey};
use super::session_clock::current_moment;
use ralph_process::Keeper;
use ralph_util::digest::sha256_hex;

/// What a program offers to the loops of its sessions.
pub trait SessionHost {
    /// What can go wrong in the program.
    type Error: Display;

    /// Names the program: ids of sessions of different programs may be the same.
    fn name(&self) -> &str;

    /// Returns the messages of a session, the oldest first.
    fn session_messages(&self, session: &str) -> impl Future<Output = Result<Vec<SessionMessage>, Self::Error>>;

    /// Puts a prompt into a session, and lets its agent answer.
    fn inject_prompt(&self, session: &str, prompt: &str) -> impl Future<Output = Result<(), Self::Error>>;

    /// Shows a notice.
    fn show_toast(&self, notice: &SessionNotice);

    /// Tells whether a session is still there.
    fn session_exists(&self, session: &str) -> impl Future<Output = Result<bool, Self::Error>>;
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMessage {
    pub role: MessageRole,
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    User,
    Assistant,
    /// Tools, and whoever else speaks.
    Other,
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    Idle { session: String },
    Error { session: String, name: String },
    Deleted { session: String },
}

/// What a loop is begun with, where that is not usual.
#[derive(Debug, Clone, Default)]
pub struct LoopStartOptions {
    pub max_iterations: Option<u32>,
    pub completion_promise: Option<String>,
    pub description: Option<String>,
    /// Shell commands that must succeed before a claim is believed.
    pub checks: Vec<String>,
    /// Where they run.
    pub root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionLoopError {
    #[error(transparent)]
    Store(#[from] LoopStoreError),
    #[error(transparent)]
    Promise(#[from] PromiseError),
    #[error("the loop cannot begin: {0}")]
    Start(String),
    #[error("the session cannot be reached: {0}")]
    Host(String),
}

/// The loops of a program's sessions.
pub struct SessionLoops<H> {
    host: H,
    store: LoopStore,
    /// Runs the checks. It must be forked before the program has threads.
    keeper: Option<Keeper>,
    /// How long to wait before a prompt is put into a session.
    continuation_delay: Duration,
}

pub const DEFAULT_MAX_ITERATIONS: u32 = 100;
pub const DEFAULT_PROMISE: &str = "DONE";
pub const DEFAULT_CONTINUATION_DELAY: Duration = Duration::from_millis(500);

/// Nobody waits for the answer here, but checks must end some day.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(6 * 3_600);

impl<H: SessionHost> SessionLoops<H> {
    #[must_use]
    pub fn new(host: H, store: LoopStore) -> Self {
        Self { host, store, keeper: None, continuation_delay: DEFAULT_CONTINUATION_DELAY }
    }

    /// Lets loops have checks.
    #[must_use]
    pub fn with_keeper(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { continuation_delay: delay, ..self }
    }

    #[must_use]
    pub fn host(&self) -> &H {
        &self.host
    }

    fn session_key(&self, session: &str) -> SessionKey {
        SessionKey::new(Some(self.host.name()), session)
    }

    /// Begins a loop in a session, in place of the one that it may have, and returns what the session must be told. What was
    /// said in it before is no claim.
    pub async fn start(
        &self,
        session: &str,
        prompt: &str,
        options: LoopStartOptions,
    ) -> Result<String, SessionLoopError> {
        let key = self.session_key(session);
        let before = self.active_loop(session)?;
        let heard = Some(digest_messages(&self.fetch_messages(session).await?));
        let entry = LoopFile { last_message_digest: heard, ..self.new_loop_file(&key, prompt, options)? };
        let state = &entry.loop_state;
        let started = SessionNotice::loop_started(state.max_iterations(), state.rules.promise.as_str())
            .with_checks(&state.criteria);
        let first = state.first_prompt();
        self.store.update_loop(&key, |_| (Some(entry), ()))?;
        if let Some(old) = before {
            self.host.show_toast(&SessionNotice::loop_replaced(
                old.loop_state.current_iteration(),
                old.loop_state.max_iterations(),
            ));
        }
        self.host.show_toast(&started);
        Ok(first)
    }

    fn new_loop_file(
        &self,
        key: &SessionKey,
        prompt: &str,
        options: LoopStartOptions,
    ) -> Result<LoopFile, SessionLoopError> {
        let promise = Promise::parse(options.completion_promise.as_deref().unwrap_or(DEFAULT_PROMISE))?;
        let criteria: Vec<Criterion> =
            options.checks.iter().map(|check| ExternalCheck::from_shell_text(check).into()).collect();
        if !criteria.is_empty() && self.keeper.is_none() {
            return Err(SessionLoopError::Start("checks need a keeper".to_owned()));
        }
        let seal = || {
            let sealer = build_sealer(&options.root, &Default::default(), &criteria)?;
            sealer.seal().map_err(|error| error.to_string())
        };
        let sealing = (!criteria.is_empty())
            .then(|| seal().map_or_else(|why| SealingResult::Impossible { why }, |seal| SealingResult::Done { seal }));
        let policy = Policy::new(options.max_iterations.unwrap_or(DEFAULT_MAX_ITERATIONS));
        let rules = ClaimRules::new(promise);
        let state = start_session_loop(
            SessionLoopPlan { prompt: prompt.to_owned(), rules, criteria, policy, sealing },
            &current_moment(),
        );
        match state.machine.run_end() {
            Some(ended) => Err(SessionLoopError::Start(ended.reason.clone())),
            None => {
                let entry = LoopFile::new((key.host.clone(), key.session_id.clone()), options.root, state);
                Ok(LoopFile { description: options.description, ..entry })
            }
        }
    }

    /// Ends the loop of a session; tells whether there was one.
    pub fn cancel(&self, session: &str) -> Result<bool, SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else {
            self.host.show_toast(&SessionNotice::no_active_loop());
            return Ok(false);
        };
        let (_, answer) =
            apply_event(&self.store, (&self.session_key(session), &entry.id), |_| SessionLoopEvent::Cancelled)?;
        answer.notices.iter().for_each(|notice| self.host.show_toast(notice));
        Ok(true)
    }

    /// Returns the loop of a session, if it has one that goes on.
    pub fn active_loop(&self, session: &str) -> Result<Option<LoopFile>, SessionLoopError> {
        Ok(self.store.find_loop(&self.session_key(session))?.filter(|entry| entry.loop_state.is_active()))
    }

    pub fn is_active(&self, session: &str) -> Result<bool, SessionLoopError> {
        Ok(self.active_loop(session)?.is_some())
    }

    /// Does what follows from an event: checks a claim, continues the session, or ends the loop.
    pub async fn handle_event(&self, event: SessionEvent) -> Result<(), SessionLoopError> {
        match event {
            SessionEvent::Idle { session } => self.handle_idle(&session).await,
            SessionEvent::Error { session, name } => {
                self.apply_if_active(&session, SessionLoopEvent::SessionError { name })
            }
            SessionEvent::Deleted { session } => self.apply_if_active(&session, SessionLoopEvent::SessionDeleted),
        }
    }

    fn apply_if_active(&self, session: &str, happening: SessionLoopEvent) -> Result<(), SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else { return Ok(()) };
        apply_event(&self.store, (&self.session_key(session), &entry.id), |_| happening)?;
        Ok(())
    }

    async fn handle_idle(&self, session: &str) -> Result<(), SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else { return self.clear_orphans().await };
        let key = self.session_key(session);
        let Some(_turn) = self.store.try_lock_stop(&key)? else { return Ok(()) };
        let messages = self.fetch_messages(session).await?;
        let said = latest_turn(&messages, entry.last_message_digest.as_ref())
            .iter()
            .rfind(|said| said.role == MessageRole::Assistant);
        let message = said.map(|message| message.content.clone());
        let heard = digest_messages(&messages);
        let stop = Some(format!("{} {}", heard.0, heard.1));
        let idle =
            TurnEnd { message: message.clone(), session: session.to_owned(), stop_id: stop, ..TurnEnd::default() };
        let (_, mut answer) = apply_event(&self.store, (&key, &entry.id), |entry| {
            entry.last_message_digest = Some(heard);
            SessionLoopEvent::TurnEnded(idle)
        })?;
        if answer.action == SessionAction::RunChecks {
            answer = self.verify_claim((&key, &entry), message.unwrap_or_default()).await?;
        }
        answer.notices.iter().for_each(|notice| self.host.show_toast(notice));
        match answer.action {
            SessionAction::Continue { prompt } => self.inject_after_delay((session, &entry.id), &prompt).await,
            SessionAction::AllowStop | SessionAction::RunChecks => Ok(()),
        }
    }

    /// Waits a little, so that the session is at rest, and goes on unless the loop was ended meanwhile.
    async fn inject_after_delay(&self, (session, id): (&str, &str), prompt: &str) -> Result<(), SessionLoopError> {
        tokio::time::sleep(self.continuation_delay).await;
        if self.active_loop(session)?.is_none_or(|entry| entry.id != id) {
            return Ok(());
        }
        let injected = self.host.inject_prompt(session, prompt).await;
        if injected.is_err() {
            // The session has heard nothing, so its next idle is not the same one told twice.
            self.store.update_loop(&self.session_key(session), |entry| {
                (entry.filter(|entry| entry.id == id).map(without_last_stop), ())
            })?;
        }
        injected.map_err(|error| SessionLoopError::Host(error.to_string()))
    }

    async fn fetch_messages(&self, session: &str) -> Result<Vec<SessionMessage>, SessionLoopError> {
        self.host.session_messages(session).await.map_err(|error| SessionLoopError::Host(error.to_string()))
    }

    async fn verify_claim(
        &self,
        (key, entry): (&SessionKey, &LoopFile),
        claim: String,
    ) -> Result<SessionDecision, SessionLoopError> {
        let Some(keeper) = self.keeper.clone() else { return Ok(SessionDecision::allow_silently()) };
        let until = Instant::now() + CHECK_TIME_LIMIT;
        let checking =
            LoopCheckRun { store: &self.store, key, loop_file: entry, keeper, deadline: until, claim_text: claim };
        let happening = match checking.run().await {
            CheckProgress::Complete(evidence) => SessionLoopEvent::Verified(evidence),
            CheckProgress::OutOfTime { done, total: of } => SessionLoopEvent::StillChecking { done, total: of },
        };
        Ok(apply_event(&self.store, (key, &entry.id), |_| happening)?.1)
    }

    /// Ends the loops of sessions that are gone. Where nobody can tell, nothing is ended.
    async fn clear_orphans(&self) -> Result<(), SessionLoopError> {
        let (entries, _) = self.store.list_loops()?;
        let own = entries.into_iter().filter(|entry| entry.host.as_deref() == Some(self.host.name()));
        for entry in own.filter(|entry| entry.loop_state.is_active()) {
            if let Ok(false) = self.host.session_exists(&entry.session_id).await {
                self.apply_if_active(&entry.session_id, SessionLoopEvent::SessionDeleted)?;
            }
        }
        Ok(())
    }
}

fn without_last_stop(mut entry: LoopFile) -> LoopFile {
    entry.loop_state.last_stop = None;
    entry
}

/// Names messages: how many they are, and what they hold.
fn digest_messages(messages: &[SessionMessage]) -> (usize, String) {
    (messages.len(), sha256_hex(format!("{messages:?}")))
}

/// Returns the messages of the turn: those behind the user's last one, and behind all that was heard before.
fn latest_turn<'a>(messages: &'a [SessionMessage], heard: Option<&(usize, String)>) -> &'a [SessionMessage] {
    let is_there = |heard: &&(usize, String)| messages.get(..heard.0).map(digest_messages).as_ref() == Some(*heard);
    let before = heard.filter(is_there).map_or(0, |(count, _)| *count);
    let asked = messages.iter().rposition(|message| message.role == MessageRole::User).map_or(0, |at| at + 1);
    messages.get(before.max(asked)..).unwrap_or_default()
}
