//! What the user's display filter makes of an agent's output, line by line.
use super::filter::Filter;
use super::lines::{Line, Lines};

pub struct FilteredDisplay {
    filter: Filter,
    lines: Lines,
}

impl FilteredDisplay {
    pub fn new(filter: Filter) -> Self {
        Self { filter, lines: Lines::default() }
    }

    /// Returns what the whole lines among these bytes look like.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut shown = Vec::new();
        let filter = &self.filter;
        self.lines.push(bytes, &mut |line| match line {
            Line::Whole(line) => shown.extend(filter.apply(line)),
            Line::Cut => {}
        });
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn a_display_filter_shows_what_it_yields_for_each_line() {
        let mut display = FilteredDisplay::new(Filter::compile(".say // empty").unwrap());
        assert_eq!(display.push(b"{\"say\":\"a\"}\nnoise\n{\"sa"), ["a"]);
        assert_eq!(display.push(b"y\":\"b\"}\n{\"x\":1}\n"), ["b"]);
    }
}
