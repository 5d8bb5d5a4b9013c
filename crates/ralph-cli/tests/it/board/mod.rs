//! `ralph board` with the real binary in a real terminal.
mod inbox;
mod runs;
mod terminal_use;
pub(crate) mod tmux_screen;
