//! `ralph task import`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::create::add;
use super::field_args::text_of;
use super::without_secrets;
use crate::cli::{block_on, out};
use crate::error::Failure;
use crate::task::{self, Form};
use crate::view::one_or_many;

/// Reads tasks from a file, all or none: YAML, prd.json or a Markdown check list
///
/// YAML is a list of tasks or a single `task:`. The stories of prd.json become tasks; those with `passes: true` are done.
/// In Markdown each `- [ ] ID: title` at the edge is a task, and what is indented below it are its acceptance criteria.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task import tasks.yaml
  ralph task import prd.json --spec shop
  ralph task import - --format markdown < TODO.md")]
pub struct ImportArgs {
    /// The file; - is standard input
    file: PathBuf,
    /// The spec of tasks that name none
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// How it is written [usual: by the name of the file]
    #[arg(long, value_enum)]
    format: Option<FormArg>,
    /// Prints an array of objects with id and status
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormArg {
    Yaml,
    Json,
    Markdown,
}

pub fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let (text, name) = text_of(&args.file)?;
    let form = match args.format {
        Some(FormArg::Yaml) => Form::Yaml,
        Some(FormArg::Json) => Form::Json,
        Some(FormArg::Markdown) => Form::Markdown,
        None => Form::of(&args.file, &text),
    };
    let mut given = task::given(&text, form, &name)?;
    for read in &mut given.tasks {
        if read.task.spec_id.is_none() {
            read.task.spec_id.clone_from(&args.spec);
        }
        ralph_core::task::validate(&read.task)
            .map_err(|problem| Failure::usage(&problem).hint(problem.hint.clone()))?;
        without_secrets(&read.task)?;
    }
    given.warnings.iter().for_each(|warning| out::note(&format!("warning: {warning}")));
    let told: Vec<_> = given.tasks.iter().map(|read| (read.task.id.clone(), read.task.status)).collect();
    block_on(add(given.tasks))?;
    if args.json {
        let told = told.iter().map(|(id, status)| serde_json::json!({ "id": id, "status": status.as_str() }));
        out::line(&told.collect::<serde_json::Value>().to_string());
    } else {
        out::line(&format!("{} imported from {name}", one_or_many(told.len() as i64, "task")));
    }
    Ok(0)
}
