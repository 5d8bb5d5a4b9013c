//! Layered configuration: built-in, the user's file, the project's file, the environment, flags. Every value knows its
//! origin. Files are parsed, never executed.
mod assignments;
mod check_json;
mod checks;
mod chosen_agent;
mod classic;
mod document;
mod environment;
mod error;
mod files;
mod fingerprint;
mod judge_api;
mod keys;
mod load;
mod origin;
mod pipeline;
mod project_commands;
mod roles;
mod schema;
mod settings;
mod show;
mod slot;
mod source;
mod templates;

#[cfg(test)]
mod tests;

pub use checks::ConfiguredCheck;
pub use chosen_agent::ChosenAgent;
pub use error::ConfigError;
pub use files::{ConfigFiles, find_config_files};
pub use load::{ConfigOverride, load_settings};
pub use origin::{FileLayer, Setting, SettingOrigin};
pub use pipeline::{LandingMode, PipelineSettings};
pub use project_commands::{ProjectCommand, SettingsPart, SettingsUse};
pub use roles::{AllRoleSettings, RoleSettings};
pub use schema::config_schema;
pub use settings::{AgentSettings, JudgeSettings, LimitSettings, SessionSettings, Settings, SignalSettings};
pub use show::EffectiveSetting;
pub use source::ConfigSource;
pub use templates::{KnownTemplate, TemplateLibrary};
