//! The worker's day: takes what is ready while there is room, keeps its leases, and passes on what people ask.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::StopSignal;
use ralph_core::pipeline::Pipeline;
use ralph_core::task::Status;
use tokio::task::{JoinHandle, JoinSet, LocalSet};
use tokio::time::Instant;

use super::desk::Desk;
use super::named::given_up;
use super::purse::Purse;
use super::shop::{News, Workshop};
use super::task::{TaskEnd, Work};
use crate::engine::{Asked, Clock, Signals, halt};
use crate::lock::Owner;
use ralph_process::Keeper;
use ralph_store::{Among, Claimed, Store, StoreError};

/// How often a worker with room looks whether something has become ready.
const LOOK: Duration = Duration::from_millis(500);
/// The shortest time between two renewals.
const SHORTEST: Duration = Duration::from_millis(100);
/// How soon a task is tried again that could not begin; each time it takes twice as long, up to the longest.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);
/// How many agents in a row may fail before something must be wrong that no other task would cure.
const BRAKE: u32 = 3;

/// What a worker is to do.
pub struct Assignment {
    pub pipeline: Pipeline,
    /// These tasks alone; all where there are none.
    pub named: Vec<String>,
    pub slots: usize,
    pub until: Until,
    pub lease: Duration,
    /// What everything that it begins may cost together.
    pub max_cost_micros: Option<u64>,
}

/// When a worker is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Nothing is at work, and nothing is ready.
    Idle,
    /// Somebody stops it.
    Stopped,
}

/// How a worker's day ended.
#[derive(Debug)]
pub struct Finish {
    /// What became of the tasks that it had, by their last end here.
    pub tasks: BTreeMap<String, TaskEnd>,
    pub stopped: Option<StopSignal>,
    pub is_braked: bool,
    /// The money is used up.
    pub is_spent: bool,
}

/// Works until there is nothing more to do, or somebody stops it.
pub async fn work<W: Workshop + 'static>(
    shop: Rc<W>,
    (store, keeper): (Arc<Store>, Keeper),
    assignment: Assignment,
    signals: Signals,
) -> Result<Finish, W::Trouble> {
    let worker = Worker {
        shop,
        store,
        keeper,
        desk: Rc::new(Desk::default()),
        purse: Rc::new(Purse::new(assignment.max_cost_micros)),
        pipeline: Rc::new(assignment.pipeline.clone()),
        owner: Owner::of("work", Clock::wall()).json(),
        ends: BTreeMap::new(),
        aside: BTreeMap::new(),
        failed_in_a_row: 0,
        is_idle: false,
        assignment,
    };
    LocalSet::new().run_until(worker.day(signals)).await
}

struct Worker<W> {
    shop: Rc<W>,
    store: Arc<Store>,
    keeper: Keeper,
    desk: Rc<Desk>,
    purse: Rc<Purse>,
    pipeline: Rc<Pipeline>,
    owner: String,
    assignment: Assignment,
    ends: BTreeMap<String, TaskEnd>,
    /// When what could not begin is tried again, and how long that was put off.
    aside: BTreeMap<String, (Instant, Duration)>,
    failed_in_a_row: u32,
    /// People were told that there is nothing to do.
    is_idle: bool,
}

