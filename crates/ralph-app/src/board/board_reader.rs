//! Reads what the board shows, and reads it again only if something may have changed.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ralph_core::event::UnixMillis;
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_core::task::{TaskStatus, unmet_dependencies};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, NODE_RUN_KIND};
use ralph_store::{ChangeStamp, RunRow, Store};

use super::last_output::LastOutputReader;
use super::{BoardCard, CardKind, CardLane, LiveLoop};
use crate::control::ActiveWorkReader;
use crate::error::AppResult;
use crate::inbox::{InboxItem, list_inbox};
use crate::run::{open_existing_store, with_actual_status};
use crate::view::{ActiveWork, LoopView, WorkerView};
use crate::workflow_runs::list_workflow_runs;

/// How many of the newest runs and workflow runs have cards.
const RECENT_RUNS: u32 = 100;
/// After this time everything is read even if nothing seems to have changed: a write can be missed, and a process can die
/// or work can be landed without a write.
const FULL_READ_INTERVAL: Duration = Duration::from_secs(30);
/// Reading takes at most this part of the time.
const READ_SHARE: u32 = 20;

/// Everything on the board at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoardSnapshot {
    pub taken_at: UnixMillis,
    /// Sorted by the cost of waiting.
    pub inbox: Vec<InboxItem>,
    /// Running ones first, then those to do by urgency, then the ended ones, newest first.
    pub cards: Vec<BoardCard>,
    pub workers: Vec<WorkerView>,
    /// The known cost of the recent runs that started in the last 24 hours.
    pub day_cost_micros: Option<i64>,
}

/// Reads snapshots. Keeps the store open between them.
pub struct BoardReader<'a> {
    project: &'a Project,
    active: ActiveWorkReader<'a>,
    store: Option<Store>,
    outputs: LastOutputReader,
    last_read: Option<LastRead>,
    /// The active work of the last snapshot.
    active_work: Vec<ActiveWork>,
    /// Whether a snapshot was returned: the one of an empty project looks like none.
    has_snapshot: bool,
    snapshot: BoardSnapshot,
}

struct LastRead {
    stamp: ChangeStamp,
    at: Instant,
    took: Duration,
}

impl<'a> BoardReader<'a> {
    #[must_use]
    pub fn new(project: &'a Project) -> Self {
        Self {
            project,
            active: ActiveWorkReader::new(project),
            store: None,
            outputs: LastOutputReader::default(),
            last_read: None,
            active_work: Vec::new(),
            has_snapshot: false,
            snapshot: BoardSnapshot::default(),
        }
    }

    /// Returns the snapshot of now, or `None` if it is the same as the last one.
    pub async fn read_changes(&mut self) -> AppResult<Option<BoardSnapshot>> {
        let stamp = ChangeStamp::capture(&self.project.state_folder());
        let began = Instant::now();
        if !self.is_due(&stamp, began) {
            return self.reread_active().await;
        }
        let snapshot = self.read_all().await?;
        self.last_read = Some(LastRead { stamp, at: Instant::now(), took: began.elapsed() });
        Ok(self.keep_if_changed(snapshot))
    }

    /// The next call of [`Self::read_changes`] reads everything.
    pub fn expire(&mut self) {
        self.last_read = None;
    }

    fn is_due(&self, stamp: &ChangeStamp, now: Instant) -> bool {
        let Some(last) = &self.last_read else { return true };
        let age = now.duration_since(last.at);
        age >= FULL_READ_INTERVAL || (last.stamp != *stamp && age >= last.took * READ_SHARE)
    }

    /// Returns the snapshot if it differs from the last one, apart from its time.
    fn keep_if_changed(&mut self, snapshot: BoardSnapshot) -> Option<BoardSnapshot> {
        let is_same = BoardSnapshot { taken_at: self.snapshot.taken_at, ..snapshot.clone() } == self.snapshot;
        let is_first = !std::mem::replace(&mut self.has_snapshot, true);
        self.snapshot = snapshot;
        (is_first || !is_same).then(|| self.snapshot.clone())
    }

    /// Reads what changes without a write to the store: the output of agents, and whether drivers live.
    async fn reread_active(&mut self) -> AppResult<Option<BoardSnapshot>> {
        if self.snapshot.cards.iter().all(|card| card.live.is_none()) && self.snapshot.workers.is_empty() {
            return Ok(None);
        }
        let work = self.active.read().await?;
        if work == self.active_work && self.outputs.are_unchanged() {
            return Ok(None);
        }
        let mut snapshot = BoardSnapshot { taken_at: Clock::wall_now(), ..self.snapshot.clone() };
        self.add_active_work(&mut snapshot, work).await?;
        Ok(self.keep_if_changed(snapshot))
    }

