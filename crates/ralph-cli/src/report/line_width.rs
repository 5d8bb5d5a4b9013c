//! How wide the lines of a report may be. It is asked for every line, because windows change.
use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use super::wrap::{wrap_line, wrap_with_hanging_indent};

/// Breaks the lines of a text for people between words, where it goes to a terminal that is too narrow for them.
#[must_use]
pub fn wrap_for_terminal<'a>(text: &'a str, stream: &(impl IsTerminal + AsFd)) -> Cow<'a, str> {
    match stream.is_terminal().then(|| terminal_columns(stream)).flatten() {
        Some(columns) => {
            let broken = |line: &str| wrap_with_hanging_indent(line, columns).join("\n");
            text.split('\n').map(broken).collect::<Vec<_>>().join("\n").into()
        }
        None => text.into(),
    }
}

/// Returns the columns of a terminal, unless it does not know its size.
fn terminal_columns(terminal: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// What a report is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineWidth {
    /// The terminal of standard error.
    Terminal,
    /// A file or pipe, where lines are as long as they are.
    Unbounded,
}

impl LineWidth {
    pub(super) fn for_stream(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Unbounded }
    }

    /// Returns the columns, where there is a limit.
    pub(super) fn max_columns(self) -> Option<usize> {
        match self {
            Self::Terminal => terminal_columns(&std::io::stderr()),
            Self::Unbounded => None,
        }
    }

    /// Breaks a text into rows that leave room for a margin. There is one at least.
    pub(super) fn wrap_rows(self, text: &str, margin: usize) -> Vec<String> {
        let lines = text.trim_end_matches('\n').split('\n');
        match self.max_columns() {
            Some(columns) => lines.flat_map(|line| wrap_line(line, columns.saturating_sub(margin))).collect(),
            None => lines.map(str::to_owned).collect(),
        }
    }
}
