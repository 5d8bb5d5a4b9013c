//! Where the settings come from: shared by every command that uses them.
use std::path::PathBuf;

use clap::Args;

use super::out;
use crate::error::CommandError;
use ralph_app::config::{ConfigFiles, ConfigSource, Settings};
use ralph_engine::project::Project;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// A configuration file in place of the project's: YAML, or classic KEY=value
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    pub fn source(&self) -> ConfigSource {
        ConfigSource { file: self.config.clone() }
    }

    /// Returns the settings of all layers below the flags, and prints the warnings about them.
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
