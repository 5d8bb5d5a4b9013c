//! The configuration in layers: built-in, the user's file, the project's file, the environment, flags. Every
//! value knows where it comes from. Files are read, never run; nothing here starts a program or prints.
mod assignments;
mod checks;
mod chosen;
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
mod templates;
mod written_check;

#[cfg(test)]
mod tests;

pub use checks::Check;
pub use chosen::Chosen;
pub use error::ConfigError;
pub use files::{Files, find};
pub use load::{Named, load};
pub use origin::{FileLayer, Origin, Setting};
pub use pipeline::{Landing, PipelineSettings};
pub use project_commands::{Part, ProjectCommand, Use};
pub use roles::{RoleSettings, Roles};
pub use schema::schema;
pub use settings::{AgentSettings, JudgeSettings, Limits, SessionSettings, Settings, Signals};
pub use show::Shown;
pub use templates::{KnownTemplate, Templates};
