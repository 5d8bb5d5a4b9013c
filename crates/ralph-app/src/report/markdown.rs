//! Renders a report as Markdown for a pull request. Text that does not come from ralph is inside code: it mentions no
//! person, contains no links, and cannot leave its place.
use super::document::{ReportBlock, ReportCell, ReportDocument, ReportTable, ReportTone, clean_text};

/// The description of a pull request may have 65,536 characters on GitHub.
const MAX_CHARS: usize = 60_000;
/// A longer text is cut.
const MAX_CODE_CHARS: usize = 6_000;

/// Returns the Markdown of a report. Folded parts that would make it too long are left out, and a line says so.
#[must_use]
pub fn render_markdown(report: &ReportDocument) -> String {
    let mark = match report.tone {
        ReportTone::Good => "✓",
        ReportTone::Bad => "✗",
        ReportTone::Open => "…",
    };
    let mut text = format!("## {mark} {}\n\n{}\n", code_span(&report.headline), code_span(&report.title));
    let mut left_out = 0_usize;
    for block in &report.blocks {
        let part = block_text(block);
        if matches!(block, ReportBlock::Folded { .. }) && text.chars().count() + part.chars().count() > MAX_CHARS {
            left_out += 1;
            continue;
        }
        text.push('\n');
        text.push_str(&part);
    }
    if left_out > 0 {
        text.push_str(&format!(
            "\nThe report is long: {left_out} folded texts are left out. The HTML report has them.\n"
        ));
    }
    text
}

fn block_text(block: &ReportBlock) -> String {
    match block {
        ReportBlock::Section(title) => format!("#### {title}\n"),
        ReportBlock::Part(title) => format!("### {}\n", code_span(title)),
        ReportBlock::Facts(facts) => {
            facts.iter().map(|fact| format!("- {}: {}\n", fact.label, code_span(&fact.value))).collect()
        }
        ReportBlock::Paragraph(text) => format!("{}\n", code_span(text)),
        ReportBlock::Sentence(text) => format!("{text}\n"),
        ReportBlock::List(items) => items.iter().map(|item| format!("- {}\n", code_span(item))).collect(),
        ReportBlock::Table(table) => table_text(table),
        ReportBlock::Code(code) => code_block(code),
        ReportBlock::Folded { summary, code } => {
            format!("<details><summary>{}</summary>\n\n{}\n</details>\n", html_text(summary), code_block(code))
        }
    }
}

fn table_text(table: &ReportTable) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(table.columns.iter().map(|column| html_text(column)).collect());
    text.push_str(&row(table.columns.iter().map(|_| "---".to_owned()).collect()));
    for cells in &table.rows {
        text.push_str(&row(cells.iter().map(cell_text).collect()));
    }
    text
}

fn cell_text(cell: &ReportCell) -> String {
    match cell {
        // A bar would end the cell, and no escape of it is safe after a backslash.
        ReportCell::Text(text) => code_span(&text.replace('|', "│")),
        ReportCell::Mark { glyph, .. } => (*glyph).to_owned(),
    }
}

