//! Colours for terminals. The text is the same without them.
use std::io::IsTerminal;

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
    /// Returns `Colored` only for a terminal that supports colours, and only if `NO_COLOR` is not set.
    #[must_use]
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if stream.is_terminal() && !refused && !dumb { Self::Colored } else { Self::Plain }
    }

    #[must_use]
    pub fn style_text(self, style: TextStyle, text: &str) -> String {
        let code = match style {
            TextStyle::Bold => "1",
            TextStyle::Dim => "2",
            TextStyle::Good => "1;32",
            TextStyle::Bad => "1;31",
            TextStyle::Warning => "1;33",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colored => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
