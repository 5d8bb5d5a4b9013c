//! The board as plain lines, for screen readers: one line per change, and no cursor is moved.
mod change_lines;
pub(crate) mod plain_session;
