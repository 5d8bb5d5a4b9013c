//! The settings that the layers fill, and what follows from them.
pub(in crate::config) mod all_settings;
pub(in crate::config) mod chosen_agent;
pub(in crate::config) mod judge_api;
pub(in crate::config) mod loosened_rule;
pub(in crate::config) mod origin;
pub(in crate::config) mod pipeline;
pub(in crate::config) mod platforms;
pub(in crate::config) mod project_commands;
pub(in crate::config) mod roles;
