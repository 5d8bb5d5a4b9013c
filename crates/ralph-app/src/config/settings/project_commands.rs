//! Commands that come with the project and need approval, because another person may have written them.
use ralph_core::criterion::{Criterion, ExternalCheck, PluginCheck, VerificationMethod};
use ralph_util::digest::encode_hex;
use sha2::{Digest, Sha256};

use crate::config::checks::check_json::check_to_json;
use crate::config::settings::all_settings::{AgentSettings, Settings};
use crate::config::settings::loosened_rule::LoosenedRule;
use crate::config::settings::origin::{FileLayer, SettingOrigin};

/// A command, or a part of one, that comes with the project, or a value that loosens a rule of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectCommand {
    /// The key, such as `agents.mine.cli`.
    pub key: String,
    /// Plain text, or JSON if the value is a list or table, so that different values never look the same.
    pub value: String,
    pub origin: SettingOrigin,
}

/// The parts of the settings that a run is about to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsUse<'a> {
    /// Every agent that may be started, including fallbacks.
    pub agents: Vec<&'a str>,
    pub permission: SettingsPart,
    pub checks: SettingsPart,
    /// Other criteria of the run, whose judge and plugins are started too.
    pub criteria: &'a [Criterion],
    /// The templates of these criteria.
    pub templates: &'a [String],
}

/// Whether the run uses a part of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsPart {
    Used,
    Unused,
}

impl SettingsPart {
    fn filter_used<T>(self, commands: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        commands.filter(move |_| self == Self::Used)
    }
}

impl Settings {
    /// Returns every command of the project layer that this use would start: adapter, program, arguments and variables
    /// of the agents, and the checks with their plugins and judge. Also returns the agents' permission, which is as
    /// powerful as a command, what decides which words count as the agent's, and the rules that the project loosens. A
    /// display filter only decides what is shown and is not included.
    #[must_use]
    pub fn project_commands(&self, used: &SettingsUse<'_>) -> Vec<ProjectCommand> {
        let checks = || {
            let own = self.checks.value.iter().map(|check| &check.criterion);
            used.checks.filter_used(own).chain(used.criteria)
        };
        let is_judged = checks().any(Criterion::needs_judge);
        let api = self.judge_api_commands().filter(|_| is_judged);
        let by_agent = is_judged && self.judge.api.value.is_none();
        let judge = by_agent.then_some(self.judge_agent_name());
        let is_used = |name: &str| used.agents.contains(&name) || judge == Some(name);
        let agents = self.agents.iter().filter(|(name, _)| is_used(name));
        let plugins = checks().flat_map(Criterion::plugin_names);
        let is_template =
            |command: &ProjectCommand| used.templates.iter().any(|name| command.key == template_key(name));
        agents
            .flat_map(|(name, written)| agent_commands(name, written))
            .chain(used.permission.filter_used(self.permission_command().into_iter()))
            .chain(used.checks.filter_used(self.check_commands()))
            .chain(plugins.filter_map(|name| self.plugin_command(name)))
            .chain(api)
            .chain(self.setup_commands())
            .chain(self.templates.project_commands().into_iter().filter(is_template))
            .chain(self.effective_loosened_rules().into_iter().map(LoosenedRule::to_project_command))
            .filter(|command| command.origin.is_from_project())
            .collect()
    }

    /// Returns a plugin that this use would start but that does not exist.
    #[must_use]
    pub fn missing_plugin(&self, used: &SettingsUse<'_>) -> Option<String> {
        let own = self.checks.value.iter().map(|check| &check.criterion);
        let mut plugins = used.checks.filter_used(own).chain(used.criteria).flat_map(Criterion::plugin_names);
        let exists = |name: &str| self.plugin_folder.as_ref().is_some_and(|folder| folder.join(name).exists());
        plugins.find(|name| !exists(name)).map(ToOwned::to_owned)
    }

    /// Returns every command of the project layer, whether or not a run would start it.
    pub(in crate::config) fn all_project_commands(&self) -> Vec<ProjectCommand> {
        let agents = self.agents.iter().flat_map(|(name, written)| agent_commands(name, written));
        let folder = self.plugin_folder.as_deref().and_then(|folder| std::fs::read_dir(folder).ok());
        let files = folder.into_iter().flatten().filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut plugins: Vec<String> = files.filter(|name| PluginCheck::is_valid_name(name)).collect();
        plugins.sort();
        agents
            .chain(self.permission_command())
            .chain(self.check_commands())
            .chain(self.templates.project_commands())
            .chain(plugins.iter().filter_map(|name| self.plugin_command(name)))
            .chain(self.judge_api_commands())
            .chain(self.setup_commands())
            .chain(self.board_commands())
            .chain(self.notify_commands())
            .chain(self.loosened_rules.iter().map(LoosenedRule::to_project_command))
            .filter(|command| command.origin.is_from_project())
            .collect()
    }

