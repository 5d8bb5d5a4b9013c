//! The installed files: hooks, slash commands, and the settings files around them.
pub(crate) mod hook_command;
pub(crate) mod hook_timeout;
pub(crate) mod install_part;
pub(crate) mod settings_file;
pub(crate) mod slash_commands;
