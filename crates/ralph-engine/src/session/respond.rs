//! The answer to one event of a session: what is kept is read, the rules decide, what they decided is kept, and only then
//! is it told. The right to decide about a stop is taken first; whoever comes second lets the session stop.
use std::ffi::OsString;
use std::time::{Duration, Instant};

use ralph_core::session::{Act, Answer, Counting, Happening, Idle, Notice};

use super::book::{Book, BookError, Key, pause};
use super::checks::{Checked, Checking};
use super::clock::written;
use super::entry::Entry;
use super::settle::settle;
use super::tail::{LastWords, WRITING, has_worked, last_words};
use super::usage::{Counted, count};
use crate::git;
use ralph_agents::hooks::{Incoming, Protocol, Reply, Stop, Words};
use ralph_process::{Keeper, ProcessError};
use ralph_util::digest::sha256;

/// What is left of a hook's time when its checks must be through.
const MARGIN: Duration = Duration::from_secs(15);

/// How often somebody looks whether a loop was ended while it waits.
const BETWEEN: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Book(#[from] BookError),
    #[error("the checks cannot be run")]
    Process(#[from] ProcessError),
    #[error("the checks cannot be waited for")]
    Runtime(#[source] std::io::Error),
}

/// One call of a hook.
pub struct Call<'a> {
    pub book: &'a Book,
    pub host: &'static dyn Protocol,
    pub session: &'a str,
    /// When it began, and how long the host waits for it.
    pub began: Instant,
    pub time: Duration,
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// What came of it, with what somebody should know.
#[derive(Debug)]
pub struct Response {
    pub reply: Reply,
    pub notes: Vec<String>,
}

impl Response {
    fn allow() -> Self {
        Self { reply: Reply::Allow { notices: Vec::new() }, notes: Vec::new() }
    }
}

impl Call<'_> {
    /// Answers an event. A prompt of the user's is answered elsewhere.
    pub fn respond(&self, incoming: Incoming) -> Result<Response, HookError> {
        match incoming {
            Incoming::Stop(stop) => self.stopped(&stop),
            Incoming::Error { name } => self.told(Happening::Error { name }),
            Incoming::Deleted => self.told(Happening::Deleted),
            Incoming::Prompt { .. } | Incoming::Other => Ok(Response::allow()),
        }
    }

    fn key(&self) -> Key {
        Key::new(Some(self.host.name()), self.session)
    }

    fn told(&self, happening: Happening) -> Result<Response, HookError> {
        let Some((key, entry)) = self.book.known(&self.key())? else { return Ok(Response::allow()) };
        let answer = self.decide(&key, &entry.id, |_| happening)?;
        Ok(Response { reply: Reply::Allow { notices: answer.notices }, notes: Vec::new() })
    }

    fn stopped(&self, stop: &Stop) -> Result<Response, HookError> {
        let Some((key, entry)) = self.book.known(&self.key())? else { return Ok(Response::allow()) };
        if !entry.state.is_active() {
            return Ok(Response::allow());
        }
        // The keeper must be forked before a lock is taken: it would have it too.
        let keeper = if entry.state.criteria.is_empty() { None } else { Some(Keeper::start()?) };
        let Some(_turn) = self.book.turn(&key)? else {
            let notes = vec!["another hook is deciding about this stop".to_owned()];
            let notice = Notice::answered(entry.state.iteration(), entry.state.max_iterations());
            return Ok(Response { reply: Reply::Allow { notices: vec![notice] }, notes });
        };
        let (message, notes) = self.message(stop, &entry);
        let counted = self.counted(stop, &entry);
        let idle = Idle {
            spend: counted.map(|counted| counted.spend).unwrap_or_default(),
            ..self.idle(stop, message.clone())
        };
        let standing = standing(&entry);
        let has_moved = standing.as_ref().map(|now| entry.standing.as_ref() != Some(now));
        let idle = Idle { has_moved, ..idle };
        let answer = self.decide(&key, &entry.id, |entry| {
            entry.counted = counted.map(|counted| counted.until).or(entry.counted);
            entry.standing = standing.or(entry.standing.take());
            entry.heard = stop.message.as_ref().map(|said| (said.len(), sha256(said)));
            Happening::Idle(idle)
        })?;
        let answer = match (answer.act, keeper) {
            (Act::Verify, Some(keeper)) => {
                self.verify((&key, &entry), keeper, message.unwrap_or_default())?
            }
            (act, _) => Answer { act, ..answer },
        };
        Ok(Response { reply: self.at_rest(reply(answer), (&key, &entry)), notes })
    }

    fn decide(
        &self,
        key: &Key,
        id: &str,
        happening: impl FnOnce(&mut Entry) -> Happening,
    ) -> Result<Answer, HookError> {
        Ok(settle(self.book, (key, id), happening)?.1)
    }

    fn idle(&self, stop: &Stop, message: Option<String>) -> Idle {
        Idle {
            message,
            session: self.session.to_owned(),
            stop: name_of(stop),
            is_continued: stop.is_continued,
            cap: self.host.facts(self.variable).block_cap,
            has_worked: self.has_worked(stop),
            ..Idle::default()
        }
    }

    /// Tells whether the agent used a tool, where that makes a difference to its program.
    fn has_worked(&self, stop: &Stop) -> Option<bool> {
        self.host.facts(self.variable).block_cap.filter(|cap| cap.counting == Counting::UntilTool)?;
        has_worked(stop.transcript.as_ref()?, self.host).ok().flatten()
    }

    /// Waits a little where a prompt is put into the session, so that it is at rest, and lets a session alone whose loop was
    /// ended meanwhile.
    fn at_rest(&self, reply: Reply, (key, entry): (&Key, &Entry)) -> Reply {
        let is_continued = matches!(reply, Reply::Continue { .. });
        if !is_continued || !self.host.facts(self.variable).is_injected {
            return reply;
        }
        let until = (Instant::now() + Duration::from_millis(entry.delay_ms)).min(self.until());
        loop {
            let goes_on = |now: Entry| now.id == entry.id && now.state.is_active();
            if self.book.find(key).is_ok_and(|now| !now.is_some_and(goes_on)) {
                return Reply::Allow { notices: Vec::new() };
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return reply;
            }
            pause(left.min(BETWEEN));
        }
    }

    /// When everything must be through.
    fn until(&self) -> Instant {
        self.began + self.time.saturating_sub(MARGIN.min(self.time / 4))
    }

    /// Finds the agent's last message, where the host has it.
    fn message(&self, stop: &Stop, entry: &Entry) -> (Option<String>, Vec<String>) {
        let facts = self.host.facts(self.variable);
        let told = stop.message.as_deref().map(|said| match &entry.heard {
            Some(heard) if facts.is_cumulative && stop.is_continued => fresh(said, heard),
            Some(_) | None => said,
        });
        let told = told.filter(|said| !said.trim().is_empty()).map(str::to_owned);
        if told.is_some() && facts.words == Words::InEvent {
            return (told, Vec::new());
        }
        let Some(path) = &stop.transcript else { return (told, Vec::new()) };
        match last_words(path, self.host, WRITING) {
            Ok(LastWords::Said(said)) => (Some(said), Vec::new()),
            Ok(LastWords::Silent) => (None, Vec::new()),
            Ok(LastWords::Nothing) => {
                (told, vec![format!("the transcript {} holds no message yet", path.display())])
            }
            Err(error) => (told, vec![format!("the transcript {} cannot be read: {error}", path.display())]),
        }
    }

    /// Adds up what was used since the last stop, where the transcript tells.
    fn counted(&self, stop: &Stop, entry: &Entry) -> Option<Counted> {
        let path = stop.transcript.as_ref()?;
        count(path, (entry.counted, &written(entry.state.started)), self.host).ok()
    }

    fn verify(
        &self,
        (key, entry): (&Key, &Entry),
        keeper: Keeper,
        claim: String,
    ) -> Result<Answer, HookError> {
        let checking = Checking { book: self.book, key, entry, keeper, until: self.until(), claim };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let checked = runtime.map_err(HookError::Runtime)?.block_on(checking.run());
        let happening = match checked {
            Checked::Through(evidence) => Happening::Verified(evidence),
            Checked::Still { done, of } => Happening::StillChecking { done, of },
        };
        self.decide(key, &entry.id, |_| happening)
    }
}

fn reply(answer: Answer) -> Reply {
    let notices: Vec<Notice> = answer.notices;
    match answer.act {
        Act::Continue { prompt } => Reply::Continue { prompt, notices },
        Act::Allow | Act::Verify => Reply::Allow { notices },
    }
}

/// Returns where the files stand, for a loop that ends when nothing changes.
pub fn standing(entry: &Entry) -> Option<String> {
    if entry.state.machine.policy.stall_after == 0 {
        return None;
    }
    let seen = git::snapshot(&entry.root).ok()?;
    Some(format!("{} {}", seen.commit.unwrap_or_default(), seen.tree))
}

/// Returns what was said since the last stop, where a host repeats what was said before.
fn fresh<'a>(said: &'a str, (length, hash): &(usize, String)) -> &'a str {
    match said.split_at_checked(*length) {
        Some((before, since)) if sha256(before) == *hash => since,
        Some(_) | None => said,
    }
}

/// Names a stop, where one can be told from another: by how long the transcript is, or by the message's own id. What names
/// the turn, and what was said, may be the same at the next stop.
fn name_of(stop: &Stop) -> Option<String> {
    let length = stop.transcript.as_ref().and_then(|path| path.metadata().ok()).map(|about| about.len());
    let is_one = length.is_some() || stop.message_id.is_some();
    let all = (&stop.turn, &stop.message_id, &stop.message, length, stop.is_continued);
    is_one.then(|| sha256(format!("{all:?}")))
}
