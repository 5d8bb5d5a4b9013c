//! One step of a run: decide, record, act.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::budget::{Scope, Used};
use ralph_core::criterion::Criterion;
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, Millis, Timer};
use ralph_core::fact::Fact;
use ralph_core::outcome::Outcome;
use ralph_core::receipt::{End, Snapshot};
use ralph_core::state::Loop;
use ralph_core::step::step;

use super::books::look_at;
use super::clock::{Clock, dice};
use super::drive::{Driver, EngineError};
use super::perform::Start;
use super::plan::{RunPlan, StageOf};
use super::watch::Stamp;
use ralph_store::receipt;
use ralph_store::{BUSY, Entry, NewRun, NewStage, OrderAnswer, PassedOn, Store, StoreError, WaitingOrder};
use ralph_util::fail::{self, Point};

/// What a step answers: one event, or those with which a run begins.
pub(super) struct Happened {
    events: Vec<EventKind>,
    /// The orders among them.
    orders: Vec<String>,
    /// With its settings a run is new, and stored with this step.
    settings: Option<String>,
}

impl Happened {
    pub(super) fn one(event: EventKind) -> Self {
        Self { events: vec![event], orders: Vec::new(), settings: None }
    }

    /// Somebody asked for something.
    pub(super) fn order(WaitingOrder { id, order }: WaitingOrder) -> Self {
        Self { events: vec![EventKind::Ordered { order }], orders: vec![id], settings: None }
    }

    /// A run is taken up, of which this was asked meanwhile. What does not concern its beginning stays for later.
    pub(super) fn recovered(changed: Vec<String>, waiting: Vec<WaitingOrder>) -> Self {
        let first = waiting.into_iter().filter(|waiting| waiting.order.comes_first());
        let (orders, taken) = first.map(|WaitingOrder { id, order }| (order, id)).unzip();
        Self { events: vec![EventKind::Recovered { changed, orders }], orders: taken, settings: None }
    }

    /// A run begins, for which these orders wait already.
    pub(super) fn first(settings: String, waiting: Vec<WaitingOrder>) -> Self {
        let (orders, mut events): (Vec<String>, Vec<EventKind>) =
            waiting.into_iter().map(|WaitingOrder { id, order }| (id, EventKind::Ordered { order })).unzip();
        events.push(EventKind::Started);
        Self { events, orders, settings: Some(settings) }
    }
}

