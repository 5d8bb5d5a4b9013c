//! Where the settings of a use case come from.
use std::path::PathBuf;

use ralph_engine::project::Project;
use ralph_process::can_start_program;
use ralph_util::redact;

use crate::agents::{choose_default_agent, find_installed_agents};
use crate::config::{
    ConfigError, ConfigFiles, ConfigOverride, SettingOrigin, Settings, find_config_files, load_settings,
};

/// The configuration files of a request: those of the user and the project, or one file in place of the project's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigSource {
    /// Replaces the project's configuration file.
    pub file: Option<PathBuf>,
}

impl ConfigSource {
    /// Returns the settings of all layers below the request itself. From then on their secrets are redacted.
    pub fn load_settings(&self, project: Option<&Project>) -> Result<Settings, ConfigError> {
        let replacement = self.file.as_deref().map_or(ConfigOverride::None, ConfigOverride::File);
        let mut settings = load_settings(&self.find_files(project)?, replacement, std::env::vars_os())?;
        settings.choose_default_agent(project);
        register_secrets(&settings);
        Ok(settings)
    }

    /// Returns the files that the settings are read from.
    pub fn find_files(&self, project: Option<&Project>) -> Result<ConfigFiles, ConfigError> {
        let configured_project = project.filter(|_| self.file.is_none());
        let found = find_config_files(configured_project, |name| std::env::var_os(name))?;
        Ok(ConfigFiles {
            project_file: self.file.clone().or(found.project_file),
            template_folder: project.map(Project::templates_folder),
            plugin_folder: project.map(Project::verifiers_folder),
            ..found
        })
    }
}

impl Settings {
    /// Replaces the default agent by the only one that is installed, if no agent was chosen.
    fn choose_default_agent(&mut self, project: Option<&Project>) {
        let is_chosen = self.agent.origin != SettingOrigin::BuiltIn || self.agents.contains_key(&self.agent.value);
        let folder = project.map(|project| project.root.clone()).or_else(|| std::env::current_dir().ok());
        let (false, Some(folder)) = (is_chosen, folder) else { return };
        if can_start_program(&folder, &self.agent.value) {
            return;
        }
        if let Some(name) = choose_default_agent(&self.agent.value, &find_installed_agents(&folder)) {
            self.agent.value = name.to_owned();
        }
    }
}

/// Variables for agents and prompts are as secret as the environment.
fn register_secrets(settings: &Settings) {
    let tables = settings.agents.values().map(|agent| &agent.env).chain([&settings.vars]);
    redact::register_variables(tables.flatten().map(|(name, setting)| (name.as_str(), setting.value.as_str())));
    let judge_key = settings.judge_endpoint().and_then(|judge| judge.key_env);
    judge_key.iter().for_each(|name| redact::register_key_variable(name));
    settings.platforms.secret_variables().for_each(redact::register_key_variable);
    settings.notify_secret_variables().for_each(redact::register_key_variable);
}
