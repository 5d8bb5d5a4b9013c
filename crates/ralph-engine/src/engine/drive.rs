//! The loop of the driver: one `select!`, one linear stream of events, and for each a step (`decide.rs`).
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_core::event::{EventKind, StopSignal, Timer};
use ralph_core::evidence::Verdict;
use ralph_core::order;
use ralph_core::outcome::Ended;
use ralph_core::state::{Loop, Phase};
use tokio::sync::mpsc;

use super::books::Books;
use super::clock::Clock;
use super::decide::Happened;
use super::halt::{Halt, hold_job};
use super::keep::Remembered;
use super::means::{Hold, Means};
use super::news::{News, Shown};
use super::notes;
use super::perform::Hands;
use super::plan::{RunPlan, StageOf};
use super::settings::RunSettings;
use super::signals::{Ask, Asked, Asks, stop_self};
use super::timers::Timers;
use super::watch::Watcher;
use crate::lock::LockError;
use ralph_process::Order;
use ralph_store::{FIRST_FENCE, Store, StoreError, StoredRun, WaitingOrder};
use ralph_util::fail::{self, Point};

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

/// How long it takes until something is stored again that could not be because others were writing.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Where a run begins.
pub enum Beginning {
    New,
    /// Where another process left it. A pause stays one.
    Left(Box<TakenUp>),
    /// The same, at a person's wish: a pause is over.
    Resumed(Box<TakenUp>),
}

/// A run as its last engine left it, taken over.
pub struct TakenUp {
    pub stored: StoredRun,
    /// What is not as it was then.
    pub changed: Vec<String>,
}

/// Runs a loop to its outcome. After an error the store is left as it lies: whoever owns it abandons it.
pub async fn run(
    plan: RunPlan,
    beginning: Beginning,
    means: Means,
    watcher: &mut dyn Watcher,
) -> Result<Ended, EngineError> {
    let notes = plan.project.notes(&plan.id);
    notes::prepare(&notes).map_err(|source| EngineError::Notes { path: notes, source })?;
    let remembered = match &beginning {
        Beginning::New => Remembered::begin(&plan).await,
        Beginning::Left(_) | Beginning::Resumed(_) => None,
    };
    let stage = plan.stage.clone();
    let (news_in, news) = mpsc::unbounded_channel();
    let (shown_in, shown) = mpsc::channel(32);
    let driver = Driver {
        state: Loop::new(plan.policy.clone()),
        books: Books::of(&plan),
        clock: Clock::start(),
        timers: Timers::default(),
        seq: 1,
        fence: FIRST_FENCE,
        hands: Hands::new(plan, (means.keeper, means.account), news_in, shown_in),
        store: &means.store,
        hold: means.hold,
        asks: means.asks,
        watcher,
    };
    let ended = driver.drive(Sources { news, shown }, beginning).await?;
    if let Some(remembered) = remembered
        && is_ours(&means.store, stage.as_ref()).await
    {
        remembered.end(ended.outcome).await;
    }
    Ok(ended)
}

/// Tells whether nobody has taken the task of a stage from us: what lies in its tree would not be what we left there.
async fn is_ours(store: &Store, stage: Option<&StageOf>) -> bool {
    let Some((task, lease)) = stage.and_then(|stage| Some((&stage.task, stage.lease?))) else { return true };
    store.task_claim(task).await.is_ok_and(|claim| claim.is_some_and(|(_, fence)| fence == lease))
}

/// What happens to a run by itself.
struct Sources {
    news: mpsc::UnboundedReceiver<News>,
    shown: mpsc::Receiver<Shown>,
}

