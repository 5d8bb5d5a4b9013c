//! How wide the lines of a report may be. It is asked for every line, because windows change.
use std::io::IsTerminal;

use super::wrap::wrapped;

/// What a report is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Screen {
    /// The terminal of standard error.
    Terminal,
    /// A file or pipe, where lines are as long as they are.
    Endless,
}

impl Screen {
    pub(super) fn of(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Endless }
    }

    /// Returns the columns, where there is a limit.
    pub(super) fn columns(self) -> Option<usize> {
        let size = match self {
            Self::Terminal => rustix::termios::tcgetwinsize(std::io::stderr()).ok()?,
            Self::Endless => return None,
        };
        // A terminal that does not know its size has none.
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Breaks a text into rows that leave room for a margin. There is one at least.
    pub(super) fn rows(self, text: &str, margin: usize) -> Vec<String> {
        let lines = text.trim_end_matches('\n').split('\n');
        match self.columns() {
            Some(columns) => lines.flat_map(|line| wrapped(line, columns.saturating_sub(margin))).collect(),
            None => lines.map(str::to_owned).collect(),
        }
    }
}