impl Driver<'_> {
    /// Decides, records, acts.
    pub(super) async fn decide(&mut self, happened: Happened) -> Result<(), EngineError> {
        let at = self.clock.now();
        let Happened { events, orders, settings } = happened;
        let volatile = events.iter().all(EventKind::is_volatile);
        self.hands.others = self.others(volatile).await?;
        let (next, effects) = self.steps(events);
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
        if !volatile && (next != self.state || !facts.is_empty() || !orders.is_empty()) {
            let plan = Arc::clone(&self.hands.plan);
            let run = &plan.id;
            let answer = if next == self.state { OrderAnswer::Moot } else { OrderAnswer::Heeded };
            let taken = orders.iter().map(|id| (id.as_str(), answer)).collect::<Vec<_>>();
            let (fence, seq) = (self.fence, self.seq);
            let passed_on =
                plan.stage.as_ref().map(|stage| PassedOn { task: &stage.task, words: next.untold() });
            let entry = Entry { run, fence, seq, at, facts: &facts, orders: &taken, passed_on, state: &next };
            let new = settings.map(|settings| (settings, self.hold.owner().json()));
            let books = self.store;
            let stored = async || store(books, &plan, &entry, new.as_ref()).await;
            let hands = &mut self.hands;
            let prepared =
                async { effects.iter().find_map(start_of).iter().for_each(|start| hands.prepare(start)) };
            let (first, ()) = tokio::join!(stored(), prepared);
            // Who begins by hand hears of it instead: nothing is lost yet.
            let begins = new.is_some() && plan.stage.as_ref().is_none_or(|stage| stage.lease.is_none());
            let done = if begins { first } else { self.stored_at_last(first, stored).await };
            done.map_err(|error| self.lost(error))?;
            let names: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
            tracing::debug!(run, seq = self.seq, facts = ?names, effects = effects.len(), "stored a step");
        }
        facts.iter().for_each(|fact| die_if_asked(fact));
        for fact in facts {
            self.books.heed(at, fact);
            self.watcher.fact(Stamp { run: &self.hands.plan.id, seq: self.seq, at }, fact);
            self.seq += 1;
        }
        self.books.complaint().iter().for_each(|why| self.watcher.warning(why));
        self.state = next;
        self.hands.note_cost(self.state.spent);
        self.hand_over(receipt.as_ref());
        for effect in effects {
            self.act(effect);
        }
        Ok(())
    }

    /// Stores again what could not be stored because others were writing.
    async fn stored_at_last(
        &mut self,
        mut done: Result<(), StoreError>,
        again: impl AsyncFn() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut is_told = false;
        while done.as_ref().is_err_and(StoreError::is_busy) {
            if !is_told {
                self.watcher.warning(BUSY);
                is_told = true;
            }
            if !self.bears_others().await {
                break;
            }
            done = again().await;
        }
        done
    }

    /// Lets the rules answer one event after the other.
    fn steps(&self, events: Vec<EventKind>) -> (Loop, Vec<Effect>) {
        let (wall, ground) = (Clock::wall(), self.hands.plan.ground());
        let mut all = Vec::new();
        let mut state = self.state.clone();
        for kind in events {
            let others = self.hands.others.clone();
            let event = Event { at: self.clock.at_work(), wall, dice: dice(), ground, others, kind };
            let (next, effects) = step(state, event);
            state = next;
            all.extend(effects);
        }
        (state, all)
    }

    /// Returns what other runs have used of the budgets that this one shares. What decides nothing need not know.
    async fn others(&self, volatile: bool) -> Result<Vec<Used>, EngineError> {
        let mut others = Vec::new();
        for shared in self.state.policy.shared.iter().filter(|_| !volatile) {
            let used = match (&shared.scope, &self.hands.account) {
                (Scope::Worker, Some(account)) => Ok(Used { spent: account.others(), ..Used::default() }),
                (scope, _) => self.store.used_beside(&self.hands.plan.id, scope).await,
            };
            others.push(used.map_err(|error| self.lost(error))?);
        }
        Ok(others)
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

    /// Returns the receipt of a run that these facts complete.
    async fn receipt(&mut self, at: Millis, facts: &[&Fact]) -> Option<Fact> {
        if !facts.iter().any(|fact| End::of(fact).is_some()) {
            return None;
        }
        if self.books.seen.is_none() {
            let plan = &self.hands.plan;
            let seen = look_at(&plan.project.root, plan.acceptance.isolation).await;
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
    pub(super) fn looked(&mut self, seen: Result<Snapshot, String>) {
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
            Effect::StartAgent { key, plan, nonce, guidance, session, agent } => {
                self.timers.clear();
                self.hands.spent = self.state.spent;
                self.hands.start_agent(Start { key, plan, nonce, guidance, session, agent });
            }
            Effect::StopAgent { .. } => self.hands.stop_agent(),
            Effect::KillAgent { .. } | Effect::StopChecks { .. } => self.hands.kill(),
            Effect::Prepare { round, baseline } => self.hands.get_ready(round, baseline),
            Effect::RunChecks { key, round } => {
                self.hands.run_checks(key, round, self.books.seal.clone());
            }
            Effect::Finish => self.hands.finish(),
        }
    }
}

/// Stores a step. With its settings and its owner a run is new.
async fn store(
    store: &Store,
    plan: &RunPlan,
    entry: &Entry<'_>,
    new: Option<&(String, String)>,
) -> Result<(), StoreError> {
    let Some((settings, owner)) = new else { return store.record(entry).await };
    let new = NewRun {
        kind: plan.kind,
        agent: &plan.agent.name,
        promise: plan.rules.promise.as_str(),
        settings,
        owner,
        stage: plan.stage.as_ref().map(new_stage),
    };
    store.begin(&new, entry).await
}

fn new_stage(stage: &StageOf) -> NewStage<'_> {
    NewStage { task: &stage.task, role: &stage.role, lease: stage.lease }
}

/// Returns the start of an agent that is decided here, if it is one.
fn start_of(effect: &Effect) -> Option<Start> {
    match effect {
        Effect::StartAgent { key, plan, nonce, guidance, session, agent } => Some(Start {
            key: *key,
            plan: plan.clone(),
            nonce: nonce.clone(),
            guidance: guidance.clone(),
            session: session.clone(),
            agent: *agent,
        }),
        Effect::Record { .. }
        | Effect::StartTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::StopAgent { .. }
        | Effect::KillAgent { .. }
        | Effect::Prepare { .. }
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
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RunResumed { .. }
        | Fact::RunPaused { .. }
        | Fact::RunGuided { .. }
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
