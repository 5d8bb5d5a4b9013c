//! What `ralph plan`, `ralph build` and `ralph prompt` can be told.
use std::path::PathBuf;

use clap::Args;

use crate::commands::agent_args::AgentArgs;
use crate::commands::check_args::CheckArgs;
use crate::commands::config_args::ConfigArgs;
use crate::commands::detach::DetachArgs;
use crate::commands::limit_args::LimitArgs;
use crate::commands::output_args::OutputArgs;
use crate::commands::value_parsers::parse_iterations;

/// Makes the implementation plan: runs prompts/plan.md until the agent claims completion
///
/// Every iteration starts a fresh agent with the prompt file, whose variables ($MODE, $ITERATION,
/// $MAX_ITERATIONS, $SPECS_DIR and those of the configuration) are filled in. The agent claims completion by
/// <promise>COMPLETE</promise>. Everything it prints is in logs/session-….log of the ralph home.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph plan                      until complete, at most 10 iterations
  ralph plan 3 --model opus")]
pub struct PlanArgs {
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// Follows the implementation plan: runs prompts/build.md until the agent claims completion
///
/// Before every iteration implementation_plan.md must be in the ralph home; without it the exit code is 2.
/// After a claim the checks of the configuration decide. Otherwise it works as `ralph plan` does.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph build 20                  at most 20 iterations
  ralph build --strict            exit code 3 if the iterations are used up before it is complete")]
pub struct BuildArgs {
    #[command(flatten)]
    pub(super) checking: CheckArgs,
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// Runs a prompt file of your own until the agent claims completion
///
/// The file must ask for <promise>COMPLETE</promise>. Otherwise it works as `ralph plan` does.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph prompt prompts/refactor.md
  ralph prompt review.md 5 --agent text --agent-cmd ./my-agent.sh")]
pub struct PromptArgs {
    /// A text file; it is read again for every iteration
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// What the three modes share.
#[derive(Debug, Args)]
pub struct ClassicArgs {
    /// Stops after so many iterations, done or not [built-in: 10]
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = parse_iterations)]
    pub(super) iterations: Option<u32>,
    /// Ends with exit code 3, not 0, when the iterations are used up before the work is complete
    #[arg(long)]
    pub(super) strict: bool,
    #[command(flatten)]
    pub(super) agent: AgentArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) background: DetachArgs,
}
