//! The data of the charts.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{CheckTimeRow, ClaimVerdictRow, IterationsToDoneRow, TaskCostRow};

use crate::error::AppResult;
use crate::run::open_existing_store;

/// How many tasks and checks a chart shows.
const MAX_BARS: u32 = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartData {
    pub iterations_to_done: Vec<IterationsToDoneRow>,
    /// The newest task first.
    pub task_costs: Vec<TaskCostRow>,
    pub claim_verdicts: Vec<ClaimVerdictRow>,
    /// The check that took the most time first.
    pub check_times: Vec<CheckTimeRow>,
}

/// Returns the data of the runs that started in the last `period`, or of all runs.
pub async fn load_chart_data(project: &Project, period: Option<Duration>) -> AppResult<ChartData> {
    let Some(store) = open_existing_store(project).await? else { return Ok(ChartData::default()) };
    let now = Clock::wall_now().0;
    let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
    let since = UnixMillis(period.map_or(0, |period| now.saturating_sub(millis(period))));
    let data = ChartData {
        iterations_to_done: store.iterations_to_done(since).await?,
        task_costs: store.costs_of_done_tasks(since, MAX_BARS).await?,
        claim_verdicts: store.claim_verdicts(since).await?,
        check_times: store.check_times(since, MAX_BARS).await?,
    };
    store.close().await;
    Ok(data)
}
