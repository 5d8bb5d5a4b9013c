//! Follows a run that another process drives, or shows one that has ended.
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    AgentChoice, OutputVisibility, ResumeTarget, RunContext, RunObserver, RunSpec, RunSpecError, StoredAgent,
};
use ralph_store::{EventRow, RunRow, Store};

use super::{ReplayScope, ReplaySource, RunReplay};
use crate::control::{FollowResult, FollowUntil, JournalFollower, JournalProgress, ReaderStatus};
use crate::error::AppResult;
use crate::run::{FoundRun, FoundRuns, RunSummary, find_active_run, find_run, find_runs};

/// A stored run whose journal can be read while another process writes it.
pub struct FollowedRun {
    project: Project,
    store: Store,
    row: RunRow,
}

impl FollowedRun {
    /// Finds the run whose id starts or ends with `part`, or the newest run that is still driven.
    pub async fn find_active(project: Project, part: Option<&str>) -> AppResult<Self> {
        let found = match part {
            Some(part) => find_run(&project, Some(part)).await?,
            None => find_active_run(&project).await?,
        };
        Ok(Self::from_found(project, found))
    }

    /// Finds the run whose id starts or ends with `part`, or the newest run.
    pub async fn find_newest(project: Project, part: Option<&str>) -> AppResult<Self> {
        let found = find_run(&project, part).await?;
        Ok(Self::from_found(project, found))
    }

    /// Finds all runs of the task with this id, oldest first, or the run that `part` names, or the newest run.
    pub async fn find_all(project: &Project, part: Option<&str>) -> AppResult<Vec<Self>> {
        let FoundRuns { store, runs } = find_runs(project, part).await?;
        store.close().await;
        let mut followed = Vec::new();
        for run in runs {
            followed.push(Self::find_newest(project.clone(), Some(&run.id)).await?);
        }
        Ok(followed)
    }

    fn from_found(project: Project, found: FoundRun) -> Self {
        Self { project, store: found.store, row: found.run }
    }

    /// Returns the run as it was when it was found.
    #[must_use]
    pub fn row(&self) -> &RunRow {
        &self.row
    }

    /// Forwards the facts of the run, and the output of its agent, to an observer until the run ends. `reader_status` says
    /// whether the output is still read.
    pub async fn replay(
        &self,
        observer: &mut dyn RunObserver,
        reader_status: impl Fn() -> ReaderStatus,
    ) -> AppResult<FollowResult> {
        self.replay_part(ReplayScope::FromNow, FollowUntil::RunEnd, observer, reader_status).await
    }

    /// Like [`Self::replay`], for a part of the run.
    pub async fn replay_part(
        &self,
        scope: ReplayScope,
        until: FollowUntil,
        observer: &mut dyn RunObserver,
        reader_status: impl Fn() -> ReaderStatus,
    ) -> AppResult<FollowResult> {
        let folder = self.project.run_folder(&self.row.id);
        let source = ReplaySource { run: self.row.id.clone(), folder, agents: stored_agents(&self.project, &self.row) };
        let mut replay = RunReplay::new(source, scope, observer);
        let show = |rows: &[EventRow], progress| {
            replay.show_facts(rows);
            if progress == JournalProgress::CaughtUp {
                replay.catch_up();
            }
            reader_status()
        };
        self.follow(until, show).await
    }

    /// Shows the events page by page, from the first one. An empty page means that time has passed.
    pub async fn follow(
        &self,
        until: FollowUntil,
        show: impl FnMut(&[EventRow], JournalProgress) -> ReaderStatus,
    ) -> AppResult<FollowResult> {
        let follower = JournalFollower { project: &self.project, store: &self.store, run: &self.row.id, until };
        follower.follow_journal(show).await
    }

    /// Loads the recorded result. Returns `None` if the run has not ended.
    pub async fn load_summary(&self) -> AppResult<Option<RunSummary>> {
        RunSummary::load_recorded(&self.store, &self.row.id).await
    }
}

/// Returns the agents of a run, the first one first, or none if its settings cannot be parsed.
pub(crate) fn stored_agents(project: &Project, run: &RunRow) -> Vec<AgentChoice> {
    let target = ResumeTarget {
        run_id: run.id.clone(),
        run_kind: run.kind.clone(),
        project: project.clone(),
        visibility: OutputVisibility::Shown,
    };
    let no_arguments = |_: &StoredAgent| Ok::<_, RunSpecError>(Vec::new());
    let spec = RunSpec::parse(&run.settings);
    let restored = spec.and_then(|spec| RunContext::restore(&spec, target, no_arguments));
    restored.map_or_else(|_| Vec::new(), |context| std::iter::once(context.agent).chain(context.fallback).collect())
}
