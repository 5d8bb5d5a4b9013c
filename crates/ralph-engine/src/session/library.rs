//! Loops for programs that have sessions of their own and no hooks: they implement [`Host`], and report what happens to
//! their sessions. The rules, the state and the checks are those of the hooks.
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_core::claim::{ClaimRules, Promise, PromiseError};
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::policy::Policy;
use ralph_core::seal::Sealing;
use ralph_core::session::{Act, Answer, Happening, Idle, Notice, Plan, begin};

use super::book::{Book, BookError, Key};
use super::checks::{Checked, Checking, sealer};
use super::clock::now;
use super::entry::Entry;
use super::settle::settle;
use ralph_process::Keeper;
use ralph_util::digest::sha256;

/// What a program offers to the loops of its sessions.
pub trait Host {
    /// What can go wrong in the program.
    type Error: Display;

    /// Names the program: ids of sessions of different programs may be the same.
    fn name(&self) -> &str;

    /// Returns the messages of a session, the oldest first.
    fn messages(&self, session: &str) -> impl Future<Output = Result<Vec<Message>, Self::Error>>;

    /// Puts a prompt into a session, and lets its agent answer.
    fn inject(&self, session: &str, prompt: &str) -> impl Future<Output = Result<(), Self::Error>>;

    /// Shows a notice.
    fn toast(&self, notice: &Notice);

    /// Tells whether a session is still there.
    fn session_exists(&self, session: &str) -> impl Future<Output = Result<bool, Self::Error>>;
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
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
pub struct StartOptions {
    pub max_iterations: Option<u32>,
    pub completion_promise: Option<String>,
    pub description: Option<String>,
    /// Shell commands that must succeed before a claim is believed.
    pub checks: Vec<String>,
    /// Where they run.
    pub root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error(transparent)]
    Book(#[from] BookError),
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
    book: Book,
    /// Runs the checks. It must be forked before the program has threads.
    keeper: Option<Keeper>,
    /// How long to wait before a prompt is put into a session.
    delay: Duration,
}

pub const MAX_ITERATIONS: u32 = 100;
pub const PROMISE: &str = "DONE";
pub const CONTINUATION_DELAY: Duration = Duration::from_millis(500);

/// Nobody waits for the answer here, but checks must end some day.
const CHECKING: Duration = Duration::from_secs(6 * 3_600);

impl<H: Host> SessionLoops<H> {
    #[must_use]
    pub fn new(host: H, book: Book) -> Self {
        Self { host, book, keeper: None, delay: CONTINUATION_DELAY }
    }

