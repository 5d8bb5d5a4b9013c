//! `ralph board` with the real binary in a real terminal.
mod actions;
mod inbox;
mod many_tasks;
mod other_programs;
mod runs;
mod terminal_use;
pub(crate) mod tmux_screen;
