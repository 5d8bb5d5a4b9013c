//! What the project's own file wants to have started. Somebody else may have written it.
use super::origin::Origin;
use super::settings::Settings;

/// A command, or a part of one, that came with the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectCommand {
    /// The key, such as `agents.mine.cli`.
    pub key: String,
    pub value: String,
    pub origin: Origin,
}

impl Settings {
    /// Returns every command of the project layer that a run with these settings would start: program, arguments
    /// and variables of the chosen agent, and the checks. Filters run inside ralph and start nothing.
    #[must_use]
    pub fn project_commands(&self) -> Vec<ProjectCommand> {
        let agent = &self.agent.value;
        let mut found = Vec::new();
        let mut add = |key: String, value: String, origin: &Origin| {
            if origin.is_project() {
                found.push(ProjectCommand { key, value, origin: origin.clone() });
            }
        };
        if let Some(written) = self.agents.get(agent) {
            if let Some(cli) = &written.cli.value {
                add(format!("agents.{agent}.cli"), cli.clone(), &written.cli.origin);
            }
            if let Some(args) = &written.args.value {
                add(format!("agents.{agent}.args"), args.join(" "), &written.args.origin);
            }
            for (name, value) in &written.env {
                add(format!("agents.{agent}.env.{name}"), value.value.clone(), &value.origin);
            }
        }
        for check in &self.checks.value {
            add("checks".to_owned(), check.command.clone(), &self.checks.origin);
        }
        found
    }
}
