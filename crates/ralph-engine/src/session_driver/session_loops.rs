//! Loops for programs that embed ralph instead of using hooks: they implement [`SessionHost`] and report the events of
//! their sessions. Rules, state and checks are the same as for hooks.
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_core::claim::{ClaimRules, Promise, PromiseError};
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::policy::{BaselineMode, ClaimVerification, Policy};
use ralph_core::session_loop::{
    SessionAction, SessionDecision, SessionLoopEvent, SessionLoopPlan, SessionNotice, StartedSessionLoop, TurnEnd,
    start_session_loop,
};

use super::apply_event::apply_event;
use super::loop_checks::{CheckProgress, LoopCheckRun};
use super::loop_file::LoopFile;
use super::loop_preparation::LoopTerms;
use super::loop_record::LoopRecord;
use super::loop_recorder::{LoopRecordError, create_record_folder, record_new_loop};
use super::loop_store::{LoopStore, LoopStoreError, SessionKey};
use super::session_clock::current_moment;
use ralph_process::Keeper;
use ralph_util::digest::sha256_hex;

/// The interface that a program implements for the loops of its sessions.
pub trait SessionHost {
    type Error: Display;

    /// Returns the name of the program: different programs may use the same session id.
    fn name(&self) -> &str;

    /// Returns the messages of a session, the oldest first.
    fn session_messages(&self, session: &str) -> impl Future<Output = Result<Vec<SessionMessage>, Self::Error>>;

    /// Sends a prompt to a session as if the user had written it.
    fn inject_prompt(&self, session: &str, prompt: &str) -> impl Future<Output = Result<(), Self::Error>>;

    fn show_toast(&self, notice: &SessionNotice);

    /// Returns whether a session still exists.
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
    /// A tool or the system.
    Other,
}

/// An event of a session that its program reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    Idle { session: String },
    Error { session: String, name: String },
    Deleted { session: String },
}

