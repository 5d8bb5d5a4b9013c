//! Formats a page of the guide for a terminal: 80 columns, without the marks of Markdown. Hand-written because a page uses
//! only headings, paragraphs, lists, tables and code.
use crate::commands::help::topics::find_topic;
use crate::report::{ColorMode, TextStyle, wrap_text};

/// The width of the text.
const COLUMNS: usize = 80;
/// The indentation of code.
const CODE_INDENT: &str = "    ";

/// Returns a page as text. Code is indented and not wrapped.
pub fn format_page(markdown: &str, colors: ColorMode) -> String {
    let mut page = PageFormatter { text: String::new(), paragraph: String::new(), heading: None, colors };
    let mut is_code = false;
    for line in markdown.lines() {
        let fence = line.trim_start().starts_with("```");
        match (fence, is_code) {
            (true, _) => {
                page.end_paragraph();
                is_code = !is_code;
            }
            (false, true) => page.add_line(&format!("{CODE_INDENT}{line}")),
            (false, false) => page.add_markdown_line(line),
        }
    }
    page.end_paragraph();
    page.text
}

struct PageFormatter {
    text: String,
    /// The paragraph or list item that is being read.
    paragraph: String,
    /// The cells of the heading of the current table.
    heading: Option<Vec<String>>,
    colors: ColorMode,
}

impl PageFormatter {
    fn add_line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn add_markdown_line(&mut self, line: &str) {
        if !line.starts_with('|') {
            self.heading = None;
        }
        if line.trim().is_empty() {
            self.end_paragraph();
            return self.add_line("");
        }
        if let Some(title) = line.strip_prefix('#') {
            self.end_paragraph();
            let title = self.colors.style_text(TextStyle::Bold, &plain_text(title.trim_start_matches('#').trim()));
            return self.add_line(&title);
        }
        if line.starts_with('|') {
            self.end_paragraph();
            return self.add_table_row(line);
        }
        if is_list_item(line) {
            self.end_paragraph();
        }
        let is_first = self.paragraph.is_empty();
        self.paragraph.push_str(if is_first { "" } else { " " });
        self.paragraph.push_str(if is_first { line } else { line.trim_start() });
    }

    /// Wraps what was collected.
    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }
        let text = plain_text(paragraph.trim_start());
        let indent = paragraph.len() - paragraph.trim_start().len();
        let hanging = indent + if is_list_item(&paragraph) { 2 } else { 0 };
        self.add_wrapped(&text, indent, hanging);
    }

    fn add_wrapped(&mut self, text: &str, first: usize, hanging: usize) {
        let rows = wrap_text(text, COLUMNS.saturating_sub(hanging.max(first)));
        for (number, row) in rows.iter().enumerate() {
            let indent = if number == 0 { first } else { hanging };
            self.add_line(&format!("{:indent$}{row}", ""));
        }
    }

    /// Shows a row of a table as its first cell, with the other cells below it.
    fn add_table_row(&mut self, line: &str) {
        let cells: Vec<String> = split_cells(line);
        let is_rule = cells.iter().all(|cell| cell.chars().all(|letter| matches!(letter, '-' | ':')));
        match (&self.heading, is_rule) {
            (None, _) => self.heading = Some(cells),
            (Some(_), true) => {}
            (Some(heading), false) => {
                let labels: Vec<String> = heading.iter().skip(1).cloned().collect();
                let label_needed = labels.len() > 1;
                let Some((first, others)) = cells.split_first() else { return };
                self.add_wrapped(first, 2, 4);
                for (cell, label) in others.iter().zip(labels).filter(|(cell, _)| !cell.is_empty()) {
                    let text = if label_needed { format!("{label}: {cell}") } else { cell.clone() };
                    self.add_wrapped(&text, 6, 6);
                }
            }
        }
    }
}

fn is_list_item(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    text.starts_with("- ") || (number.len() < text.len() && number.starts_with(". "))
}

/// Splits a row of a table. A bar after a backslash is part of its cell.
fn split_cells(line: &str) -> Vec<String> {
    let protected = line.trim().replace("\\|", "\u{1}");
    let inner = protected.trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| plain_text(&cell.replace('\u{1}', "|")).trim().to_owned()).collect()
}

/// Removes the marks of emphasis, and replaces links by their names.
fn plain_text(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(name, tail)| Some((name, tail.split_once(')')?)));
        match link {
            Some((name, (target, tail))) if !name.contains('[') => {
                plain.push_str(before);
                plain.push_str(&link_text(name, target));
                rest = tail;
            }
            Some(_) | None => {
                plain.push_str(before);
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("**", "")
}

/// Returns how a link is shown: with the topic of the page that it leads to, or with an address outside.
fn link_text(name: &str, target: &str) -> String {
    let page = target.split('#').next().unwrap_or_default();
    let topic = page.strip_suffix(".md").and_then(find_topic);
    match topic {
        Some(topic) => format!("{name} (ralph help --guide {})", topic.name),
        None if target.starts_with("http") => format!("{name} ({target})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U12
    #[test]
    fn a_page_is_readable_without_markdown() {
        let page = "# Title\n\nSome **bold** text with a [link](run.md#x) that is long enough to be wrapped at eighty columns.\n\n\
                    - one\n- two\n\n```sh\nralph run 'x'\n```\n\n| a | b |\n|---|---|\n| `x \\| y` | says [this](https://e.x) |\n";
        insta::assert_snapshot!(format_page(page, ColorMode::Plain), @r"
        Title

        Some bold text with a link (ralph help --guide run) that is long enough to be
        wrapped at eighty columns.

        - one
        - two

            ralph run 'x'

          `x | y`
              says this (https://e.x)
        ");
    }
}
