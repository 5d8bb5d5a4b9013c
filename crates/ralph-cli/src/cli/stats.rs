//! `ralph stats`.
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ralph_core::event::Millis;

use super::values::shown_groups;
use super::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::StatsView;
use ralph_store::Grouping;
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
    by: By,
    /// Only runs that began since then: so long ago (7d), or a date (2026-11-01)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = since)]
    since: Option<Since>,
    /// At most so many groups, the costliest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = shown_groups)]
    limit: u32,
    /// Prints one object: by, total, groups
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Role,
    Agent,
    Model,
    Task,
    Spec,
    Iteration,
}

impl By {
    fn grouping(self) -> (Grouping, &'static str) {
        match self {
            Self::Role => (Grouping::Role, "role"),
            Self::Agent => (Grouping::Agent, "agent"),
            Self::Model => (Grouping::Model, "model"),
            Self::Task => (Grouping::Task, "task"),
            Self::Spec => (Grouping::Spec, "spec"),
            Self::Iteration => (Grouping::Iteration, "iteration"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Since {
    Ago(Duration),
    Day(Date),
}

fn since(text: &str) -> Result<Since, String> {
    let day = text.parse::<Date>().map(Since::Day);
    day.or_else(|_| duration::parse(text).map(Since::Ago))
        .map_err(|error| format!("{error}; or a date, as in 2026-11-01"))
}

impl Since {
    /// A day begins where the user is.
    fn moment(self) -> Option<Millis> {
        let moment = match self {
            Self::Ago(time) => Timestamp::now().checked_sub(SignedDuration::try_from(time).ok()?),
            Self::Day(day) => day.to_zoned(TimeZone::system()).map(|day| day.timestamp()),
        };
        moment.ok().map(|moment| Millis(moment.as_millisecond()))
    }
}

pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let (grouping, name) = args.by.grouping();
    // What lies before all times leaves nothing out.
    let since = args.since.and_then(Since::moment).unwrap_or(Millis(0));
    let view = block_on(async {
        let Some(store) = pick::store().await? else {
            return Ok(StatsView::new(name, Vec::new(), Vec::new(), 0));
        };
        let total = store.stats(Grouping::All, since, args.limit).await?;
        let groups = store.stats(grouping, since, args.limit).await?;
        store.close().await;
        Ok(StatsView::new(name, groups, total, args.limit as usize))
    })?;
    if args.json {
        out::line(&view.json().to_string());
    } else if view.is_empty() {
        out::note("no runs yet; start one with `ralph run`");
    } else {
        out::answer(&view.text());
    }
    Ok(0)
}
