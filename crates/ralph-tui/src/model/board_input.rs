//! The inputs of the board.
use std::sync::Arc;

use ralph_app::board::{BoardSnapshot, RunGrid};
use ralph_core::event::UnixMillis;

use super::detail_pane::{DetailView, Subject};
use super::panel::Panel;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum BoardInput {
    Key(KeyPress),
    /// Text that was pasted.
    Paste(String),
    Click {
        panel: Panel,
        /// The line inside the panel.
        line: usize,
    },
    Scroll {
        panel: Panel,
        lines: i32,
    },
    /// Time has passed.
    Tick(UnixMillis),
    /// The loader has read the project.
    Snapshot(Arc<BoardSnapshot>),
    /// The loader has checked at this time, and nothing has changed since the last snapshot.
    Unchanged(UnixMillis),
    /// The loader could not read the project; the last snapshot stays.
    LoadFailed(String),
    Detail {
        subject: Subject,
        view: DetailView,
        content: Result<DetailContent, String>,
    },
    OrderDone(OrderResult),
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderResult {
    pub is_done: bool,
    pub text: String,
}

/// The content of a view of the detail panel.
#[derive(Debug, Clone)]
pub(crate) enum DetailContent {
    Grids(Vec<RunGrid>),
    Text(String),
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPress {
    Char(char),
    Control(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

impl KeyPress {
    /// Returns the name of the key for people.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Char(' ') => "space".to_owned(),
            Self::Char(character) => character.to_string(),
            Self::Control(character) => format!("ctrl-{character}"),
            Self::Enter => "enter".to_owned(),
            Self::Escape => "esc".to_owned(),
            Self::Tab => "tab".to_owned(),
            Self::BackTab => "shift-tab".to_owned(),
            Self::Backspace => "backspace".to_owned(),
            Self::Delete => "delete".to_owned(),
            Self::Up => "up".to_owned(),
            Self::Down => "down".to_owned(),
            Self::Left => "left".to_owned(),
            Self::Right => "right".to_owned(),
            Self::Home => "home".to_owned(),
            Self::End => "end".to_owned(),
            Self::PageUp => "pgup".to_owned(),
            Self::PageDown => "pgdn".to_owned(),
        }
    }
}