    async fn read_all(&mut self) -> AppResult<BoardSnapshot> {
        let mut snapshot = BoardSnapshot { taken_at: Clock::wall_now(), ..BoardSnapshot::default() };
        let work = self.active.read().await?;
        snapshot.inbox = list_inbox(self.project).await?;
        if self.store.is_none() {
            self.store = open_existing_store(self.project).await?;
        }
        if let Some(store) = &self.store {
            let runs = store.recent_runs(RECENT_RUNS).await?;
            let runs: Vec<RunRow> = runs.into_iter().map(|run| with_actual_status(self.project, run)).collect();
            snapshot.day_cost_micros = day_cost(&runs, snapshot.taken_at);
            snapshot.cards = task_cards(store, &runs).await?;
            snapshot.cards.extend(runs.iter().filter(|run| has_card(run)).map(BoardCard::of_run));
            let workflows = list_workflow_runs(self.project, RECENT_RUNS).await?;
            snapshot.cards.extend(workflows.iter().filter(|run| run.parent.is_none()).map(BoardCard::of_workflow));
        }
        self.add_active_work(&mut snapshot, work).await?;
        sort_cards(&mut snapshot.cards);
        Ok(snapshot)
    }

    /// Adds the loops that are running or parked to their cards. A loop without a card, such as one older than the recent
    /// runs, gets one.
    async fn add_active_work(&mut self, snapshot: &mut BoardSnapshot, work: Vec<ActiveWork>) -> AppResult<()> {
        self.active_work.clone_from(&work);
        snapshot.workers.clear();
        snapshot.cards.iter_mut().for_each(|card| card.live = None);
        let mut active: Vec<String> = Vec::new();
        for work in work {
            match work {
                ActiveWork::Worker(worker) => snapshot.workers.push(worker),
                ActiveWork::SettingUp(_) => {}
                ActiveWork::Loop(view) => {
                    active.push(view.id().to_owned());
                    self.add_loop(&mut snapshot.cards, &view).await?;
                }
            }
        }
        let active: Vec<&str> = active.iter().map(String::as_str).collect();
        self.outputs.forget_all_but(&active);
        Ok(())
    }

    async fn add_loop(&mut self, cards: &mut Vec<BoardCard>, view: &LoopView) -> AppResult<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let row = view.row();
        let (mut live, key) = LiveLoop::load(store, view).await?;
        live.last_output = key.and_then(|key| self.outputs.read(self.project, &row.run, key));
        let card = match cards.iter().position(|card| is_card_of(card, &row.run)) {
            Some(at) => cards.get_mut(at),
            None => {
                cards.insert(0, BoardCard::of_run(&row.run));
                cards.first_mut()
            }
        };
        if let Some(card) = card {
            card.add_run(&row.run);
            card.live = Some(Box::new(live));
            card.lane = CardLane::Running;
        }
        Ok(())
    }
}

/// Returns whether a run has a separate card: runs of tasks and of workflow nodes have the card of those.
fn has_card(run: &RunRow) -> bool {
    run.task.is_none() && run.kind != NODE_RUN_KIND && (run.kind != SESSION_RUN_KIND || run.status == "running")
}

fn is_card_of(card: &BoardCard, run: &RunRow) -> bool {
    match (&run.task, card.kind) {
        (Some(task), CardKind::Task) => card.id == *task,
        (_, CardKind::Run) => card.id == run.id,
        (_, CardKind::Task | CardKind::Workflow) => false,
    }
}

async fn task_cards(store: &Store, runs: &[RunRow]) -> AppResult<Vec<BoardCard>> {
    let stored = store.list_tasks().await?;
    let statuses: BTreeMap<String, TaskStatus> = stored.iter().map(|task| (task.id.clone(), task.status)).collect();
    let runs: BTreeMap<&str, &RunRow> = runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let card = |item: ralph_store::TaskListItem| {
        let waits_for = unmet_dependencies(&item.dependencies, |id| statuses.get(id).copied());
        let waits_for = waits_for.into_iter().map(str::to_owned).collect();
        let run = item.run.as_ref().and_then(|run| runs.get(run.id.as_str()).copied());
        let mut card = BoardCard::of_task(item, waits_for);
        run.into_iter().for_each(|run| card.add_run(run));
        card
    };
    Ok(stored.into_iter().map(card).collect())
}

/// Sorts by lane. Tasks to do keep the order in which workers take them; those that wait for others come last.
fn sort_cards(cards: &mut [BoardCard]) {
    cards.sort_by_key(|card| match card.lane {
        CardLane::Running => (card.lane, card.live.is_none(), card.live.as_ref().map_or(0, |live| live.started_at.0)),
        CardLane::ToDo => (card.lane, !card.waits_for.is_empty(), i64::from(card.priority.unwrap_or(0))),
        CardLane::Ended => (card.lane, false, -card.changed_at),
    });
}

fn day_cost(runs: &[RunRow], now: UnixMillis) -> Option<i64> {
    let since = now.0 - 86_400_000;
    runs.iter().filter(|run| run.started_at >= since).filter_map(|run| run.cost_micros).reduce(|sum, cost| sum + cost)
}
