//! How wide the lines of a report may be. It is asked for every line, because windows change.
use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use super::wrap::{hanging, wrapped};

/// Breaks the lines of a text for people between words, where it goes to a terminal that is too narrow for them.
#[must_use]
pub fn fitted<'a>(text: &'a str, stream: &(impl IsTerminal + AsFd)) -> Cow<'a, str> {
    match stream.is_terminal().then(|| columns_of(stream)).flatten() {
        Some(columns) => {
            let broken = |line: &str| hanging(line, columns).join("\n");
            text.split('\n').map(broken).collect::<Vec<_>>().join("\n").into()
        }
        None => text.into(),
    }
}

/// Returns the columns of a terminal, unless it does not know its size.
fn columns_of(terminal: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

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
        match self {
            Self::Terminal => columns_of(&std::io::stderr()),
            Self::Endless => None,
        }
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
