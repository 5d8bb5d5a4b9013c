//! The summary of a job in Markdown, which GitHub shows on the page of the run.
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use ralph_app::view::{format_cost, short_id};
use ralph_core::attempt::ModelSpend;
use ralph_core::evidence::CheckEvidence;
use ralph_core::outcome::Outcome;

use super::iteration_tracker::IterationLine;

/// How many iterations the table has. Earlier ones are counted.
const MAX_ROWS: usize = 50;

/// How many lines of the output of a check are quoted.
const MAX_TAIL_LINES: usize = 30;

/// The end of a run.
pub(super) struct RunEnding<'a> {
    pub(super) run: &'a str,
    pub(super) outcome: Outcome,
    pub(super) reason: &'a str,
    pub(super) spend: ModelSpend,
    pub(super) failed_check: Option<&'a CheckEvidence>,
}

/// Adds the summary of a run to the file that GitHub names.
pub(super) fn append_summary(file: &Path, lines: &[IterationLine], ending: &RunEnding<'_>) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(summary_text(lines, ending).as_bytes())
}

fn summary_text(lines: &[IterationLine], ending: &RunEnding<'_>) -> String {
    let cost = format_cost(ending.spend.cost_micros.and_then(|micros| i64::try_from(micros).ok()));
    let mut text = format!("### ralph: {}\n\n{}\n\n", ending.outcome.as_str(), escape_markdown(ending.reason));
    let _ = writeln!(text, "Run `{}` · {cost}\n", short_id(ending.run));
    text.push_str("| iteration | who | result | time | cost | |\n|---|---|---|---|---|---|\n");
    let hidden = lines.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        let _ = writeln!(text, "| … | | {hidden} earlier iterations | | | |");
    }
    for line in lines.iter().skip(hidden) {
        let cells = [&line.position, &line.label, &line.result, &line.took, &line.cost, &line.detail];
        let cells: Vec<String> = cells.into_iter().map(|cell| escape_markdown(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if let Some(check) = ending.failed_check.filter(|_| ending.outcome != Outcome::Completed) {
        let _ = writeln!(text, "\n**{}**\n", escape_markdown(&check.display_name()));
        text.push_str(&quote_tail(&check.tail));
    }
    text.push('\n');
    text
}

/// Quotes the end of an output as an indented block, which nothing in it can end.
fn quote_tail(tail: &str) -> String {
    let skipped = tail.lines().count().saturating_sub(MAX_TAIL_LINES);
    tail.lines().skip(skipped).map(|line| format!("    {line}\n")).collect()
}

/// Makes text of agents and checks plain: one line without links, images, tables and HTML.
fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '!' | '\\' | '#' | '@' | '~' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: U1, X3
    fn text_of_an_agent_is_plain_in_the_summary() {
        assert_eq!(escape_markdown("a|b\n<img src=x> [l](u)"), "a\\|b &lt;img src=x&gt; \\[l\\](u)");
    }
}
