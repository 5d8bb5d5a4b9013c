//! Colours for terminals that can show them. The text is the same without colours.
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style};

/// Whether text may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorMode {
    Plain,
    Colored,
}

#[derive(Debug, Clone, Copy)]
pub enum TextStyle {
    Bold,
    Dim,
    Good,
    Bad,
    Warning,
}

impl ColorMode {
    /// Enables colours only for a terminal that can show them, and not if `NO_COLOR` is set.
    #[must_use]
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let is_allowed = anstyle_query::term_supports_color() && !anstyle_query::no_color();
        if stream.is_terminal() && is_allowed { Self::Colored } else { Self::Plain }
    }

    #[must_use]
    pub fn style_text(self, style: TextStyle, text: &str) -> String {
        let style = match self {
            Self::Plain => Style::new(),
            Self::Colored => style.ansi_style(),
        };
        format!("{style}{text}{style:#}")
    }
}

impl TextStyle {
    const fn ansi_style(self) -> Style {
        match self {
            Self::Bold => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default().effects(Effects::BOLD),
            Self::Bad => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Self::Warning => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
        }
    }
}
