//! The loop of the driver: one `select!`, one linear stream of events, and for each: decide, record, act.
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::criterion::Criterion;
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, Millis, StopSignal, Timer};
use ralph_core::evidence::Verdict;
use ralph_core::fact::Fact;
use ralph_core::outcome::{Ended, Outcome};
use ralph_core::receipt::{End, Snapshot};
use ralph_core::state::{Loop, Phase};
use ralph_core::step::step;
use tokio::sync::mpsc;

use super::books::{Books, look_at};
use super::clock::{Clock, dice};
use super::means::{Hold, Means};
use super::news::{News, Shown};
use super::notes;
use super::perform::{Hands, Start};
use super::plan::RunPlan;
use super::settings::RunSettings;
use super::signals::{Asked, Signals, stop_self};
use super::timers::Timers;
use super::watch::{Stamp, Watcher};
use crate::fail::{self, Point};
use crate::lock::LockError;
use crate::process::Order;
use crate::receipt;
use crate::store::{Entry, FIRST_FENCE, NewRun, Store, StoreError, StoredRun};

/// What stops the engine itself. The run then ends without a result, and can be looked at.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the settings of the run cannot be stored: is there a path that is not UTF-8?")]
    Settings { source: serde_json::Error },
    #[error("the folder {} for the logs of the run cannot be made", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the notes {} of the run cannot be made", path.display())]
    Notes { path: PathBuf, source: io::Error },
    #[error("the workspace {} is gone, and the record of the run with it", root.display())]
    Workspace { root: PathBuf },
    #[error("signals cannot be received")]
    Signals { source: io::Error },
}

/// How often the clock on the wall is looked at while a run waits by it.
const GLANCE: Duration = Duration::from_secs(1);

/// How long an agent's supervisor may take to pass on a pause.
const PASS_ON: Duration = Duration::from_secs(1);

/// Where a run begins.
pub enum Beginning {
    New,
    /// Where another process left it.
    Left(Box<TakenUp>),
}

/// A run as its last engine left it, taken over.
pub struct TakenUp {
    pub stored: StoredRun,
    /// What is not as it was then.
    pub changed: Vec<String>,
}

/// Runs a loop to its outcome, and gives back the store.
pub async fn run(
    plan: RunPlan,
    beginning: Beginning,
    means: Means,
    watcher: &mut dyn Watcher,
) -> Result<(Ended, Store), EngineError> {
    let notes = plan.project.notes(&plan.id);
    notes::prepare(&notes).map_err(|source| EngineError::Notes { path: notes, source })?;
    let signals = Signals::listen().map_err(|source| EngineError::Signals { source })?;
    let (news_in, news) = mpsc::unbounded_channel();
    let (shown_in, shown) = mpsc::channel(32);
    let driver = Driver {
        state: Loop::new(plan.policy.clone()),
        clock: Clock::start(),
        timers: Timers::default(),
        seq: 1,
        fence: FIRST_FENCE,
        hands: Hands::new(plan, means.keeper, news_in, shown_in),
        store: &means.store,
        hold: means.hold,
        books: Books::default(),
        watcher,
    };
    match driver.drive(Sources { signals, news, shown }, beginning).await {
        Ok(ended) => Ok((ended, means.store)),
        Err(error) => {
            means.store.abandon();
            Err(error)
        }
    }
}

/// Everything that can happen to a run.
struct Sources {
    signals: Signals,
    news: mpsc::UnboundedReceiver<News>,
    shown: mpsc::Receiver<Shown>,
}

struct Driver<'a> {
    state: Loop,
    clock: Clock,
    timers: Timers,
    seq: i64,
    fence: i64,
    hands: Hands,
    store: &'a Store,
    hold: Hold,
    books: Books,
    watcher: &'a mut dyn Watcher,
}

