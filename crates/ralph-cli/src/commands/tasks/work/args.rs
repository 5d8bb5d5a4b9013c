//! The arguments of `ralph work`.
use clap::Args;
use ralph_core::policy::ContextMode;
use ralph_core::task::Role;

use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::judge_args::JudgeArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::run::detach::DetachArgs;
use ralph_app::config::Settings;

/// Runs every ready task through its stages until it is verified
///
/// A task is ready when all its dependencies are done. Ready tasks are ordered by priority, then by age. Each task has a
/// separate git work tree and a branch ralph/TASK; each of its stages (coder, reviewer, tester, qa) is a separate loop. A
/// judging stage may send the work back to the coder. ralph retries a task that fails, then blocks it and records the
/// reason. Ctrl-C stops; `ralph work` resumes. With --detach the worker continues in the background: `ralph attach` follows
/// it, `ralph cancel WORKER` stops it. Several workers can work on one project.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("max_cost", |arg| arg.help("Spending limit in US dollars for all tasks that this worker starts: 5, 0.25 [built-in: no limit]")))]
#[command(mut_arg("max_tokens", |arg| arg.help("Token limit of a stage, input and output together: 200000, 500k, 2M [built-in: no limit]")))]
#[command(mut_arg("max_duration", |arg| arg.help("Time limit of a stage [built-in: 12h]")))]
#[command(mut_arg("detach", |arg| arg.help("Works in the background, independent of the terminal; prints the id of the worker and returns")))]
#[command(mut_arg("json", |arg| arg.help("Prints every event as one line of JSON; the last one is work.finished")))]
#[command(after_help = "Examples:
  ralph work --until-idle                  all ready tasks, then stop
  ralph work --slots 3                     three tasks at a time; waits for new ones
  ralph work TASK-001 TASK-002             only these tasks
  ralph work --until-idle --max-cost 20    stops at 20 dollars for all tasks together
  ralph work --until-idle --detach         in the background; `ralph attach` follows it

Exit codes: 0 all tasks that it took are done, 3 some are not, 4 too many agents failed in a row,
7 spending limit reached, 130/143 stopped by a signal")]
pub struct WorkArgs {
    /// The task ids [default: all ready tasks]
    pub tasks: Vec<String>,
    /// Runs up to N tasks at the same time [built-in: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: Option<u32>,
    /// Stops when no task is ready, instead of waiting for new tasks
    #[arg(long)]
    pub until_idle: bool,
    /// Refuses tasks without completion criteria, or with a stage that only the agent's claim would decide
    #[arg(long)]
    require_criteria: bool,
    /// Accepts only tasks that a check of the coder proves: it failed before the work and passes now
    #[arg(long)]
    require_proof: bool,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Continues the agent's session from the second iteration of a stage on, if the agent supports it
    #[arg(long = "continue", help_heading = "Agent")]
    continued: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub background: DetachArgs,
}

impl WorkArgs {
    /// Applies the flags that are the same for all roles.
    pub fn apply(&self, settings: &mut Settings) {
        settings.pipeline.slots.set_from_flag(self.slots, "--slots");
        let required = self.require_criteria.then_some(true);
        settings.verification.require_criteria.set_from_flag(required, "--require-criteria");
        let required = self.require_proof.then_some(true);
        settings.verification.require_proof.set_from_flag(required, "--require-proof");
        self.judge.apply(settings);
        self.limits.apply(settings);
    }

    /// Returns the settings of a role, overridden by these flags.
    pub fn for_role(&self, settings: &Settings, role: &Role) -> Settings {
        let mut settings = settings.clone();
        settings.apply_role(role);
        self.agent.apply(&mut settings);
        settings
    }

    pub fn context(&self) -> ContextMode {
        if self.continued { ContextMode::Continue } else { ContextMode::Fresh }
    }
}
