//! How a run is shown: the flags that every command with a loop shares.
use std::io;

use clap::Args;
use ralph_core::outcome::exit_code;

use super::detach::Background;
use super::out;
use crate::error::Failure;
use crate::report::{Detail, Elsewhere, JsonReport, PlainReport};
use ralph_engine::engine::{Audience, RunPlan};

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
pub enum Show {
    Json,
    People(Detail),
    Background(Background),
}

/// How a run is told: while it goes on, and at its end.
pub struct Told {
    pub report: Elsewhere,
    pub is_summed_up: bool,
}

impl Show {
    /// Starts the report of a run that has at most so many iterations.
    pub fn told(self, max_iterations: u32) -> Result<Told, Failure> {
        let is_summed_up = !matches!(self, Self::Json);
        let report = match self {
            Self::Json => Elsewhere::start(|| JsonReport::new(out::Watched)),
            Self::People(detail) => {
                Elsewhere::start(move || PlainReport::new(io::stderr(), detail, max_iterations))
            }
            Self::Background(background) => Elsewhere::start(move || background.report(max_iterations)),
        };
        let report = report.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        Ok(Told { report, is_summed_up })
    }
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
