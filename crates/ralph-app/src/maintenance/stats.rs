//! Success, iterations, cost, tokens and time of runs.
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::StatsGrouping;

use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::view::StatsView;

#[derive(Debug, Clone, Copy)]
pub struct StatsRequest {
    pub grouping: StatsGrouping,
    /// Only runs that started in this period.
    pub period: StatsPeriod,
    /// How many groups to return, the costliest first.
    pub limit: u32,
}

/// The period until now in which a run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsPeriod {
    AllTime,
    Last(Duration),
    /// From midnight of this day in the user's time zone.
    SinceDay(Date),
}

impl StatsPeriod {
    fn start_at(self, now: UnixMillis) -> UnixMillis {
        match self {
            Self::AllTime => UnixMillis(0),
            Self::Last(time) => UnixMillis(now.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))),
            // A day that cannot be represented selects every run.
            Self::SinceDay(day) => day
                .to_zoned(TimeZone::system())
                .map_or(UnixMillis(0), |midnight| UnixMillis(midnight.timestamp().as_millisecond())),
        }
    }
}

/// Returns the totals of all runs and of each group.
pub async fn load_stats(project: &Project, request: StatsRequest) -> AppResult<StatsView> {
    let StatsRequest { grouping, period, limit } = request;
    let since = period.start_at(Clock::wall_now());
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
