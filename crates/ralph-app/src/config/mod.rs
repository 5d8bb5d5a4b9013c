//! Layered configuration: built-in, the user's file, the project's file, the environment, flags. Every value knows its
//! origin. Files are parsed, never executed.
mod checks;
mod error;
mod keys;
mod layers;
mod notify;
mod settings;

#[cfg(test)]
mod tests;

pub use checks::check_list::read_check_list;
pub use checks::configured_check::ConfiguredCheck;
pub use checks::templates::{KnownTemplate, TemplateLibrary};
pub use error::ConfigError;
pub use keys::schema::config_schema;
pub use keys::show::EffectiveSetting;
pub use layers::files::{ConfigFiles, find_config_files};
pub use layers::load::{ConfigOverride, load_settings};
pub use layers::source::ConfigSource;
pub use notify::notify_target::{NotifyAddress, NotifyChannel, NotifyTarget};
pub use settings::all_settings::{
    AgentSettings, JudgeSettings, LimitSettings, SessionSettings, Settings, SignalSettings,
};
pub use settings::chosen_agent::ChosenAgent;
pub use settings::judge_api::validate_address;
pub use settings::loosened_rule::LoosenedRule;
pub use settings::origin::{FileLayer, Setting, SettingOrigin};
pub use settings::pipeline::{LandingMode, PipelineSettings};
pub use settings::platforms::{MessageMode, PlatformSettings};
pub use settings::project_commands::{ProjectCommand, SettingsPart, SettingsUse};
pub use settings::roles::{AllRoleSettings, RoleSettings};
