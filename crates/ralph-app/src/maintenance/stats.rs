//! Success, iterations, cost, tokens and time of runs.
use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_store::StatsGrouping;

use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::view::StatsView;

#[derive(Debug, Clone, Copy)]
pub struct StatsRequest {
    pub grouping: StatsGrouping,
    /// Only runs that started at this time or later.
    pub since: UnixMillis,
    /// How many groups to return, the costliest first.
    pub limit: u32,
}

/// Returns the totals of all runs and of each group.
pub async fn load_stats(project: &Project, request: StatsRequest) -> AppResult<StatsView> {
    let StatsRequest { grouping, since, limit } = request;
    let name = grouping_name(grouping);
    let Some(store) = open_existing_store(project).await? else {
        return Ok(StatsView::new(name, Vec::new(), Vec::new(), 0));
    };
    let total = store.run_stats(StatsGrouping::All, since, limit).await?;
    let groups = store.run_stats(grouping, since, limit).await?;
    store.close().await;
    Ok(StatsView::new(name, groups, total, limit as usize))
}

fn grouping_name(grouping: StatsGrouping) -> &'static str {
    match grouping {
        StatsGrouping::All => "all",
        StatsGrouping::Role => "role",
        StatsGrouping::Agent => "agent",
        StatsGrouping::Model => "model",
        StatsGrouping::Task => "task",
        StatsGrouping::Spec => "spec",
        StatsGrouping::Iteration => "iteration",
    }
}
