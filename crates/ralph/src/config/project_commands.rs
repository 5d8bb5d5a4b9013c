//! What the project's own file wants to have started. Somebody else may have written it.
use super::origin::Origin;
use super::settings::{AgentSettings, Settings};

/// A command, or a part of one, that came with the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectCommand {
    /// The key, such as `agents.mine.cli`.
    pub key: String,
    /// As JSON where it is more than a text, so that no two values look the same.
    pub value: String,
    pub origin: Origin,
}

impl Settings {
    /// Returns every command of the project layer that a run with these settings would start: program, arguments
    /// and variables of the chosen agent, and the checks; and what the agent may do unasked, which is as good as a
    /// command. Filters run inside ralph and start nothing.
    #[must_use]
    pub fn project_commands(&self) -> Vec<ProjectCommand> {
        let agent = &self.agent.value;
        let written = self.agents.get(agent).map(|written| of_agent(agent, written));
        written
            .into_iter()
            .flatten()
            .chain(self.permission())
            .chain(self.checks())
            .filter(|command| command.origin.is_project())
            .collect()
    }

    /// Returns every command of the project layer, whether a run would start it or not.
    pub(super) fn all_project_commands(&self) -> Vec<ProjectCommand> {
        let agents = self.agents.iter().flat_map(|(name, written)| of_agent(name, written));
        agents
            .chain(self.permission())
            .chain(self.checks())
            .filter(|command| command.origin.is_project())
            .collect()
    }

    fn permission(&self) -> Option<ProjectCommand> {
        self.permission.value.map(|permission| ProjectCommand {
            key: "permission".to_owned(),
            value: permission.name().to_owned(),
            origin: self.permission.origin.clone(),
        })
    }

    fn checks(&self) -> impl Iterator<Item = ProjectCommand> {
        self.checks.value.iter().map(|check| ProjectCommand {
            key: "checks".to_owned(),
            value: check.command.to_string(),
            origin: self.checks.origin.clone(),
        })
    }
}

fn of_agent(name: &str, written: &AgentSettings) -> Vec<ProjectCommand> {
    let command = |part: &str, value: String, origin: &Origin| ProjectCommand {
        key: format!("agents.{name}.{part}"),
        value,
        origin: origin.clone(),
    };
    let cli = written.cli.value.iter().map(|cli| command("cli", cli.clone(), &written.cli.origin));
    let args = written.args.value.iter();
    let args = args.map(|args| command("args", serde_json::json!(args).to_string(), &written.args.origin));
    let env = written.env.iter();
    let env = env.map(|(name, value)| command(&format!("env.{name}"), value.value.clone(), &value.origin));
    cli.chain(args).chain(env).collect()
}