impl Driver<'_> {
    async fn drive(mut self, sources: Sources, beginning: Beginning) -> Result<Ended, EngineError> {
        let ended = match self.begin(beginning).await {
            Ok(()) => self.go_on(sources).await,
            Err(error) => Err(error),
        };
        if ended.is_err() {
            self.hands.put_down().await;
        }
        ended
    }

    async fn begin(&mut self, beginning: Beginning) -> Result<(), EngineError> {
        match beginning {
            Beginning::New => self.open().await,
            Beginning::Left(left) => self.take_up(left).await,
        }
    }

    async fn go_on(&mut self, mut sources: Sources) -> Result<Ended, EngineError> {
        loop {
            if let Some(ended) = self.state.ended() {
                return Ok(ended.clone());
            }
            let due = self.next_look();
            tokio::select! {
                asked = sources.signals.next() => self.asked(asked).await?,
                Some(news) = sources.news.recv() => {
                    self.show_all(&mut sources.shown);
                    self.told(news).await?;
                }
                Some(shown) = sources.shown.recv() => self.show(&shown),
                () = sleep(due) => self.timer_due().await?,
            }
        }
    }

    /// Returns when a timer has to be looked at. Who waits by the clock on the wall looks at it now and then.
    fn next_look(&self) -> Option<Duration> {
        let due = self.timers.next_due().map(|due| due.saturating_sub(self.clock.active()));
        match &self.state.phase {
            Phase::Limited { .. } => due.map(|due| due.min(GLANCE)),
            Phase::Ready
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. }
            | Phase::Interrupted { .. }
            | Phase::Finished { .. } => due,
        }
    }

    /// Stores the run with its first step.
    async fn open(&mut self) -> Result<(), EngineError> {
        let settings = RunSettings::of(&self.hands.plan).json();
        let settings = settings.map_err(|source| EngineError::Settings { source })?;
        self.decide(EventKind::Started, Some(settings)).await
    }

    /// Goes on where another process was stopped.
    async fn take_up(&mut self, left: Box<TakenUp>) -> Result<(), EngineError> {
        let TakenUp { stored, changed } = *left;
        (self.state, self.seq, self.fence) = (stored.state, stored.facts + 1, stored.fence);
        self.books.read(self.store, &self.hands.plan.id).await?;
        self.happened(EventKind::Recovered { changed }).await
    }

    fn opening(&self) -> Fact {
        let plan = &self.hands.plan;
        Fact::RunStarted {
            kind: plan.kind.to_owned(),
            agent: plan.agent.name.clone(),
            promise: plan.rules.promise.as_str().to_owned(),
            max_iterations: plan.policy.max_iterations,
            checks: plan.checks.iter().map(Criterion::shown).collect(),
        }
    }

    async fn asked(&mut self, asked: Asked) -> Result<(), EngineError> {
        match asked {
            Asked::Stop(signal) => self.stop(signal).await,
            Asked::Suspend => {
                self.suspend().await;
                Ok(())
            }
        }
    }

    async fn stop(&mut self, signal: StopSignal) -> Result<(), EngineError> {
        let was_told = self.state.phase.next_signal_kills();
        self.happened(EventKind::Interrupted { signal }).await?;
        if self.state.phase.next_signal_kills() && !was_told {
            self.watcher.grace(self.hands.plan.grace);
        }
        Ok(())
    }

    /// Stops with the agent, and goes on with it: no timer runs meanwhile.
    async fn suspend(&mut self) {
        let (passed_on, passed) = tokio::sync::oneshot::channel();
        if self.hands.order(Order::Pause { passed_on }) {
            let _ = tokio::time::timeout(PASS_ON, passed).await;
        }
        self.clock.while_stopped(stop_self);
        self.hands.heard.now();
        self.hands.order(Order::Resume);
    }

    async fn told(&mut self, news: News) -> Result<(), EngineError> {
        match news {
            News::ResultSeen(key) => self.happened(EventKind::ResultSeen { key }).await,
            News::SpokeAgain(key) => self.happened(EventKind::SpokeAgain { key }).await,
            News::Repeating(key) => self.happened(EventKind::Repeating { key }).await,
            News::GotOn(key) => self.happened(EventKind::GotOn { key }).await,
            News::HandshakeBegan(key) => self.happened(EventKind::HandshakeBegan { key }).await,
            News::HandshakeDone(key) => self.happened(EventKind::HandshakeDone { key }).await,
            News::Verified(key, evidence) => {
                if evidence.verdict() == Verdict::Accepted {
                    fail::point(Point::VerifyPassedUnrecorded);
                }
                self.happened(EventKind::Verified { key, evidence }).await
            }
            News::Looked(seen) => {
                self.looked(seen);
                Ok(())
            }
            News::Faulted(key, what) => self.happened(EventKind::Faulted { key, what }).await,
            News::AttemptEnded(key, report) => {
                fail::point(Point::AgentExitedUnrecorded);
                self.hands.remember(key, &report);
                if !self.hands.plan.project.root.is_dir() {
                    let root = self.hands.plan.project.root.display();
                    let what = format!("the workspace {root} is gone: the agent removed it");
                    self.happened(EventKind::Broken { what }).await?;
                }
                self.happened(EventKind::AttemptEnded { key, report }).await
            }
            News::Warning(text) => {
                self.watcher.warning(&text);
                Ok(())
            }
        }
    }

    /// A timer ran out. Silence is measured from the last output, so its timer may have to wait longer. So may that of
    /// repeats: an agent that has told of none for a while may be at work on a long answer.
    async fn timer_due(&mut self) -> Result<(), EngineError> {
        let now = self.clock.active();
        let wall = Clock::wall();
        let Some(timer) = self.timers.take_due(now, wall) else {
            if let Phase::Limited { wait, .. } = &self.state.phase {
                self.watcher.waiting(Duration::from_millis(wait.left_ms(wall)));
            }
            return Ok(());
        };
        if let Timer::Silence { .. } = timer {
            let allowed = Duration::from_millis(self.state.policy.timeouts.silence_ms);
            let left = allowed.saturating_sub(self.hands.heard.silence());
            if !left.is_zero() {
                self.timers.start(timer, now + left);
                return Ok(());
            }
        }
        if let Timer::Repeating { .. } = timer {
            let half = Duration::from_millis(self.state.policy.timeouts.repeating_ms) / 2;
            if self.hands.repeated.silence() > half {
                self.timers.start(timer, now + half);
                return Ok(());
            }
        }
        self.happened(EventKind::TimerFired { timer }).await
    }

    async fn happened(&mut self, kind: EventKind) -> Result<(), EngineError> {
        self.decide(kind, None).await
    }

    /// Decides, records, acts. With its settings a run is new, and stored with this step.
    async fn decide(&mut self, kind: EventKind, settings: Option<String>) -> Result<(), EngineError> {
        let at = self.clock.now();
        let volatile = kind.is_volatile();
        let (wall, ground) = (Clock::wall(), self.hands.plan.ground());
        let event = Event { at: self.clock.at_work(), wall, dice: dice(), ground, kind };
        let (next, effects) = step(self.state.clone(), event);
        let decided = effects.iter().filter_map(|effect| match effect {
            Effect::Record { fact } => Some(fact),
            _ => None,
        });
        let opening = settings.is_some().then(|| self.opening());
        let mut facts: Vec<&Fact> = opening.iter().chain(decided).collect();
        let receipt = self.receipt(at, &facts).await;
        if let (Some(receipt), Some(end)) = (&receipt, facts.len().checked_sub(1)) {
            facts.insert(end, receipt);
        }
        if !volatile && (next != self.state || !facts.is_empty()) {
            let plan = Arc::clone(&self.hands.plan);
            let run = &plan.id;
            let entry = Entry { run, fence: self.fence, seq: self.seq, at, facts: &facts, state: &next };
            let stored = store((self.store, &self.hold), &plan, &entry, settings.as_deref());
            let hands = &mut self.hands;
            let prepared =
                async { effects.iter().find_map(start_of).iter().for_each(|start| hands.prepare(start)) };
            let (stored, ()) = tokio::join!(stored, prepared);
            stored.map_err(|error| self.lost(error))?;
            let names: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
            tracing::debug!(run, seq = self.seq, facts = ?names, effects = effects.len(), "stored a step");
        }
        facts.iter().for_each(|fact| die_if_asked(fact));
        for fact in facts {
            self.books.heed(at, fact);
            self.watcher.fact(Stamp { run: &self.hands.plan.id, seq: self.seq, at }, fact);
            self.seq += 1;
        }
        self.state = next;
        self.hand_over(receipt.as_ref());
        for effect in effects {
            self.act(effect);
        }
        Ok(())
    }

    /// Returns the receipt of a run that these facts complete.
    async fn receipt(&mut self, at: Millis, facts: &[&Fact]) -> Option<Fact> {
        if !facts.iter().any(|fact| End::of(fact).is_some()) {
            return None;
        }
        if self.books.seen.is_none() {
            let seen = look_at(&self.hands.plan.project.root).await;
            self.looked(seen);
        }
        match self.books.receipt(at, facts, &self.hands) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.watcher.warning(&format!("the receipt of the run cannot be written: {error}"));
                None
            }
        }
    }

    /// Takes note of the work tree that is verified.
    fn looked(&mut self, seen: Result<Snapshot, String>) {
        self.books.seen = seen
            .inspect_err(|why| {
                self.watcher.warning(&format!("the receipt cannot say what was verified: {why}"));
            })
            .ok();
    }

    /// Puts a copy of the receipt where people find it.
    fn hand_over(&mut self, receipt: Option<&Fact>) {
        let Some(Fact::Receipt { receipt, .. }) = receipt else { return };
        let folder = self.hands.plan.project.run_folder(&self.hands.plan.id);
        if let Err(error) = receipt::write(&folder, receipt) {
            let path = folder.join(receipt::FILE);
            self.watcher
                .warning(&format!("the copy {} of the receipt cannot be written: {error}", path.display()));
        }
    }

    /// The state lies in the work tree: where that is gone, it is what people must hear of.
    fn lost(&self, error: StoreError) -> EngineError {
        let root = &self.hands.plan.project.root;
        if root.is_dir() { EngineError::Store(error) } else { EngineError::Workspace { root: root.clone() } }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Record { .. } => {}
            Effect::StartTimer { timer: timer @ Timer::Limit { .. }, after_ms } => {
                let due = self.clock.active() + Duration::from_millis(after_ms);
                self.timers.start_by_both(timer, due, Clock::wall().plus(after_ms));
            }
            Effect::StartTimer { timer, after_ms } => {
                self.timers.start(timer, self.clock.active() + Duration::from_millis(after_ms));
            }
            Effect::CancelTimer { timer } => self.timers.cancel(timer),
            Effect::StartAgent { key, plan, nonce, session, agent } => {
                self.timers.clear();
                self.hands.start_agent(Start { key, plan, nonce, session, agent });
            }
            Effect::StopAgent { .. } => self.hands.stop_agent(),
            Effect::KillAgent { .. } | Effect::StopChecks { .. } => self.hands.kill(),
            Effect::RunChecks { key, round } => self.hands.run_checks(key, round),
            Effect::Finish => self.hands.finish(),
        }
    }

    fn show_all(&mut self, shown: &mut mpsc::Receiver<Shown>) {
        while let Ok(shown) = shown.try_recv() {
            self.show(&shown);
        }
    }

    fn show(&mut self, shown: &Shown) {
        match shown {
            Shown::Events(events) => events.iter().for_each(|event| self.watcher.agent(event)),
            Shown::Lines(lines) => lines.iter().for_each(|line| self.watcher.filtered(line)),
        }
    }
}

