//! The spending of today and of the last seven days, and the limits that apply.
use std::time::Duration;

use jiff::Zoned;
use ralph_core::stats::RunStatsSummary;
use ralph_engine::project::Project;
use ralph_store::StatsGrouping;

use crate::config::Settings;
use crate::error::AppResult;
use crate::maintenance::{StatsPeriod, StatsRequest, load_stats};
use crate::plan::{WorkCostLimit, work_cost_limit};

const WEEK: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendingSummary {
    /// The runs that started since midnight in the user's time zone.
    pub today: RunStatsSummary,
    /// The runs that started in the last seven days.
    pub week: RunStatsSummary,
    pub limit: WorkCostLimit,
}

/// Returns what the runs of the project have cost.
pub async fn load_spending(project: &Project, settings: &Settings) -> AppResult<SpendingSummary> {
    let request = |period| StatsRequest { grouping: StatsGrouping::All, period, limit: 1 };
    let today = load_stats(project, request(StatsPeriod::SinceDay(Zoned::now().date()))).await?;
    let week = load_stats(project, request(StatsPeriod::Last(WEEK))).await?;
    Ok(SpendingSummary {
        today: today.total().clone(),
        week: week.total().clone(),
        limit: work_cost_limit(None, settings),
    })
}
