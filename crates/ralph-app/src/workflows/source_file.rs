//! The text of a workflow file, to find the position of a part of a value.
use super::problem::Position;

/// The text of a file and its name for messages.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub name: String,
    pub text: String,
    /// The offset of the first byte of each line.
    line_starts: Vec<usize>,
}

impl SourceFile {
    pub(super) fn new(name: String, text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        Self { name, text, line_starts }
    }

    /// Returns the position of the first `part` after `from`, or `from` if the file spells it differently.
    pub(super) fn find_part(&self, from: Position, part: &str) -> Position {
        let start = self.offset_of(from);
        let found = self.text.get(start..).and_then(|rest| rest.find(part)).map(|at| start + at);
        found.map_or(from, |offset| self.position_of(offset))
    }

    /// Returns the position of a character of a one-line value that begins at `start`.
    pub(super) fn position_inside(&self, start: Position, chars: usize) -> Position {
        let is_quoted = self.text.get(self.offset_of(start)..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        let shown = u64::try_from(chars).unwrap_or(0) + u64::from(is_quoted);
        Position { column: start.column + shown, ..start }
    }

    fn offset_of(&self, at: Position) -> usize {
        let line = usize::try_from(at.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(start) = self.line_starts.get(line).copied() else { return self.text.len() };
        let columns = usize::try_from(at.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let rest = self.text.get(start..).unwrap_or_default();
        start + rest.char_indices().nth(columns).map_or(rest.len(), |(at, _)| at)
    }

    fn position_of(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).unwrap_or_default().chars().count() + 1;
        Position { line: u64::try_from(line).unwrap_or(1), column: u64::try_from(column).unwrap_or(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W1
    #[test]
    fn a_part_is_found_after_a_position() {
        let file = SourceFile::new("f".to_owned(), "a: x\nü: $y x\nz: x".to_owned());
        assert_eq!(file.find_part(Position { line: 2, column: 4 }, "x"), Position { line: 2, column: 7 });
        assert_eq!(file.find_part(Position { line: 2, column: 8 }, "x"), Position { line: 3, column: 4 });
        let at = Position { line: 2, column: 1 };
        assert_eq!(file.find_part(at, "missing"), at);
    }
}