/// Options of a new loop. `None` selects the default.
#[derive(Debug, Clone, Default)]
pub struct LoopStartOptions {
    pub max_iterations: Option<u32>,
    pub completion_promise: Option<String>,
    pub description: Option<String>,
    /// Shell commands that must succeed before a claim is accepted.
    pub checks: Vec<String>,
    /// The folder in which the checks run.
    pub root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionLoopError {
    #[error(transparent)]
    Store(#[from] LoopStoreError),
    #[error(transparent)]
    Record(#[from] LoopRecordError),
    #[error(transparent)]
    Promise(#[from] PromiseError),
    #[error("cannot start the loop: {0}")]
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
    /// How long to wait before a prompt is injected.
    continuation_delay: Duration,
}

pub const DEFAULT_MAX_ITERATIONS: u32 = 100;
pub const DEFAULT_PROMISE: &str = "DONE";
pub const DEFAULT_CONTINUATION_DELAY: Duration = Duration::from_millis(500);

/// No hook timeout applies here, but checks must end eventually.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(6 * 3_600);

impl<H: SessionHost> SessionLoops<H> {
    #[must_use]
    pub fn new(host: H, store: LoopStore) -> Self {
        Self { host, store, keeper: None, continuation_delay: DEFAULT_CONTINUATION_DELAY }
    }

    /// Enables checks.
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

    /// Starts a loop in a session, replacing its current one, and returns the first prompt for the session. Earlier
    /// messages of the session do not count as claims.
    pub async fn start(
        &self,
        session: &str,
        prompt: &str,
        options: LoopStartOptions,
    ) -> Result<String, SessionLoopError> {
        let key = self.session_key(session);
        let before = self.active_loop(session)?;
        let last_message_digest = Some(digest_messages(&self.fetch_messages(session).await?));
        let entry = LoopFile { last_message_digest, ..self.new_loop_file(&key, prompt, options)? };
        if let Some(old) = &before {
            apply_event(&self.store, &key, old, |_| SessionLoopEvent::Cancelled)?;
        }
        let state = &entry.loop_state;
        let started = SessionNotice::loop_started(state.max_iterations(), state.rules.promise.as_str())
            .with_checks(&state.criteria);
        let first = state.first_prompt();
        self.store.update_loop(&key, |_| (Some(entry.clone()), ()))?;
        record_new_loop(&entry)?;
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
        let terms = LoopTerms { root: &options.root, acceptance: &Default::default(), criteria: &criteria };
        let sealing = (!criteria.is_empty()).then(|| terms.seal_files());
        let max_iterations = options.max_iterations.unwrap_or(DEFAULT_MAX_ITERATIONS);
        let proof = ClaimVerification::for_run(&criteria, &[]);
        let policy = Policy { proof, baseline: BaselineMode::Skip, ..Policy::new(max_iterations) };
        let rules = ClaimRules::new(promise);
        let agent = self.host.name().to_owned();
        let StartedSessionLoop { state, facts } = start_session_loop(
            SessionLoopPlan {
                agent,
                prompt: prompt.to_owned(),
                rules,
                criteria,
                policy,
                sealing,
                baseline: Vec::new(),
            },
            &current_moment(),
        );
        match state.machine.run_end() {
            Some(ended) => Err(SessionLoopError::Start(ended.reason.clone())),
            None => {
                let folder = create_record_folder(&self.store, &options.root)?;
                let record = LoopRecord::new(folder, state.started, facts);
                let entry = LoopFile::new(key, options.root, state);
                Ok(LoopFile { description: options.description, record, ..entry })
            }
        }
    }

    /// Ends the loop of a session. Returns whether there was an active one.
    pub fn cancel(&self, session: &str) -> Result<bool, SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else {
            self.host.show_toast(&SessionNotice::no_active_loop());
            return Ok(false);
        };
        let key = self.session_key(session);
        let applied = apply_event(&self.store, &key, &entry, |_| SessionLoopEvent::Cancelled)?;
        applied.decision.notices.iter().for_each(|notice| self.host.show_toast(notice));
        Ok(true)
    }

    /// Returns the active loop of a session, if any.
    pub fn active_loop(&self, session: &str) -> Result<Option<LoopFile>, SessionLoopError> {
        Ok(self.store.find_loop(&self.session_key(session))?.filter(|entry| entry.loop_state.is_active()))
    }

    pub fn is_active(&self, session: &str) -> Result<bool, SessionLoopError> {
        Ok(self.active_loop(session)?.is_some())
    }

    /// Handles an event: checks a claim, continues the session, or ends the loop.
    pub async fn handle_event(&self, event: SessionEvent) -> Result<(), SessionLoopError> {
        match event {
            SessionEvent::Idle { session } => self.handle_idle(&session).await,
            SessionEvent::Error { session, name } => {
                self.apply_if_active(&session, SessionLoopEvent::SessionError { name })
            }
            SessionEvent::Deleted { session } => self.apply_if_active(&session, SessionLoopEvent::SessionDeleted),
        }
    }

    fn apply_if_active(&self, session: &str, event: SessionLoopEvent) -> Result<(), SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else { return Ok(()) };
        apply_event(&self.store, &self.session_key(session), &entry, |_| event)?;
        Ok(())
    }

    async fn handle_idle(&self, session: &str) -> Result<(), SessionLoopError> {
        let Some(entry) = self.active_loop(session)? else { return self.clear_orphans().await };
        let key = self.session_key(session);
        let Some(_lock) = self.store.try_lock_stop(&key)? else { return Ok(()) };
        let messages = self.fetch_messages(session).await?;
        let last = latest_turn(&messages, entry.last_message_digest.as_ref())
            .iter()
            .rfind(|message| message.role == MessageRole::Assistant);
        let message = last.map(|message| message.content.clone());
        let digest = digest_messages(&messages);
        let stop_id = Some(format!("{} {}", digest.0, digest.1));
        let turn_end = TurnEnd { message: message.clone(), session: session.to_owned(), stop_id, ..TurnEnd::default() };
        let applied = apply_event(&self.store, &key, &entry, |entry| {
            entry.last_message_digest = Some(digest);
            SessionLoopEvent::TurnEnded(turn_end)
        })?;
        let decision = match applied.decision.action {
            SessionAction::RunChecks => self.verify_claim(&key, &entry, message.unwrap_or_default()).await?,
            SessionAction::Continue { .. } | SessionAction::AllowStop => applied.decision,
        };
        decision.notices.iter().for_each(|notice| self.host.show_toast(notice));
        match decision.action {
            SessionAction::Continue { prompt } => self.inject_after_delay(session, &entry.id, &prompt).await,
            SessionAction::AllowStop | SessionAction::RunChecks => Ok(()),
        }
    }

    /// Waits until the session is idle, then injects the prompt unless the loop was ended meanwhile.
    async fn inject_after_delay(&self, session: &str, id: &str, prompt: &str) -> Result<(), SessionLoopError> {
        tokio::time::sleep(self.continuation_delay).await;
        if self.active_loop(session)?.is_none_or(|entry| entry.id != id) {
            return Ok(());
        }
        let injected = self.host.inject_prompt(session, prompt).await;
        if injected.is_err() {
            // The session has not received the prompt, so its next idle event must not count as a repetition of this
            // one.
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
        key: &SessionKey,
        entry: &LoopFile,
        claim: String,
    ) -> Result<SessionDecision, SessionLoopError> {
        let Some(keeper) = self.keeper.clone() else { return Ok(SessionDecision::allow_silently()) };
        let deadline = Instant::now() + CHECK_TIME_LIMIT;
        let check_run = LoopCheckRun { store: &self.store, key, loop_file: entry, keeper, deadline, claim_text: claim };
        let event = match check_run.run().await {
            CheckProgress::Complete(evidence) => SessionLoopEvent::Verified(evidence),
            CheckProgress::OutOfTime { done, total } => SessionLoopEvent::StillChecking { done, total },
        };
        Ok(apply_event(&self.store, key, entry, |_| event)?.decision)
    }

    /// Ends the loops of deleted sessions. If the lookup of a session fails, its loop stays.
    async fn clear_orphans(&self) -> Result<(), SessionLoopError> {
        let all = self.store.list_loops()?.loops.into_iter();
        let of_host = all.filter(|entry| entry.host.as_deref() == Some(self.host.name()));
        for entry in of_host.filter(|entry| entry.loop_state.is_active()) {
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

/// Returns the number and the hash of messages.
fn digest_messages(messages: &[SessionMessage]) -> (usize, String) {
    (messages.len(), sha256_hex(format!("{messages:?}")))
}

/// Returns the messages of the latest turn: those after the user's last message and after the messages of the last
/// digest.
fn latest_turn<'a>(messages: &'a [SessionMessage], digest: Option<&(usize, String)>) -> &'a [SessionMessage] {
    let is_prefix = |digest: &&(usize, String)| messages.get(..digest.0).map(digest_messages).as_ref() == Some(*digest);
    let handled = digest.filter(is_prefix).map_or(0, |(count, _)| *count);
    let after_prompt = messages.iter().rposition(|message| message.role == MessageRole::User).map_or(0, |at| at + 1);
    messages.get(handled.max(after_prompt)..).unwrap_or_default()
}
