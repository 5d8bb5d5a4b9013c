//! `ralph stats`.
use clap::{Args, ValueEnum};
use jiff::civil::Date;

use crate::commands::args::value_parsers::parse_group_limit;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::maintenance::{StatsPeriod, StatsRequest, load_stats};
use ralph_engine::project::Project;
use ralph_store::StatsGrouping;
use ralph_util::duration;

/// Shows statistics of runs: success, iterations, cost, tokens and time
///
/// done: completed runs, out of those that ended and did not send the work back (back). iterations: mean/median/maximum.
/// time: mean working time. false: rejected claims. Unknown values are shown as unknown, never as 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stats
  ralph stats --by model --since 7d
  ralph stats --by task -n 100 --json")]
pub struct StatsArgs {
    /// Property by which runs are grouped
    #[arg(long, value_name = "WHAT", default_value = "role")]
    by: StatsGroupBy,
    /// Only runs that started since then: an age (7d) or a date (2026-11-01)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_since)]
    since: Option<StatsPeriod>,
    /// Shows at most N groups, the most expensive first
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
    fn store_grouping(self) -> StatsGrouping {
        match self {
            Self::Role => StatsGrouping::Role,
            Self::Agent => StatsGrouping::Agent,
            Self::Model => StatsGrouping::Model,
            Self::Task => StatsGrouping::Task,
            Self::Spec => StatsGrouping::Spec,
            Self::Iteration => StatsGrouping::Iteration,
        }
    }
}

fn parse_since(text: &str) -> Result<StatsPeriod, String> {
    let day = text.parse::<Date>().map(StatsPeriod::SinceDay);
    day.or_else(|_| duration::parse(text).map(StatsPeriod::Last))
        .map_err(|error| format!("{error}; or use a date such as 2026-11-01"))
}

pub fn run(args: &StatsArgs) -> Result<u8, CommandError> {
    let request = StatsRequest {
        grouping: args.by.store_grouping(),
        period: args.since.unwrap_or(StatsPeriod::AllTime),
        limit: args.limit,
    };
    let view = block_on(async { Ok(load_stats(&Project::find_here()?, request).await?) })?;
    if args.json {
        out::print_line(&view.to_json().to_string());
    } else if view.is_empty() {
        out::print_note("no runs yet; start one with `ralph run`");
    } else {
        out::print_wrapped(&view.to_text());
    }
    Ok(0)
}
