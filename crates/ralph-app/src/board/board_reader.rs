//! Reads what the board shows, and reads it again only if something may have changed.
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ralph_core::event::UnixMillis;
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_core::task::{TaskStatus, unmet_dependencies};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, NODE_RUN_KIND};
use ralph_store::{ChangeStamp, RunRow, Store, TaskListItem, TaskStatusCount, TaskWindow};

use super::card::lane_of_task;
use super::last_output::LastOutputReader;
use super::{BoardCard, CardKind, CardLane, LiveLoop};
use crate::control::ActiveWorkReader;
use crate::error::AppResult;
use crate::inbox::{InboxItem, load_inbox};
use crate::run::{open_existing_store, with_actual_status};
use crate::view::{ActiveWork, LoopView, WorkerView};
use crate::workflow_runs;

/// How many of the newest runs and workflow runs have cards.
const RECENT_RUNS: u32 = 100;
/// After this time everything is read even if nothing seems to have changed: a write can be missed, and a process can die
/// or work can be landed without a write.
const FULL_READ_INTERVAL: Duration = Duration::from_secs(30);
/// Reading takes at most this part of the time.
const READ_SHARE: u32 = 20;
/// How many tasks to do, and how many that have ended, are read for a screen.
pub const LANE_WINDOW: u32 = 300;
const DAY_MS: i64 = 86_400_000;

/// Which cards are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardScope {
    /// Those of the loops and tasks in progress, and the first [`LANE_WINDOW`] of each other lane.
    #[default]
    Window,
    /// Every task.
    Everything,
}

/// How many cards a lane has, with those that were not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneTotals {
    pub to_do: usize,
    pub ended: usize,
}

/// Everything on the board at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoardSnapshot {
    pub taken_at: UnixMillis,
    /// Sorted by the cost of waiting.
    pub inbox: Vec<InboxItem>,
    /// Running ones first, then those to do by urgency, then the ended ones, newest first.
    pub cards: Vec<BoardCard>,
    pub workers: Vec<WorkerView>,
    /// The known cost of the runs that started in the last 24 hours.
    pub day_cost_micros: Option<i64>,
    pub scope: CardScope,
    pub totals: LaneTotals,
}

