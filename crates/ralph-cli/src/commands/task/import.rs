//! `ralph task import`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ralph_core::task::{TaskAuthor, is_valid_id};

use super::create::{add_tasks, plan_additions};
use super::current_author;
use super::field_args::read_task_text;
use super::task_checks::{check_patterns_and_templates, refuse_secrets};
use crate::commands::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::task::{self, ParsedTask, ParsedTasks, TaskFileFormat};
use ralph_app::view::pluralize;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

/// Reads tasks from a file, all or none: YAML, prd.json or a Markdown check list
///
/// YAML is a list of tasks or a single `task:`. The stories of prd.json become tasks; those with `passes: true` are done.
/// In Markdown each `- [ ] ID: title` at the edge is a task, and what is indented below it are its acceptance criteria.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task import tasks.yaml
  ralph task import prd.json --spec shop
  ralph task import tasks.yaml --dry-run      says what is wrong with it, and stores nothing
  ralph task import - --format markdown < TODO.md")]
pub struct TaskImportArgs {
    /// The file; - is standard input
    file: PathBuf,
    /// The spec of tasks that name none
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// How it is written [usual: by the name of the file]
    #[arg(long, value_enum)]
    format: Option<TaskFormatArg>,
    /// An agent wrote it: its checks are not started before `ralph task approve`
    #[arg(long)]
    by_agent: bool,
    /// Holds the file against everything that could be wrong, and stores nothing
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
    let (text, name) = read_task_text(&args.file)?;
    let form = match args.format {
        Some(TaskFormatArg::Yaml) => TaskFileFormat::Yaml,
        Some(TaskFormatArg::Json) => TaskFileFormat::Json,
        Some(TaskFormatArg::Markdown) => TaskFileFormat::Markdown,
        None => TaskFileFormat::detect(&args.file, &text),
    };
    let given = read_tasks(&TaskImportSource { text: &text, form, name: &name }, args.spec.as_deref())?;
    given.warnings.iter().for_each(|warning| out::print_note(&format!("warning: {warning}")));
    let told: Vec<_> = given.tasks.iter().map(|read| (read.task.id.clone(), read.task.status)).collect();
    block_on(async {
        if args.dry_run {
            return ensure_importable(given.tasks).await;
        }
        let author = if args.by_agent { TaskAuthor::Agent } else { current_author(&Project::find_here()?) };
        add_tasks(given.tasks, author, |_| Ok(())).await
    })?;
    if args.json {
        let told = told.iter().map(|(id, status)| serde_json::json!({ "id": id, "status": status.as_str() }));
        out::print_line(&told.collect::<serde_json::Value>().to_string());
        return Ok(0);
    }
    let did = if args.dry_run { "could be imported" } else { "imported" };
    out::print_line(&format!("{} {did} from {}", pluralize(told.len() as i64, "task"), sanitize_text(&name)));
    Ok(0)
}

/// A text with tasks; its name stands in messages.
pub struct TaskImportSource<'a> {
    pub text: &'a str,
    pub form: TaskFileFormat,
    pub name: &'a str,
}

/// Reads tasks and holds each of them against the rules. Those that name no spec belong to `spec`.
pub fn read_tasks(source: &TaskImportSource<'_>, spec: Option<&str>) -> Result<ParsedTasks, CommandError> {
    if let Some(spec) = spec.filter(|spec| !is_valid_id(spec)) {
        return Err(CommandError::usage_error(format!("--spec: {spec:?} is no id")).with_hint("such as auth-feature"));
    }
    let mut given = task::parse_tasks(source.text, source.form, source.name)?;
    let templates = ralph_app::plan::project_templates(&Project::find_here()?);
    for read in &mut given.tasks {
        read.task.spec_id = read.task.spec_id.take().or(spec.map(str::to_owned));
        check_patterns_and_templates(&read.task, &templates)
            .and_then(|()| refuse_secrets(&read.task))
            .map_err(|problem| read.origin.locate_problem(&problem))?;
    }
    Ok(given)
}

/// Tells whether new tasks would fit to those that are there.
async fn ensure_importable(new: Vec<ParsedTask>) -> Result<(), CommandError> {
    let there = match run_lookup::open_existing_store().await? {
        Some(store) => store.list_tasks().await?,
        None => Vec::new(),
    };
    plan_additions(new, &there, current_author(&Project::find_here()?)).map(drop)
}
