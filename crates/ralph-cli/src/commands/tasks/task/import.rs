//! `ralph task import`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ralph_app::task_files::{TaskFileFormat, TaskText};
use ralph_app::tasks::{ImportMode, ImportedTask, TaskImportRequest, TaskImportSource, detect_author, import_tasks};
use ralph_app::view::pluralize;
use ralph_core::task::TaskAuthor;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

use super::args::field_args::read_text;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Imports tasks from a file, all or none: YAML, prd.json or a Markdown checklist
///
/// YAML is a list of tasks or a single `task:`. The stories of prd.json become tasks; those with `passes: true` are done.
/// In Markdown each `- [ ] ID: title` without indentation is a task, and the indented lines below it are its acceptance criteria.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task import tasks.yaml
  ralph task import prd.json --spec shop
  ralph task import tasks.yaml --dry-run      only reports errors
  ralph task import - --format markdown < TODO.md")]
pub struct TaskImportArgs {
    /// The file; - for standard input
    file: PathBuf,
    /// Spec of tasks that do not name one
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// Format [default: detected from file name and content]
    #[arg(long, value_enum)]
    format: Option<TaskFormatArg>,
    /// Marks the tasks as written by an agent: they need approval with `ralph task approve`
    #[arg(long)]
    by_agent: bool,
    /// Validates the file without storing tasks
    #[arg(long)]
    dry_run: bool,
    /// Prints an array of objects with id and status
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TaskFormatArg {
    Yaml,
    Json,
    Markdown,
}

pub fn run(args: &TaskImportArgs) -> Result<u8, CommandError> {
    let TaskText { text, name } = read_text(&args.file)?;
    let form = args.format.map_or_else(|| TaskFileFormat::detect(&args.file, &text), TaskFormatArg::file_format);
    let project = Project::find_here()?;
    let mode = if args.dry_run { ImportMode::DryRun } else { ImportMode::Store };
    let request = TaskImportRequest {
        source: TaskImportSource { text: &text, form, name: &name },
        spec: args.spec.as_deref(),
        mode,
        author: if args.by_agent && !args.dry_run { TaskAuthor::Agent } else { detect_author(&project) },
    };
    let imported = block_on(async { Ok(import_tasks(&project, &request, &TerminalInteraction).await?) })?;
    if args.json {
        let object = |task: &ImportedTask| serde_json::json!({ "id": task.id, "status": task.status.as_str() });
        out::print_line(&imported.iter().map(object).collect::<serde_json::Value>().to_string());
        return Ok(0);
    }
    let result = if args.dry_run { "can be imported" } else { "imported" };
    out::print_line(&format!("{} {result} from {}", pluralize(imported.len() as i64, "task"), sanitize_text(&name)));
    Ok(0)
}

impl TaskFormatArg {
    fn file_format(self) -> TaskFileFormat {
        match self {
            Self::Yaml => TaskFileFormat::Yaml,
            Self::Json => TaskFileFormat::Json,
            Self::Markdown => TaskFileFormat::Markdown,
        }
    }
}
