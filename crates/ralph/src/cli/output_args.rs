//! How a run is shown: the flags that every command with a loop shares.
use clap::Args;

use crate::engine::{Audience, RunPlan};
use crate::report::Detail;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Shows only iterations, claims and verdicts
    #[arg(long, short)]
    quiet: bool,
    /// Prints every event as a line of JSON; the last one is run.finished
    #[arg(long)]
    json: bool,
}

/// How the run is shown.
#[derive(Debug, Clone, Copy)]
pub enum Show {
    Json,
    People(Detail),
}

impl OutputArgs {
    pub fn audience(&self) -> Audience {
        if self.json { Audience::Nobody } else { Audience::People }
    }

    pub fn show(&self, plan: &RunPlan) -> Show {
        match (self.json, self.quiet, plan.agent.preset().display_filter) {
            (true, _, _) => Show::Json,
            (false, true, _) => Show::People(Detail::Milestones),
            (false, false, Some(_)) => Show::People(Detail::OwnFilter),
            (false, false, None) => Show::People(Detail::Everything),
        }
    }
}
