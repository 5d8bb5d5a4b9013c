//! Where the settings come from: shared by every command that uses them.
use std::path::PathBuf;

use clap::Args;

use super::out;
use crate::error::CommandError;
use ralph_app::config::{self, ConfigFiles, ConfigOverride, Settings};
use ralph_engine::project::Project;
use ralph_util::redact;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// A configuration file in place of the project's: YAML, or classic KEY=value
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// Returns the settings of all layers below the flags, and says what is probably not meant.
    pub fn load_settings(&self, project: Option<&Project>) -> Result<Settings, CommandError> {
        let named = self.config.as_deref().map_or(ConfigOverride::None, ConfigOverride::File);
        let settings = config::load_settings(&self.find_files(project)?, named, std::env::vars_os())?;
        register_secrets(&settings);
        for warning in &settings.warnings {
            out::print_note(&format!("warning: {warning}"));
        }
        Ok(settings)
    }

    /// Returns the files. One that the user names stands in for the project's, whatever that holds.
    pub fn find_files(&self, project: Option<&Project>) -> Result<ConfigFiles, CommandError> {
        let of_file = project.filter(|_| self.config.is_none());
        let found = config::find_config_files(of_file, |name| std::env::var_os(name))?;
        Ok(ConfigFiles {
            project_file: self.config.clone().or(found.project_file),
            template_folder: project.map(Project::templates_folder),
            plugin_folder: project.map(Project::verifiers_folder),
            ..found
        })
    }
}

/// What agents get beside our own environment, and what prompts are filled with, is as secret as the environment.
fn register_secrets(settings: &Settings) {
    let tables = settings.agents.values().map(|agent| &agent.env).chain([&settings.vars]);
    redact::register_variables(tables.flatten().map(|(name, setting)| (name.as_str(), setting.value.as_str())));
    settings
        .judge_endpoint()
        .and_then(|judge| judge.key_env)
        .iter()
        .for_each(|name| redact::register_key_variable(name));
}
