//! Colours, where somebody can see them. Everything reads the same without.
use std::io::IsTerminal;

/// Whether text may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Colour,
}

#[derive(Debug, Clone, Copy)]
pub enum Tone {
    Bold,
    Dim,
    Good,
    Bad,
    Care,
}

impl Paint {
    /// Colours only for a terminal that can show them, and not where `NO_COLOR` is set.
    #[must_use]
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if stream.is_terminal() && !refused && !dumb { Self::Colour } else { Self::Plain }
    }

    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Bold => "1",
            Tone::Dim => "2",
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Care => "1;33",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