    fn permission_command(&self) -> Option<ProjectCommand> {
        self.permission.value.map(|permission| ProjectCommand {
            key: "permission".to_owned(),
            value: permission.name().to_owned(),
            origin: self.permission.origin.clone(),
        })
    }

    /// Returns the settings that decide where the work is sent for judging, and with which key.
    fn judge_api_commands(&self) -> impl Iterator<Item = ProjectCommand> {
        let judge = &self.judge;
        let parts = [
            ("api", judge.api.value.map(|api| api.name().to_owned()), &judge.api.origin),
            ("url", judge.url.value.clone(), &judge.url.origin),
            ("key_env", judge.key_env.value.clone(), &judge.key_env.origin),
        ];
        parts.into_iter().filter_map(|(part, value, origin)| {
            let key = format!("verification.judge.{part}");
            Some(ProjectCommand { key, value: value?, origin: origin.clone() })
        })
    }

    /// Returns the commands that prepare checkouts and work trees.
    fn setup_commands(&self) -> impl Iterator<Item = ProjectCommand> {
        let both = [("verification.setup", &self.verification.setup), ("pipeline.setup", &self.pipeline.setup)];
        both.into_iter().flat_map(|(key, setup)| {
            setup.value.iter().map(move |command| ProjectCommand {
                key: key.to_owned(),
                value: command.clone(),
                origin: setup.origin.clone(),
            })
        })
    }

    /// Returns the commands on keys of the board.
    fn board_commands(&self) -> impl Iterator<Item = ProjectCommand> {
        self.board_keys.iter().map(|(key, command)| ProjectCommand {
            key: format!("board.keys.{key}"),
            value: command.value.clone(),
            origin: command.origin.clone(),
        })
    }

    fn check_commands(&self) -> impl Iterator<Item = ProjectCommand> {
        self.checks.value.iter().map(|check| ProjectCommand {
            key: "checks".to_owned(),
            value: command_text(&check.criterion),
            origin: check.template.clone().unwrap_or_else(|| self.checks.origin.clone()),
        })
    }

    /// Returns a plugin with the digest of its content. Plugins always come with the project, even if another layer
    /// uses them, and an approval covers their content.
    fn plugin_command(&self, name: &str) -> Option<ProjectCommand> {
        let path = self.plugin_folder.as_ref()?.join(name);
        let mut digest = Sha256::new();
        let hashed = std::fs::File::open(&path).and_then(|mut file| {
            let mut piece = vec![0; 64 * 1024];
            loop {
                match std::io::Read::read(&mut file, &mut piece)? {
                    0 => return Ok(()),
                    count => digest.update(piece.get(..count).unwrap_or_default()),
                }
            }
        });
        let value = match hashed {
            Ok(()) => encode_hex(digest.finalize()),
            Err(error) => error.to_string(),
        };
        let origin = SettingOrigin::File { layer: FileLayer::Project, path, line: 1 };
        Some(ProjectCommand { key: format!("verifiers.{name}"), value, origin })
    }
}

/// Returns the key of a project template in approvals.
pub(in crate::config) fn template_key(name: &str) -> String {
    format!("templates.{name}")
}

/// Returns the bare command if the check consists of nothing else, otherwise the whole check as JSON.
fn command_text(criterion: &Criterion) -> String {
    match &criterion.method {
        VerificationMethod::External(check) if ExternalCheck::new(check.command.clone()) == *check => {
            check.command.to_string()
        }
        VerificationMethod::External(_)
        | VerificationMethod::StringMatch
        | VerificationMethod::Semantic(_)
        | VerificationMethod::MultiStage(_)
        | VerificationMethod::Plugin(_) => check_to_json(criterion).to_string(),
    }
}

fn agent_commands(name: &str, written: &AgentSettings) -> Vec<ProjectCommand> {
    let command = |part: &str, value: String, origin: &SettingOrigin| ProjectCommand {
        key: format!("agents.{name}.{part}"),
        value,
        origin: origin.clone(),
    };
    let kind = written.kind.value.iter().map(|kind| command("type", kind.clone(), &written.kind.origin));
    let cli = written.cli.value.iter().map(|cli| command("cli", cli.clone(), &written.cli.origin));
    let args = written.args.value.iter();
    let args = args.map(|args| command("args", serde_json::json!(args).to_string(), &written.args.origin));
    let env = written.env.iter();
    let env = env.map(|(name, value)| command(&format!("env.{name}"), value.value.clone(), &value.origin));
    let format = written.output_format.value.iter();
    let format = format.map(|format| command("output_format", format.name().to_owned(), &written.output_format.origin));
    let filter = written.response_filter.value.iter();
    let filter = filter.map(|filter| command("response_filter", filter.clone(), &written.response_filter.origin));
    kind.chain(cli).chain(args).chain(env).chain(format).chain(filter).collect()
}
