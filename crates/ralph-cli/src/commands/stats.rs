//! `ralph stats`.
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ralph_core::event::UnixMillis;

use super::value_parsers::parse_group_limit;
use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::view::StatsView;
use ralph_store::StatsGrouping;
use ralph_util::duration;

/// Shows what runs came to: success, iterations, cost, tokens and time
///
/// done: completed, of the runs that are over and did not send the work back (back). iterations: mean/median/most. time: at
/// work, on average. false: claims that were rejected. What nobody knows is said to be unknown, never 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stats
  ralph stats --by model --since 7d
  ralph stats --by task -n 100 --json")]
pub struct StatsArgs {
    /// What runs are grouped by
    #[arg(long, value_name = "WHAT", default_value = "role")]
    by: StatsGroupBy,
    /// Only runs that began since then: so long ago (7d), or a date (2026-11-01)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_since)]
    since: Option<SinceFilter>,
    /// At most so many groups, the costliest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = parse_group_limit)]
    limit: u32,
    /// Prints one object: by, total, groups
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatsGroupBy {
    Role,
    Agent,
    Model,
    Task,
    Spec,
    Iteration,
}

impl StatsGroupBy {
    fn store_grouping(self) -> (StatsGrouping, &'static str) {
        match self {
            Self::Role => (StatsGrouping::Role, "role"),
            Self::Agent => (StatsGrouping::Agent, "agent"),
            Self::Model => (StatsGrouping::Model, "model"),
            Self::Task => (StatsGrouping::Task, "task"),
            Self::Spec => (StatsGrouping::Spec, "spec"),
            Self::Iteration => (StatsGrouping::Iteration, "iteration"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum SinceFilter {
    Ago(Duration),
    Day(Date),
}

fn parse_since(text: &str) -> Result<SinceFilter, String> {
    let day = text.parse::<Date>().map(SinceFilter::Day);
    day.or_else(|_| duration::parse(text).map(SinceFilter::Ago))
        .map_err(|error| format!("{error}; or a date, as in 2026-11-01"))
}

impl SinceFilter {
    /// A day begins where the user is.
    fn to_timestamp(self) -> Option<UnixMillis> {
        let moment = match self {
            Self::Ago(time) => Timestamp::now().checked_sub(SignedDuration::try_from(time).ok()?),
            Self::Day(day) => day.to_zoned(TimeZone::system()).map(|day| day.timestamp()),
        };
        moment.ok().map(|moment| UnixMillis(moment.as_millisecond()))
    }
}

pub fn run(args: &StatsArgs) -> Result<u8, CommandError> {
    let (grouping, name) = args.by.store_grouping();
    // What lies before all times leaves nothing out.
    let since = args.since.and_then(SinceFilter::to_timestamp).unwrap_or(UnixMillis(0));
    let view = block_on(async {
        let Some(store) = run_lookup::open_existing_store().await? else {
            return Ok(StatsView::new(name, Vec::new(), Vec::new(), 0));
        };
        let total = store.run_stats(StatsGrouping::All, since, args.limit).await?;
        let groups = store.run_stats(grouping, since, args.limit).await?;
        store.close().await;
        Ok(StatsView::new(name, groups, total, args.limit as usize))
    })?;
    if args.json {
        out::print_line(&view.to_json().to_string());
    } else if view.is_empty() {
        out::print_note("no runs yet; start one with `ralph run`");
    } else {
        out::print_wrapped(&view.to_text());
    }
    Ok(0)
}
