//! `ralph task import`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ralph_core::task::{Author, is_name};

use super::create::{add, additions};
use super::field_args::text_of;
use super::held::{usable, without_secrets};
use super::{author, templates};
use crate::cli::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::task::{self, Form, Given, Read};
use ralph_app::view::one_or_many;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize;

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
pub struct ImportArgs {
    /// The file; - is standard input
    file: PathBuf,
    /// The spec of tasks that name none
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// How it is written [usual: by the name of the file]
    #[arg(long, value_enum)]
    format: Option<FormArg>,
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
    let given = read_in(&Source { text: &text, form, name: &name }, args.spec.as_deref())?;
    given.warnings.iter().for_each(|warning| out::note(&format!("warning: {warning}")));
    let told: Vec<_> = given.tasks.iter().map(|read| (read.task.id.clone(), read.task.status)).collect();
    block_on(async {
        if args.dry_run {
            return fits(given.tasks).await;
        }
        let author = if args.by_agent { Author::Agent } else { author(&Project::here()?) };
        add(given.tasks, author, |_| Ok(())).await
    })?;
    if args.json {
        let told = told.iter().map(|(id, status)| serde_json::json!({ "id": id, "status": status.as_str() }));
        out::line(&told.collect::<serde_json::Value>().to_string());
        return Ok(0);
    }
    let did = if args.dry_run { "could be imported" } else { "imported" };
    out::line(&format!("{} {did} from {}", one_or_many(told.len() as i64, "task"), sanitize(&name)));
    Ok(0)
}

/// A text with tasks; its name stands in messages.
pub struct Source<'a> {
    pub text: &'a str,
    pub form: Form,
    pub name: &'a str,
}

/// Reads tasks and holds each of them against the rules. Those that name no spec belong to `spec`.
pub fn read_in(source: &Source<'_>, spec: Option<&str>) -> Result<Given, Failure> {
    if let Some(spec) = spec.filter(|spec| !is_name(spec)) {
        return Err(Failure::usage(format!("--spec: {spec:?} is no id")).hint("such as auth-feature"));
    }
    let mut given = task::given(source.text, source.form, source.name)?;
    let templates = templates::of(&Project::here()?);
    for read in &mut given.tasks {
        read.task.spec_id = read.task.spec_id.take().or(spec.map(str::to_owned));
        usable(&read.task, &templates)
            .and_then(|()| without_secrets(&read.task))
            .map_err(|problem| read.origin.refuse(&problem))?;
    }
    Ok(given)
}

/// Tells whether new tasks would fit to those that are there.
async fn fits(new: Vec<Read>) -> Result<(), Failure> {
    let there = match pick::store().await? {
        Some(store) => store.tasks().await?,
        None => Vec::new(),
    };
    additions(new, &there, author(&Project::here()?)).map(drop)
}
