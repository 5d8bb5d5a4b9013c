//! The terminal: entered, read, drawn, left, and put back in every case.
pub(crate) mod board_session;
mod foreground_command;
mod terminal_guard;
mod terminal_input;