impl BoardSnapshot {
    /// Returns whether there are cards that were not read.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        let count = |lane| self.cards.iter().filter(|card| card.lane == lane).count();
        self.scope == CardScope::Window
            && (self.totals.to_do > count(CardLane::ToDo) || self.totals.ended > count(CardLane::Ended))
    }
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
    scope: CardScope,
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
            scope: CardScope::default(),
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

    /// The next call of [`Self::read_changes`] reads the project, also if nothing has changed.
    pub fn expire(&mut self) {
        self.last_read = None;
    }

    /// From now on these cards are read.
    pub fn set_scope(&mut self, scope: CardScope) {
        if std::mem::replace(&mut self.scope, scope) != scope {
            self.expire();
        }
    }

    fn is_due(&self, stamp: &ChangeStamp, now: Instant) -> bool {
        let Some(last) = &self.last_read else { return true };
        let age = now.duration_since(last.at);
        age >= FULL_READ_INTERVAL || (last.stamp != *stamp && age >= last.took * READ_SHARE)
    }

    /// Returns the snapshot if it differs from the last one, apart from its time.
    fn keep_if_changed(&mut self, snapshot: BoardSnapshot) -> Option<BoardSnapshot> {
        self.snapshot.taken_at = snapshot.taken_at;
        let is_same = snapshot == self.snapshot;
        let is_first = !std::mem::replace(&mut self.has_snapshot, true);
        if is_same && !is_first {
            return None;
        }
        self.snapshot = snapshot;
        Some(self.snapshot.clone())
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
        snapshot.scope = self.scope;
        let work = self.active.read().await?;
        if self.store.is_none() {
            self.store = open_existing_store(self.project).await?;
        }
        snapshot.inbox = load_inbox(self.project, self.store.as_ref()).await?;
        if let Some(store) = &self.store {
            add_cards(self.project, store, &mut snapshot).await?;
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

/// Adds the cards of the tasks, runs and workflow runs, and counts those that were not read.
async fn add_cards(project: &Project, store: &Store, snapshot: &mut BoardSnapshot) -> AppResult<()> {
    let runs = store.recent_runs(RECENT_RUNS).await?;
    let runs: Vec<RunRow> = runs.into_iter().map(|run| with_actual_status(project, run)).collect();
    snapshot.day_cost_micros = store.known_cost_since(UnixMillis(snapshot.taken_at.0 - DAY_MS)).await?;
    snapshot.cards = task_cards(store, &runs, snapshot.scope).await?;
    let of_tasks = count_lanes(&snapshot.cards);
    snapshot.cards.extend(runs.iter().filter(|run| has_card(run)).map(BoardCard::of_run));
    let workflows = store.recent_workflow_runs(RECENT_RUNS).await?;
    let workflows = workflows.into_iter().map(|run| workflow_runs::with_actual_status(project, run));
    snapshot.cards.extend(workflows.filter(|run| run.parent.is_none()).map(|run| BoardCard::of_workflow(&run)));
    let (counted, shown) = (count_tasks(&store.count_tasks_by_status().await?), count_lanes(&snapshot.cards));
    snapshot.totals = LaneTotals {
        to_do: counted.to_do.max(of_tasks.to_do),
        ended: counted.ended.max(of_tasks.ended) + (shown.ended - of_tasks.ended),
    };
    Ok(())
}

fn count_lanes(cards: &[BoardCard]) -> LaneTotals {
    let count = |lane| cards.iter().filter(|card| card.lane == lane).count();
    LaneTotals { to_do: count(CardLane::ToDo), ended: count(CardLane::Ended) }
}

fn count_tasks(counts: &[TaskStatusCount]) -> LaneTotals {
    let in_lane =
        |lane| counts.iter().filter(|count| lane_of_task(count.status) == lane).map(|count| count.tasks).sum();
    LaneTotals { to_do: in_lane(CardLane::ToDo), ended: in_lane(CardLane::Ended) }
}

async fn task_cards(store: &Store, runs: &[RunRow], scope: CardScope) -> AppResult<Vec<BoardCard>> {
    let stored = match scope {
        CardScope::Window => store.window_of_tasks(TaskWindow { to_do: LANE_WINDOW, ended: LANE_WINDOW }).await?,
        CardScope::Everything => store.list_tasks().await?,
    };
    let statuses = known_statuses(store, &stored, scope).await?;
    let runs: BTreeMap<&str, &RunRow> = runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let card = |item: TaskListItem| {
        let is_to_do = lane_of_task(item.status) == CardLane::ToDo;
        let needed = if is_to_do { item.dependencies.as_slice() } else { &[] };
        let waits_for = unmet_dependencies(needed, |id| statuses.get(id).copied());
        let waits_for = waits_for.into_iter().map(str::to_owned).collect();
        let run = item.run.as_ref().and_then(|run| runs.get(run.id.as_str()).copied());
        let mut card = BoardCard::of_task(item, waits_for);
        run.into_iter().for_each(|run| card.add_run(run));
        card
    };
    Ok(stored.into_iter().map(card).collect())
}

/// Returns the statuses of the tasks that these tasks depend on: of all of them, or those that are done.
async fn known_statuses(
    store: &Store,
    tasks: &[TaskListItem],
    scope: CardScope,
) -> AppResult<BTreeMap<String, TaskStatus>> {
    if scope == CardScope::Everything {
        return Ok(tasks.iter().map(|task| (task.id.clone(), task.status)).collect());
    }
    let needed: BTreeSet<&String> = tasks.iter().flat_map(|task| &task.dependencies).collect();
    let needed: Vec<String> = needed.into_iter().cloned().collect();
    Ok(store.done_tasks_among(&needed).await?.into_iter().map(|task| (task, TaskStatus::Done)).collect())
}

/// Sorts by lane. Tasks to do keep the order in which workers take them; those that wait for others come last.
fn sort_cards(cards: &mut [BoardCard]) {
    cards.sort_by_key(|card| match card.lane {
        CardLane::Running => (card.lane, card.live.is_none(), card.live.as_ref().map_or(0, |live| live.started_at.0)),
        CardLane::ToDo => (card.lane, !card.waits_for.is_empty(), i64::from(card.priority.unwrap_or(0))),
        CardLane::Ended => (card.lane, false, -card.changed_at),
    });
}
