//! `ralph workflow graph`.
use clap::Args;
use ralph_app::workflows::WorkflowCatalog;
use ralph_app::workflows::graph::{GraphRow, draw_svg, list_rows};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::json;

use super::problems::to_command_error;
use crate::commands::out;
use crate::error::CommandError;

/// Shows the graph of a workflow
///
/// Each node is listed with its level: the nodes of a level do not depend on each other. A node starts when its own
/// dependencies are settled, not when a level has ended.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The name of the workflow
    name: String,
    /// Prints the graph as an SVG picture
    #[arg(long, conflicts_with = "json")]
    svg: bool,
    /// Prints an array of {depth, level, id, kind, detail, depends_on, trigger_rule, when}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &GraphArgs) -> Result<u8, CommandError> {
    let catalog = WorkflowCatalog::open(Project::find_here().ok().as_ref());
    let found = catalog.find(&args.name).map_err(|error| to_command_error(&error))?;
    let workflow = &found.loaded.workflow;
    if args.svg {
        out::print_data(&draw_svg(workflow));
    } else if args.json {
        out::print_line(&json!(list_rows(workflow)).to_string());
    } else {
        out::print_wrapped(&format_rows(&list_rows(workflow)));
    }
    Ok(0)
}

/// Formats the nodes of a graph, one per line.
pub(super) fn format_rows(rows: &[GraphRow]) -> String {
    let name = |row: &GraphRow| format!("{}{}", "  ".repeat(row.depth), row.id);
    let kind = |row: &GraphRow| match row.detail.as_str() {
        "" => row.kind.to_owned(),
        detail => format!("{} ({detail})", row.kind),
    };
    let name_width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).min(40);
    let kind_width = rows.iter().map(|row| kind(row).chars().count()).max().unwrap_or(0).min(40);
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:>3}  {:name_width$}  {:kind_width$}", row.level, name(row), kind(row));
        if !row.depends_on.is_empty() {
            line.push_str(&format!("  <- {}", row.depends_on.join(", ")));
        }
        if let Some(rule) = row.trigger_rule {
            line.push_str(&format!("  [{rule}]"));
        }
        if let Some(when) = &row.when {
            line.push_str(&format!("  when {}", when.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        text.push_str(sanitize_text(&line).trim_end());
        text.push('\n');
    }
    text
}