pub(super) struct Driver<'a> {
    pub(super) state: Loop,
    pub(super) clock: Clock,
    pub(super) timers: Timers,
    pub(super) seq: i64,
    pub(super) fence: i64,
    pub(super) hands: Hands,
    pub(super) store: &'a Store,
    pub(super) hold: Hold,
    asks: Asks,
    pub(super) books: Books,
    pub(super) watcher: &'a mut dyn Watcher,
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
            Beginning::Resumed(left) => {
                self.take_up(left).await?;
                self.happened(EventKind::Ordered { order: order::Order::Resume }).await
            }
        }
    }

    async fn go_on(&mut self, mut sources: Sources) -> Result<Ended, EngineError> {
        loop {
            if let Some(ended) = self.state.ended() {
                return Ok(ended.clone());
            }
            let due = self.next_look();
            tokio::select! {
                ask = self.asks.next() => self.asked(ask).await?,
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
            | Phase::Preparing { .. }
            | Phase::PreparingStopped { .. }
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. }
            | Phase::Paused { .. }
            | Phase::Interrupted { .. }
            | Phase::Finished { .. } => due,
        }
    }

    /// Stores the run with its first step. What was asked of its task before comes first.
    async fn open(&mut self) -> Result<(), EngineError> {
        let settings = RunSettings::of(&self.hands.plan).json();
        let settings = settings.map_err(|source| EngineError::Settings { source })?;
        let waiting = match &self.hands.plan.stage {
            Some(_) => self.waiting_orders().await?,
            None => Vec::new(),
        };
        self.decide(Happened::first(settings, waiting)).await
    }

    /// Goes on where another process was stopped.
    async fn take_up(&mut self, left: Box<TakenUp>) -> Result<(), EngineError> {
        let TakenUp { stored, changed } = *left;
        (self.state, self.seq, self.fence) = (stored.state, stored.facts + 1, stored.fence);
        self.books.read(self.store, &self.hands.plan.id).await?;
        let waiting = self.waiting_orders().await?;
        self.decide(Happened::recovered(changed, waiting)).await?;
        self.look().await
    }

    /// Takes the orders that wait for this run, one after the other.
    async fn look(&mut self) -> Result<(), EngineError> {
        // Who cannot read them now looks again soon; a store that is lost is noticed with the next write.
        for waiting in self.waiting_orders().await.unwrap_or_default() {
            let was_told = self.state.phase.next_signal_kills();
            self.decide(Happened::order(waiting)).await?;
            self.tell_grace(was_told);
        }
        Ok(())
    }

    async fn waiting_orders(&self) -> Result<Vec<WaitingOrder>, StoreError> {
        let plan = &self.hands.plan;
        self.store.waiting_orders(&plan.id, plan.stage.as_ref().map(|stage| stage.task.as_str())).await
    }

    async fn asked(&mut self, ask: Ask) -> Result<(), EngineError> {
        match ask {
            Ask::Signal(Asked::Stop(signal)) => self.stop(signal).await,
            Ask::Signal(Asked::Suspend) => {
                self.suspend().await;
                Ok(())
            }
            Ask::Signal(Asked::Look) => self.look().await,
            Ask::Halt(halt) => {
                self.halt(halt).await;
                Ok(())
            }
            Ask::Lost => Err(StoreError::TakenOver { run: self.hands.plan.id.clone(), owner: None }.into()),
        }
    }

    /// Others write to the store all the time. Tells whether to try again: not for somebody who wants a stop, because nothing
    /// can be recorded.
    pub(super) async fn bears_others(&mut self) -> bool {
        loop {
            match tokio::time::timeout(BETWEEN_TRIES, self.asks.next()).await {
                Err(_) => return true,
                Ok(Ask::Signal(Asked::Stop(_)) | Ask::Lost) => return false,
                Ok(Ask::Signal(Asked::Suspend)) => self.suspend().await,
                Ok(Ask::Halt(halt)) => self.halt(halt).await,
                // It comes again.
                Ok(Ask::Signal(Asked::Look)) => {}
            }
        }
    }

    async fn stop(&mut self, signal: StopSignal) -> Result<(), EngineError> {
        let was_told = self.state.phase.next_signal_kills();
        self.happened(EventKind::Interrupted { signal }).await?;
        self.tell_grace(was_told);
        Ok(())
    }

    /// Says how long the agent has, once.
    fn tell_grace(&mut self, was_told: bool) {
        if self.state.phase.next_signal_kills() && !was_told {
            self.watcher.grace(self.hands.plan.grace);
        }
    }

    /// Stops with the agent, and goes on with it: no timer runs meanwhile.
    async fn suspend(&mut self) {
        self.hold_agent().await;
        self.clock.while_stopped(stop_self);
        self.let_agent_go();
    }

    /// Holds the agent while the process stands still with all the loops that it drives.
    async fn halt(&mut self, halt: Halt) {
        self.hold_agent().await;
        let before = Instant::now();
        halt.held().await;
        self.clock.stood_since(before);
        self.let_agent_go();
    }

    async fn hold_agent(&mut self) {
        hold_job(|order| self.hands.order(order)).await;
    }

    fn let_agent_go(&mut self) {
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
            News::Overspent(key, spend) => self.happened(EventKind::Overspent { key, spend }).await,
            News::Prepared(sealing, baseline) => {
                self.happened(EventKind::Prepared { sealing, baseline }).await
            }
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
        self.decide(Happened::one(kind)).await
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

async fn sleep(due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep(due).await,
        None => std::future::pending().await,
    }
}