/// Returns a text on one line as inline code. Its fence is longer than every run of backquotes in it.
fn code_span(text: &str) -> String {
    let line = clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return "-".to_owned();
    }
    let fence = "`".repeat(longest_backquote_run(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

/// Returns a text as a code block whose fence is longer than every run of backquotes in it.
fn code_block(code: &str) -> String {
    let clean = clean_text(code);
    let count = clean.chars().count();
    let shown: String = match count > MAX_CODE_CHARS {
        true => clean.chars().skip(count - MAX_CODE_CHARS).collect(),
        false => clean,
    };
    let cut = if count > MAX_CODE_CHARS {
        format!("The first {} characters are left out.\n\n", count - MAX_CODE_CHARS)
    } else {
        String::new()
    };
    let fence = "`".repeat((longest_backquote_run(&shown) + 1).max(3));
    format!("{cut}{fence}text\n{}\n{fence}\n", shown.trim_end_matches('\n'))
}

fn longest_backquote_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Returns a short text of ralph for a place where code is not possible: letters and digits stay, the rest is a reference.
fn html_text(text: &str) -> String {
    let keep = |character: char| character.is_alphanumeric() || character == ' ';
    clean_text(text)
        .chars()
        .map(|character| if keep(character) { character.to_string() } else { format!("&#{};", u32::from(character)) })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::document::ReportFact;

    /// Words with which an agent would leave its place.
    const HOSTILE: &str = "<script>alert(1)</script> @everyone #1 [x](http://evil.example) ![i](http://evil.example/i.png) \
         | `a` ``b`` ``` \\| </details> <!-- \u{202e}txt.exe http://evil.example www.evil.example";

    pub(in crate::report) fn hostile_report() -> ReportDocument {
        let hostile = HOSTILE.to_owned();
        ReportDocument {
            title: hostile.clone(),
            headline: format!("{hostile}\n# a heading"),
            tone: ReportTone::Bad,
            blocks: vec![
                ReportBlock::Section("Criteria"),
                ReportBlock::Part(hostile.clone()),
                ReportBlock::Facts(vec![ReportFact::new("reason", hostile.clone())]),
                ReportBlock::Paragraph(hostile.clone()),
                ReportBlock::List(vec![format!("{hostile}\n- injected")]),
                ReportBlock::Table(ReportTable {
                    columns: vec!["criterion".to_owned(), "1".to_owned()],
                    rows: vec![vec![
                        ReportCell::text(format!("a\\|@everyone {hostile}")),
                        ReportCell::Mark { glyph: "✗", word: "rejected", tone: ReportTone::Bad },
                    ]],
                }),
                ReportBlock::Code(format!("```\n{hostile}\n````\n</details>\n\n# out")),
                ReportBlock::Folded { summary: "prompt 1".to_owned(), code: format!("```\n{hostile}\n`````\n# out") },
            ],
        }
    }

    /// Returns the text without its code: what a reader would interpret.
    fn interpreted(markdown: &str) -> String {
        let mut outside = String::new();
        let mut fence: Option<&str> = None;
        for line in markdown.lines() {
            let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
            match fence {
                Some(open) if line.len() >= open.len() && line.chars().all(|character| character == '`') => {
                    fence = None;
                }
                Some(_) => {}
                None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
                None => outside.push_str(&format!("{}\n", without_spans(line))),
            }
        }
        outside
    }

    fn without_spans(line: &str) -> String {
        let mut rest = line;
        let mut outside = String::new();
        while let Some(start) = rest.find('`') {
            outside.push_str(&rest[..start]);
            let from = &rest[start..];
            let ticks = from.len() - from.trim_start_matches('`').len();
            let body = &from[ticks..];
            let mut at = 0;
            let end = loop {
                let Some(found) = body[at..].find('`') else { break None };
                let run = body[at + found..].len() - body[at + found..].trim_start_matches('`').len();
                if run == ticks {
                    break Some(at + found + run);
                }
                at += found + run;
            };
            let end = end.unwrap_or_else(|| panic!("a span is not closed: {line}"));
            rest = &body[end..];
        }
        outside.push_str(rest);
        outside
    }

    // spec: U6, X1
    #[test]
    fn no_text_of_an_agent_is_interpreted_as_markdown_or_html() {
        let markdown = render_markdown(&hostile_report());
        let outside = interpreted(&markdown);
        for word in ["evil", "@", "script", "<!--", "injected", "out", "heading", "](", "exe"] {
            assert!(!outside.contains(word), "{word} is interpreted in:\n{outside}");
        }
        assert_eq!(outside.matches("<details>").count(), 1);
        assert_eq!(outside.matches("</details>").count(), 1);
        assert!(!markdown.contains('\u{202e}'));
    }

    // spec: U6
    #[test]
    fn a_cell_of_a_table_stays_one_cell() {
        let markdown = render_markdown(&hostile_report());
        let row = markdown.lines().find(|line| line.contains("✗ |")).unwrap();
        assert_eq!(row.matches('|').count(), 3, "{row}");
    }

    // spec: U6
    #[test]
    fn a_long_report_leaves_out_folded_texts_and_says_so() {
        let folded =
            |number: usize| ReportBlock::Folded { summary: format!("prompt {number}"), code: "x".repeat(5_900) };
        let report = ReportDocument {
            title: "run".to_owned(),
            headline: "completed".to_owned(),
            tone: ReportTone::Good,
            blocks: (1..=20).map(folded).collect(),
        };
        let markdown = render_markdown(&report);
        assert!(markdown.chars().count() < 62_000, "{}", markdown.chars().count());
        assert!(markdown.contains("folded texts are left out"), "{}", markdown.len());
    }
}
