//! Tables for people: aligned columns under a heading. On a terminal no row is longer than the screen.
use std::io::IsTerminal;
use std::os::fd::AsFd;

use unicode_width::UnicodeWidthStr;

use super::color::{ColorMode, TextStyle};
use super::line_width::terminal_columns;
use super::wrap::{truncate_line, wrap_with_hanging_indent};

/// The space between two columns.
const GAP: &str = "  ";
/// If less than this is left for the last column, rows are wrapped instead of cut.
const MIN_LAST_COLUMN: usize = 12;

/// A table whose last column takes the rest of the line.
pub struct TextTable<const N: usize> {
    heading: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> TextTable<N> {
    #[must_use]
    pub fn new(heading: [&'static str; N], rows: Vec<[String; N]>) -> Self {
        Self { heading, rows }
    }

    /// Returns the text for a stream: rows are cut to the width of a terminal, and complete elsewhere.
    #[must_use]
    pub fn render_for(&self, stream: &(impl IsTerminal + AsFd)) -> String {
        let columns = stream.is_terminal().then(|| terminal_columns(stream)).flatten();
        self.render(columns, ColorMode::for_stream(stream))
    }

    fn render(&self, columns: Option<usize>, colors: ColorMode) -> String {
        let widths = self.column_widths();
        let heading = self.heading.map(str::to_uppercase);
        let mut text = colors.style_text(TextStyle::Dim, &render_row(&heading, &widths, columns));
        text.push('\n');
        for row in &self.rows {
            text.push_str(&render_row(row, &widths, columns));
            text.push('\n');
        }
        text
    }

    fn column_widths(&self) -> [usize; N] {
        let mut widths = self.heading.map(UnicodeWidthStr::width);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }
}

fn render_row(cells: &[String], widths: &[usize], columns: Option<usize>) -> String {
    let Some((last, padded)) = cells.split_last() else { return String::new() };
    let mut line = String::new();
    for (cell, width) in padded.iter().zip(widths) {
        // Pads by hand because the padding of `format!` counts characters, not columns.
        line.push_str(cell);
        line.push_str(&" ".repeat(width.saturating_sub(cell.width())));
        line.push_str(GAP);
    }
    let last = last.lines().next().unwrap_or_default();
    let room = columns.map(|columns| columns.saturating_sub(line.width()));
    match (room, columns) {
        (Some(room), _) if room >= MIN_LAST_COLUMN => line.push_str(&truncate_line(last, room)),
        (Some(_), Some(columns)) => {
            // A narrow screen has no room for columns.
            return wrap_with_hanging_indent(&format!("{line}{last}"), columns).join("\n");
        }
        (_, _) => line.push_str(last),
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable<3> {
        let row = |id: &str, status: &str, title: &str| [id.to_owned(), status.to_owned(), title.to_owned()];
        TextTable::new(
            ["task", "status", "title"],
            vec![
                row("a", "done (proven)", "Write the parser and all of its tests"),
                row("longer-id", "todo", "日本語"),
            ],
        )
    }

    // finding: N51
    #[test]
    fn columns_align_and_rows_fit_on_the_screen() {
        let text = table().render(Some(40), ColorMode::Plain);
        assert_eq!(
            text,
            "TASK       STATUS         TITLE\n\
             a          done (proven)  Write the par…\n\
             longer-id  todo           日本語\n"
        );
    }

    // finding: N51
    #[test]
    fn rows_are_complete_where_there_is_no_screen() {
        assert!(table().render(None, ColorMode::Plain).contains("Write the parser and all of its tests\n"));
    }
}