    /// Lets loops have checks.
    #[must_use]
    pub fn with_keeper(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    #[must_use]
    pub fn host(&self) -> &H {
        &self.host
    }

    fn key(&self, session: &str) -> Key {
        Key::new(Some(self.host.name()), session)
    }

    /// Begins a loop in a session, in place of the one that it may have, and returns what the session must be told. What was
    /// said in it before is no claim.
    pub async fn start(
        &self,
        session: &str,
        prompt: &str,
        options: StartOptions,
    ) -> Result<String, LoopError> {
        let key = self.key(session);
        let before = self.state(session)?;
        let heard = Some(known(&self.messages(session).await?));
        let entry = Entry { heard, ..self.entry(&key, prompt, options)? };
        let state = &entry.state;
        let started =
            Notice::started(state.max_iterations(), state.rules.promise.as_str()).checked_by(&state.criteria);
        let first = state.first_prompt();
        self.book.change(&key, |_| (Some(entry), ()))?;
        if let Some(old) = before {
            self.host.toast(&Notice::replaced(old.state.iteration(), old.state.max_iterations()));
        }
        self.host.toast(&started);
        Ok(first)
    }

    fn entry(&self, key: &Key, prompt: &str, options: StartOptions) -> Result<Entry, LoopError> {
        let promise = Promise::parse(options.completion_promise.as_deref().unwrap_or(PROMISE))?;
        let criteria: Vec<Criterion> =
            options.checks.iter().map(|check| ExternalCheck::of_command(check).into()).collect();
        if !criteria.is_empty() && self.keeper.is_none() {
            return Err(LoopError::Start("checks need a keeper".to_owned()));
        }
        let seal = || {
            let sealer = sealer(&options.root, &Default::default(), &criteria)?;
            sealer.seal().map_err(|error| error.to_string())
        };
        let sealing = (!criteria.is_empty())
            .then(|| seal().map_or_else(|why| Sealing::Impossible { why }, |seal| Sealing::Done { seal }));
        let policy = Policy::new(options.max_iterations.unwrap_or(MAX_ITERATIONS));
        let rules = ClaimRules::new(promise);
        let state = begin(Plan { prompt: prompt.to_owned(), rules, criteria, policy, sealing }, &now());
        match state.machine.ended() {
            Some(ended) => Err(LoopError::Start(ended.reason.clone())),
            None => {
                let entry = Entry::new((key.host.clone(), key.session.clone()), options.root, state);
                Ok(Entry { description: options.description, ..entry })
            }
        }
    }

    /// Ends the loop of a session; tells whether there was one.
    pub fn cancel(&self, session: &str) -> Result<bool, LoopError> {
        let Some(entry) = self.state(session)? else {
            self.host.toast(&Notice::none_active());
            return Ok(false);
        };
        let (_, answer) = settle(&self.book, (&self.key(session), &entry.id), |_| Happening::Cancelled)?;
        answer.notices.iter().for_each(|notice| self.host.toast(notice));
        Ok(true)
    }

    /// Returns the loop of a session, if it has one that goes on.
    pub fn state(&self, session: &str) -> Result<Option<Entry>, LoopError> {
        Ok(self.book.find(&self.key(session))?.filter(|entry| entry.state.is_active()))
    }

    pub fn is_active(&self, session: &str) -> Result<bool, LoopError> {
        Ok(self.state(session)?.is_some())
    }

    /// Does what follows from an event: checks a claim, continues the session, or ends the loop.
    pub async fn handle(&self, event: SessionEvent) -> Result<(), LoopError> {
        match event {
            SessionEvent::Idle { session } => self.idle(&session).await,
            SessionEvent::Error { session, name } => self.told(&session, Happening::Error { name }),
            SessionEvent::Deleted { session } => self.told(&session, Happening::Deleted),
        }
    }

    fn told(&self, session: &str, happening: Happening) -> Result<(), LoopError> {
        let Some(entry) = self.state(session)? else { return Ok(()) };
        settle(&self.book, (&self.key(session), &entry.id), |_| happening)?;
        Ok(())
    }

    async fn idle(&self, session: &str) -> Result<(), LoopError> {
        let Some(entry) = self.state(session)? else { return self.clear_orphans().await };
        let key = self.key(session);
        let Some(_turn) = self.book.turn(&key)? else { return Ok(()) };
        let messages = self.messages(session).await?;
        let said = turn(&messages, entry.heard.as_ref()).iter().rfind(|said| said.role == Role::Assistant);
        let message = said.map(|message| message.content.clone());
        let heard = known(&messages);
        let stop = Some(format!("{} {}", heard.0, heard.1));
        let idle = Idle { message: message.clone(), session: session.to_owned(), stop, ..Idle::default() };
        let (_, mut answer) = settle(&self.book, (&key, &entry.id), |entry| {
            entry.heard = Some(heard);
            Happening::Idle(idle)
        })?;
        if answer.act == Act::Verify {
            answer = self.verify((&key, &entry), message.unwrap_or_default()).await?;
        }
        answer.notices.iter().for_each(|notice| self.host.toast(notice));
        match answer.act {
            Act::Continue { prompt } => self.inject((session, &entry.id), &prompt).await,
            Act::Allow | Act::Verify => Ok(()),
        }
    }

    /// Waits a little, so that the session is at rest, and goes on unless the loop was ended meanwhile.
    async fn inject(&self, (session, id): (&str, &str), prompt: &str) -> Result<(), LoopError> {
        tokio::time::sleep(self.delay).await;
        if self.state(session)?.is_none_or(|entry| entry.id != id) {
            return Ok(());
        }
        let injected = self.host.inject(session, prompt).await;
        if injected.is_err() {
            // The session has heard nothing, so its next idle is not the same one told twice.
            self.book.change(&self.key(session), |entry| {
                (entry.filter(|entry| entry.id == id).map(unanswered), ())
            })?;
        }
        injected.map_err(|error| LoopError::Host(error.to_string()))
    }

    async fn messages(&self, session: &str) -> Result<Vec<Message>, LoopError> {
        self.host.messages(session).await.map_err(|error| LoopError::Host(error.to_string()))
    }

    async fn verify(&self, (key, entry): (&Key, &Entry), claim: String) -> Result<Answer, LoopError> {
        let Some(keeper) = self.keeper.clone() else { return Ok(Answer::silent()) };
        let until = Instant::now() + CHECKING;
        let checking = Checking { book: &self.book, key, entry, keeper, until, claim };
        let happening = match checking.run().await {
            Checked::Through(evidence) => Happening::Verified(evidence),
            Checked::Still { done, of } => Happening::StillChecking { done, of },
        };
        Ok(settle(&self.book, (key, &entry.id), |_| happening)?.1)
    }

    /// Ends the loops of sessions that are gone. Where nobody can tell, nothing is ended.
    async fn clear_orphans(&self) -> Result<(), LoopError> {
        let (entries, _) = self.book.all()?;
        let own = entries.into_iter().filter(|entry| entry.host.as_deref() == Some(self.host.name()));
        for entry in own.filter(|entry| entry.state.is_active()) {
            if let Ok(false) = self.host.session_exists(&entry.session).await {
                self.told(&entry.session, Happening::Deleted)?;
            }
        }
        Ok(())
    }
}

fn unanswered(mut entry: Entry) -> Entry {
    entry.state.last_stop = None;
    entry
}

/// Names messages: how many they are, and what they hold.
fn known(messages: &[Message]) -> (usize, String) {
    (messages.len(), sha256(format!("{messages:?}")))
}

/// Returns the messages of the turn: those behind the user's last one, and behind all that was heard before.
fn turn<'a>(messages: &'a [Message], heard: Option<&(usize, String)>) -> &'a [Message] {
    let is_there = |heard: &&(usize, String)| messages.get(..heard.0).map(known).as_ref() == Some(*heard);
    let before = heard.filter(is_there).map_or(0, |(count, _)| *count);
    let asked = messages.iter().rposition(|message| message.role == Role::User).map_or(0, |at| at + 1);
    messages.get(before.max(asked)..).unwrap_or_default()
}
