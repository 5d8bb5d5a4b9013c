//! The `--config` flag, shared by every command that reads settings.
use std::path::PathBuf;

use clap::Args;

use crate::commands::out;
use crate::error::CommandError;
use ralph_app::config::{ConfigFiles, ConfigSource, Settings};
use ralph_engine::project::Project;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Configuration file to use instead of the project's: YAML, or classic KEY=value
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    pub fn source(&self) -> ConfigSource {
        ConfigSource { file: self.config.clone() }
    }

    /// Loads the settings of all layers below the flags, and prints their warnings.
    pub fn load_settings(&self, project: Option<&Project>) -> Result<Settings, CommandError> {
        let settings = self.source().load_settings(project)?;
        for warning in &settings.warnings {
            out::print_note(&format!("warning: {warning}"));
        }
        Ok(settings)
    }

    pub fn find_files(&self, project: Option<&Project>) -> Result<ConfigFiles, CommandError> {
        Ok(self.source().find_files(project)?)
    }
}
