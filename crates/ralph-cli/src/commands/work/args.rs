//! What `ralph work` can be told.
use clap::Args;
use ralph_core::policy::ContextMode;
use ralph_core::task::Role;

use crate::commands::agent_args::AgentArgs;
use crate::commands::config_args::ConfigArgs;
use crate::commands::limit_args::LimitArgs;
use crate::commands::output_args::OutputArgs;
use ralph_app::config::Settings;

/// Takes the tasks that are ready, and drives each through its stages until it is proven done
///
/// A task is ready when all that it depends on is done. The most urgent comes first, then the oldest. Each task has a git
/// work tree and a branch ralph/TASK of its own; its stages (coder, reviewer, tester, qa) are loops of their own. A judging
/// stage may send the work back to the coder. What fails is tried again, and then blocked with the reason. Ctrl-C stops;
/// `ralph work` goes on where it was. Several of them can work on one project.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("max_cost", |arg| arg.help("Most money of everything that it begins, in dollars: 5, 0.25 [built-in: no limit]")))]
#[command(mut_arg("max_tokens", |arg| arg.help("Most tokens of a stage, in and out together: 200000, 500k, 2M [built-in: no limit]")))]
#[command(mut_arg("max_duration", |arg| arg.help("Longest time of a stage [built-in: 12h]")))]
#[command(mut_arg("json", |arg| arg.help("Prints every event as a line of JSON; the last one is work.finished")))]
#[command(after_help = "Examples:
  ralph work --until-idle                  everything that is ready, then stop
  ralph work --slots 3                     three tasks at a time; waits for new ones
  ralph work TASK-001 TASK-002             these alone
  ralph work --until-idle --max-cost 20    all of it may cost twenty dollars

Exit codes: 0 everything that was taken is done, 3 something is not, 4 agents failed one after the other,
7 the money is used up, 130/143 stopped by a signal")]
pub struct WorkArgs {
    /// The tasks; all that are ready where none is named
    pub tasks: Vec<String>,
    /// How many tasks are worked on at once [built-in: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: Option<u32>,
    /// Ends when nothing is ready any more, in place of waiting for new tasks
    #[arg(long)]
    pub until_idle: bool,
    /// Refuses tasks that do not say when they are done, or where nothing more than the agent's own word would decide a stage
    #[arg(long)]
    require_criteria: bool,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Goes on in the agent's own session from the second iteration of a stage on, where it can
    #[arg(long = "continue", help_heading = "Agent")]
    continued: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl WorkArgs {
    /// Applies the flags that hold for all roles.
    pub fn apply(&self, settings: &mut Settings) {
        settings.pipeline.slots.set_from_flag(self.slots, "--slots");
        let required = self.require_criteria.then_some(true);
        settings.verification.require_criteria.set_from_flag(required, "--require-criteria");
        self.limits.apply(settings);
    }

    /// Returns the settings of a role, these flags on top.
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