impl<W: Workshop + 'static> Worker<W> {
    async fn day(mut self, mut signals: Signals) -> Result<Finish, W::Trouble> {
        let mut tasks = JoinSet::new();
        let every = (self.assignment.lease / 3).max(SHORTEST);
        let mut renewal = Instant::now() + every;
        let mut errand = self.errand();
        loop {
            let took = self.has_room(&tasks) && self.take_one(&mut tasks).await?;
            if !took && tasks.is_empty() {
                self.give_up_the_stuck().await?;
                if errand.is_finished() && self.is_finished() {
                    return Ok(self.finish());
                }
            }
            if self.tell_if_idle(&tasks) && errand.is_finished() {
                errand = self.errand();
            }
            tokio::select! {
                Some(ended) = tasks.join_next() => self.ended(ended),
                _ = &mut errand, if !errand.is_finished() => {}
                asked = signals.next() => self.asked(asked).await,
                () = self.desk.changed() => {}
                () = tokio::time::sleep_until(renewal) => {
                    renewal = Instant::now() + every;
                    self.renew().await?;
                }
                () = std::future::ready(()), if took => {}
                () = tokio::time::sleep(LOOK), if !took && self.has_room(&tasks) => {}
            }
        }
    }

    fn finish(self) -> Finish {
        let (is_braked, is_spent) = (self.is_braked(), self.purse.is_empty());
        Finish { tasks: self.ends, stopped: self.desk.stopped(), is_braked, is_spent }
    }

    fn is_braked(&self) -> bool {
        self.failed_in_a_row >= BRAKE
    }

    /// Whether nothing more will be taken, now that nothing is at work.
    fn is_finished(&self) -> bool {
        let named = &self.assignment.named;
        let all_named = !named.is_empty() && named.iter().all(|task| self.ends.get(task).is_some_and(is_end));
        self.assignment.until == Until::Idle || all_named || self.is_closed()
    }

    /// Whether nothing more is taken.
    fn is_closed(&self) -> bool {
        self.desk.stopped().is_some() || self.is_braked() || self.purse.is_empty()
    }

    /// A paused task needs no slot. Where it goes on while all are taken, there is one more at work until another ends.
    fn has_room(&self, tasks: &JoinSet<(String, TaskEnd)>) -> bool {
        tasks.len().saturating_sub(self.desk.paused()) < self.assignment.slots && !self.is_closed()
    }

    /// Takes one task that is ready, and tells whether there was one. Between two of them leases are kept and people heard.
    async fn take_one(&mut self, tasks: &mut JoinSet<(String, TaskEnd)>) -> Result<bool, W::Trouble> {
        let except: Vec<String> = self.not_again();
        let among = Among { named: &self.assignment.named, except: &except };
        let claimed = self.store.claim_next(&self.owner, self.assignment.lease, among).await;
        match self.bear(claimed)? {
            None => Ok(false),
            Some(Some(claimed)) => {
                self.take(claimed, tasks);
                Ok(true)
            }
            Some(None) => {
                let buried = self.bury().await;
                Ok(self.bear(buried)?.unwrap_or_default())
            }
        }
    }

    /// Bears that others write all the time: who cannot write cannot lose a lease either. `None`: this time nothing came of
    /// it.
    fn bear<T>(&self, done: Result<T, StoreError>) -> Result<Option<T>, W::Trouble> {
        let is_busy = done.as_ref().is_err_and(StoreError::is_busy);
        if self.desk.is_busy_now(is_busy) {
            self.shop.tell(&News::Busy);
        }
        match done {
            Ok(done) => Ok(Some(done)),
            Err(_) if is_busy => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts those of the named tasks as ended that the work on the others cannot make ready.
    async fn give_up_the_stuck(&mut self) -> Result<(), W::Trouble> {
        if self.assignment.named.is_empty() || self.is_closed() {
            return Ok(());
        }
        let (heads, leases) = (self.store.tasks().await, self.store.leases().await);
        let (Some(heads), Some(leases)) = (self.bear(heads)?, self.bear(leases)?) else { return Ok(()) };
        let open = self.assignment.named.iter().filter(|task| !self.ends.get(*task).is_some_and(is_end));
        for (task, end) in given_up(open, &self.assignment.named, &heads, &leases) {
            if let TaskEnd::Aside { why } | TaskEnd::Over { why, .. } = &end {
                self.shop.tell(&News::Aside { task: &task, why });
            }
            self.ends.insert(task, end);
        }
        Ok(())
    }

    /// Returns whether it has just become idle.
    fn tell_if_idle(&mut self, tasks: &JoinSet<(String, TaskEnd)>) -> bool {
        let waits = tasks.is_empty() && !self.is_finished();
        let is_new = waits && !self.is_idle;
        if is_new {
            self.shop.tell(&News::Idle);
        }
        self.is_idle = waits;
        is_new
    }

    /// Catches up on what others have left behind, beside everything else.
    fn errand(&self) -> JoinHandle<()> {
        let (shop, store, keeper) = (Rc::clone(&self.shop), Arc::clone(&self.store), self.keeper.clone());
        let named = self.assignment.named.clone();
        tokio::task::spawn_local(async move { shop.catch_up(&named, &store, &keeper).await })
    }

    /// Returns the tasks that are here already, and those that could not begin: who waits tries them again, later and later.
    fn not_again(&self) -> Vec<String> {
        let waits = self.assignment.until == Until::Stopped && self.assignment.named.is_empty();
        let is_due = |at: &Instant| waits && *at <= Instant::now();
        let aside = self.aside.iter().filter(|(_, (at, _))| !is_due(at));
        let here = self.desk.claims().into_iter().map(|claim| claim.task);
        aside.map(|(task, _)| task.clone()).chain(here).collect()
    }

    fn put_off(&mut self, task: &str, end: &TaskEnd) {
        if matches!(end, TaskEnd::Aside { .. }) {
            let off = self.aside.get(task).map_or(AGAIN, |(_, off)| (*off * 2).min(LONGEST));
            self.aside.insert(task.to_owned(), (Instant::now() + off, off));
        } else {
            self.aside.remove(task);
        }
    }

    fn take(&mut self, claimed: Claimed, tasks: &mut JoinSet<(String, TaskEnd)>) {
        let Claimed { claim, row, progress } = claimed;
        self.desk.sit(&claim);
        let work = Work {
            shop: Rc::clone(&self.shop),
            store: Arc::clone(&self.store),
            keeper: self.keeper.clone(),
            desk: Rc::clone(&self.desk),
            purse: Rc::clone(&self.purse),
            pipeline: Rc::clone(&self.pipeline),
            before: self.ends.get(&claim.task).and_then(|end| match end {
                TaskEnd::Aside { why } => Some(why.clone()),
                TaskEnd::Over { .. } | TaskEnd::Left | TaskEnd::Lost => None,
            }),
            claim,
            row,
        };
        tasks.spawn_local(work.run(progress));
    }

    fn ended(&mut self, ended: Result<(String, TaskEnd), tokio::task::JoinError>) {
        let (task, end) = match ended {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return,
            },
        };
        if let TaskEnd::Over { why, is_agent_s_fault, .. } = &end {
            self.failed_in_a_row = if *is_agent_s_fault { self.failed_in_a_row + 1 } else { 0 };
            if self.failed_in_a_row == BRAKE {
                self.shop.tell(&News::Braked { failed: BRAKE, why });
            }
        }
        self.put_off(&task, &end);
        self.ends.insert(task, end);
    }

    async fn asked(&self, asked: Asked) {
        match asked {
            Asked::Stop(signal) => {
                self.shop.stop(signal);
                self.desk.stop(signal);
            }
            Asked::Suspend => {
                let (ask, halting) = halt();
                self.desk.halt(&ask);
                self.shop.halt(&ask);
                drop(ask);
                halting.stop().await;
            }
            // Who cannot read them now looks again soon.
            Asked::Look => self.desk.look(&self.store.awaited().await.unwrap_or_default()),
        }
    }

    async fn renew(&mut self) -> Result<(), W::Trouble> {
        let lost = self.store.renew(&self.desk.claims(), self.assignment.lease).await;
        let lost = self.bear(lost)?.unwrap_or_default();
        lost.iter().for_each(|claim| self.desk.lose(&claim.task));
        Ok(())
    }

    /// Ends the leases of workers on this machine that are dead: nobody need wait for them. Tells whether there were any.
    async fn bury(&self) -> Result<bool, StoreError> {
        let mut is_any = false;
        for lease in self.store.leases().await? {
            let is_dead = Owner::parse(&lease.owner).is_some_and(|owner| owner.process.is_gone());
            if !lease.is_over && is_dead {
                self.store.end_lease(&lease.claim).await?;
                is_any = true;
            }
        }
        Ok(is_any)
    }
}

/// Whether this worker has nothing more to do with a task.
fn is_end(end: &TaskEnd) -> bool {
    match end {
        TaskEnd::Over { status, .. } => *status != Status::Todo,
        TaskEnd::Aside { .. } | TaskEnd::Lost => true,
        TaskEnd::Left => false,
    }
}
