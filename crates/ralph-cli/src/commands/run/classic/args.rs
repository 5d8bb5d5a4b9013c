//! Arguments of `ralph plan`, `ralph build` and `ralph prompt`.
use std::path::PathBuf;

use clap::Args;

use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::check_args::CheckArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::args::value_parsers::parse_iterations;
use crate::commands::run::detach::DetachArgs;

/// Creates the implementation plan: runs prompts/plan.md until the agent claims completion
///
/// Every iteration starts a fresh agent with the prompt file. ralph replaces the variables in it ($MODE, $ITERATION,
/// $MAX_ITERATIONS, $SPECS_DIR and those of the configuration). The agent claims completion with
/// <promise>COMPLETE</promise>. ralph writes the agent's output to logs/session-….log in the ralph home.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph plan                      until complete, at most 10 iterations
  ralph plan 3 --model opus

Exit code 0 means complete, or not complete after the last iteration: the last line says which.
With --strict, the exit code is 3 if the work is not complete.")]
pub struct PlanArgs {
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// Implements the plan: runs prompts/build.md until the agent claims completion
///
/// Before every iteration, implementation_plan.md must be in the ralph home; without it the exit code is 2. After a
/// claim, the checks of the configuration decide. Apart from that, it works like `ralph plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph build 20                  at most 20 iterations
  ralph build --strict            exit code 3 if the work is not complete after the last iteration

Exit code 0 means complete, or not complete after the last iteration: the last line says which.
With --strict, the exit code is 3 if the work is not complete.")]
pub struct BuildArgs {
    #[command(flatten)]
    pub(super) checking: CheckArgs,
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// Runs your own prompt file until the agent claims completion
///
/// The file must ask for <promise>COMPLETE</promise>. Apart from that, it works like `ralph plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph prompt prompts/refactor.md
  ralph prompt review.md 5 --agent text --agent-cmd ./my-agent.sh

Exit code 0 means complete, or not complete after the last iteration: the last line says which.
With --strict, the exit code is 3 if the work is not complete.")]
pub struct PromptArgs {
    /// Prompt file; ralph reads it again before every iteration
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) options: ClassicArgs,
}

/// Arguments that the three modes share.
#[derive(Debug, Args)]
pub struct ClassicArgs {
    /// Maximum number of iterations [built-in: 10]
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = parse_iterations)]
    pub(super) iterations: Option<u32>,
    /// Exits with 3 instead of 0 if the work is not complete after the last iteration
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
