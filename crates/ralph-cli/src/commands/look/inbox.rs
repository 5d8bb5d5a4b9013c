//! `ralph inbox`.
use std::io;

use clap::Args;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;
use crate::report::TextTable;
use ralph_app::inbox::{InboxItem, list_inbox};
use ralph_app::view::format_age;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_util::sanitize::sanitize_text;
use serde_json::Value;

/// Lists everything that waits for you, with the command that answers
///
/// Approvals, questions, changed tests, and work that is blocked, stalled, exhausted, failed, over budget, paused or
/// not landed. What holds a slot of a worker comes first, then what keeps most tasks waiting, then the oldest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph inbox
  ralph inbox --json | jq -r '.[].commands[0]'")]
pub struct InboxArgs {
    /// Prints an array of objects, each with at least id, kind, reason and commands
    #[arg(long)]
    json: bool,
}

pub fn run(args: &InboxArgs) -> Result<u8, CommandError> {
    let items = block_on(async { Ok(list_inbox(&Project::find_here_or_outside()?).await?) })?;
    if args.json {
        let rows: Vec<Value> = items.iter().map(|item| item.to_json(&hints::for_inbox_answer(&item.answer))).collect();
        out::print_line(&Value::from(rows).to_string());
    } else if items.is_empty() {
        out::print_message("nothing waits for you");
    } else {
        print_items(&items);
    }
    Ok(0)
}

fn print_items(items: &[InboxItem]) {
    let table = TextTable::new(["id", "kind", "age", "why"], items.iter().map(item_cells).collect());
    let rendered = table.render_for(&io::stdout());
    let mut lines = rendered.lines();
    let mut text = String::new();
    if let Some(heading) = lines.next() {
        text.push_str(&format!("{heading}\n"));
    }
    // The command is on a separate line, which is never cut: people copy it.
    for (line, item) in lines.zip(items) {
        text.push_str(&format!("{line}\n"));
        for command in hints::for_inbox_answer(&item.answer) {
            text.push_str(&format!("    {}\n", sanitize_text(&command)));
        }
    }
    out::print_data(&text);
}

fn item_cells(item: &InboxItem) -> [String; 4] {
    let now = Clock::wall_now();
    let age = item.since.map_or_else(|| "-".to_owned(), |since| format_age(now.elapsed_since(since)));
    let blocks = match item.blocked_tasks {
        0 => String::new(),
        1 => " (1 task waits for it)".to_owned(),
        count => format!(" ({count} tasks wait for it)"),
    };
    let slot = if item.holds_slot { " (holds a slot)" } else { "" };
    let reason = item.reason.lines().next().unwrap_or_default();
    [item.id.clone(), item.kind.label(), age, format!("{reason}{slot}{blocks}")].map(|cell| sanitize_text(&cell))
}
