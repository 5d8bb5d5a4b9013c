//! Flags that choose the judge; shared by every command whose checks may need one.
use clap::Args;

use crate::commands::args::completion_values;
use ralph_app::config::Settings;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct JudgeArgs {
    /// Agent that judges criteria which no command can check [built-in: the agent of the run if it is claude or codex, else
    /// claude]
    #[arg(long, value_name = "AGENT", value_parser = completion_values::agent_name_parser(), hide_possible_values = true)]
    judge: Option<String>,
    /// Model of the judge, as its agent names it [built-in: a cheap model of the agent]
    #[arg(long, value_name = "MODEL")]
    judge_model: Option<String>,
}

impl JudgeArgs {
    /// Applies the flags as the highest configuration layer. An agent that is named here replaces a configured API, and the
    /// model of another judge.
    pub fn apply(&self, settings: &mut Settings) {
        if let Some(agent) = &self.judge {
            if settings.judge.api.value.is_some() || settings.judge.agent.value.as_ref() != Some(agent) {
                settings.judge.model.set_from_flag(Some(None), "--judge");
            }
            settings.judge.agent.set_from_flag(Some(Some(agent.clone())), "--judge");
            settings.judge.api.set_from_flag(Some(None), "--judge");
        }
        settings.judge.model.set_from_flag(self.judge_model.clone().map(Some), "--judge-model");
    }
}
