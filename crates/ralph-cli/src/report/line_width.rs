//! The width of report lines. It is read for every line because terminals are resized.
use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use super::wrap::{wrap_line, wrap_with_hanging_indent};

/// Wraps a text between words if the stream is a terminal.
#[must_use]
pub fn wrap_for_terminal<'a>(text: &'a str, stream: &(impl IsTerminal + AsFd)) -> Cow<'a, str> {
    match stream.is_terminal().then(|| terminal_columns(stream)).flatten() {
        Some(columns) => {
            let wrapped = |line: &str| wrap_with_hanging_indent(line, columns).join("\n");
            text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n").into()
        }
        None => text.into(),
    }
}

/// Wraps a text between words. A word that is longer than a row is not split.
#[must_use]
pub fn wrap_text(text: &str, columns: usize) -> Vec<String> {
    wrap_with_hanging_indent(text, columns)
}

/// Returns the columns of a terminal, or `None` if it does not report its size.
pub(super) fn terminal_columns(terminal: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The width limit of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineWidth {
    /// The width of the terminal on stderr.
    Terminal,
    /// A file or pipe, where lines are not wrapped.
    Unbounded,
}

impl LineWidth {
    pub(super) fn for_stream(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Unbounded }
    }

    /// Returns the number of columns, if it is limited.
    pub(super) fn max_columns(self) -> Option<usize> {
        match self {
            Self::Terminal => terminal_columns(&std::io::stderr()),
            Self::Unbounded => None,
        }
    }

    /// Wraps a text into rows that leave room for a margin. Returns at least one row.
    pub(super) fn wrap_rows(self, text: &str, margin: usize) -> Vec<String> {
        let lines = text.trim_end_matches('\n').split('\n');
        match self.max_columns() {
            Some(columns) => lines.flat_map(|line| wrap_line(line, columns.saturating_sub(margin))).collect(),
            None => lines.map(str::to_owned).collect(),
        }
    }
}
