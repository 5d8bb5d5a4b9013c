//! Colours and emphasis. Without colours only emphasis is left; no state is shown by colour alone.
use ratatui::style::{Color, Modifier, Style};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub is_colored: bool,
}

impl Theme {
    fn color(self, color: Color) -> Style {
        if self.is_colored { Style::new().fg(color) } else { Style::new() }
    }

    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn good(self) -> Style {
        self.color(Color::Green)
    }

    pub(crate) fn bad(self) -> Style {
        self.color(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn waiting(self) -> Style {
        self.color(Color::Yellow)
    }

    pub(crate) fn active(self) -> Style {
        self.color(Color::Cyan)
    }

    /// The selected line of the focused panel.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn border(self, is_focused: bool) -> Style {
        if is_focused { self.color(Color::Green).add_modifier(Modifier::BOLD) } else { self.dim() }
    }
}