/// Stores a step. With its settings a run is new.
async fn store(
    (store, hold): (&Store, &Hold),
    plan: &RunPlan,
    entry: &Entry<'_>,
    settings: Option<&str>,
) -> Result<(), StoreError> {
    let Some(settings) = settings else { return store.record(entry).await };
    let new = NewRun {
        kind: plan.kind,
        agent: &plan.agent.name,
        promise: plan.rules.promise.as_str(),
        settings,
        owner: &hold.owner().json(),
        stage: plan.stage.as_ref().map(|stage| (stage.task.as_str(), &stage.role)),
    };
    store.begin(&new, entry).await
}

/// Returns the start of an agent that is decided here, if it is one.
fn start_of(effect: &Effect) -> Option<Start> {
    match effect {
        Effect::StartAgent { key, plan, nonce, session, agent } => Some(Start {
            key: *key,
            plan: plan.clone(),
            nonce: nonce.clone(),
            session: session.clone(),
            agent: *agent,
        }),
        Effect::Record { .. }
        | Effect::StartTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::StopAgent { .. }
        | Effect::KillAgent { .. }
        | Effect::RunChecks { .. }
        | Effect::StopChecks { .. }
        | Effect::Finish => None,
    }
}

/// Lets a test see what a death right after this record leaves.
fn die_if_asked(fact: &Fact) {
    match fact {
        Fact::IterationStarted { .. } => fail::point(Point::IterationStartedRecorded),
        Fact::RunFinished { outcome: Outcome::Completed, .. } => {
            fail::point(Point::CompleteRecordedUnannounced);
        }
        Fact::RunStarted { .. }
        | Fact::RunResumed { .. }
        | Fact::AttemptStarted { .. }
        | Fact::AttemptEnded { .. }
        | Fact::RetryScheduled { .. }
        | Fact::LimitWaiting { .. }
        | Fact::AgentChanged { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::Verdict { .. }
        | Fact::IterationEnded { .. }
        | Fact::StopRequested { .. }
        | Fact::Receipt { .. }
        | Fact::RunFinished { .. } => {}
    }
}

async fn sleep(due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep(due).await,
        None => std::future::pending().await,
    }
}
