//! The keys of the board: one table for the keys themselves, the help and the palette.
pub(crate) mod board_command;
pub(crate) mod key_table;

pub(crate) use board_command::BoardCommand;
pub(crate) use key_table::{binding_for_key, search_bindings};
