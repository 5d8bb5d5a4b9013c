//! `ralph workflow validate`.
use std::path::Path;

use clap::Args;
use ralph_app::workflows::{CatalogEntry, CommandLibrary, LoadResult, WorkflowCatalog, WorkflowError};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use serde_json::{Value, json};

use super::problems::{Severity, format_problem, to_command_error};
use crate::commands::out;
use crate::error::CommandError;

/// Checks workflow files; nothing is run
///
/// Reports every error and note with file, line, column and a hint. The exit code is 1 if a file has errors.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A file, a folder, or the name of a workflow [default: all workflows]
    target: Option<String>,
    /// Prints an array of {name, file, origin, valid, errors, notes, missing, replaced}
    #[arg(long)]
    json: bool,
}

/// The entries to report, and the files that their commands are searched in.
struct ValidatedEntries<'c> {
    entries: Vec<(&'c CatalogEntry, LoadResult)>,
    commands: CommandLibrary,
}

pub fn run(args: &ValidateArgs) -> Result<u8, CommandError> {
    let project = Project::find_here().ok();
    let catalog = match args.target.as_deref().map(Path::new).filter(|target| is_path(target)) {
        Some(path) if !path.exists() => {
            return Err(CommandError::usage_error(format!("there is no file {}", path.display()))
                .with_hint("name a file, a folder or a workflow; `ralph workflow list` lists the workflows"));
        }
        Some(path) => {
            let catalog = WorkflowCatalog::open_with_path(project.as_ref(), path);
            if catalog.requested_entries().is_empty() {
                return Err(CommandError::usage_error(format!("there are no workflow files in {}", path.display()))
                    .with_hint("name a folder with .yaml files, or a repository with .ralph/workflows"));
            }
            catalog
        }
        None => WorkflowCatalog::open(project.as_ref()),
    };
    let validated = match args.target.as_deref().filter(|target| !is_path(Path::new(target))) {
        Some(name) => validate_name(&catalog, name)?,
        None => validate_requested(&catalog),
    };
    if args.json {
        let rows: Value =
            validated.entries.iter().map(|(entry, result)| entry_json(entry, result, &validated)).collect();
        out::print_line(&rows.to_string());
    } else {
        print_report(&validated);
    }
    let is_valid = validated.entries.iter().all(|(_, result)| result.is_ok());
    Ok(if is_valid { exit_code::COMPLETED } else { exit_code::PREFLIGHT_FAILED })
}

/// A name is one word; everything else is a path.
fn is_path(target: &Path) -> bool {
    let text = target.to_string_lossy();
    text.contains('/') || text.ends_with(".yaml") || text.ends_with(".yml") || target.is_dir()
}

fn validate_name<'c>(catalog: &'c WorkflowCatalog, name: &str) -> Result<ValidatedEntries<'c>, CommandError> {
    let entry = catalog.active_entries().find(|entry| entry.name == name);
    let result = match (entry, catalog.find(name)) {
        (Some(entry), Ok(found)) => (entry, Ok(found.loaded)),
        (Some(entry), Err(WorkflowError::Broken { problems, .. })) => (entry, Err(problems)),
        (None, Err(error)) | (Some(_), Err(error @ WorkflowError::Unknown { .. })) => {
            return Err(to_command_error(&error));
        }
        (None, Ok(found)) => (found.entry, Ok(found.loaded)),
    };
    Ok(ValidatedEntries { entries: vec![result], commands: catalog.commands() })
}

fn validate_requested(catalog: &WorkflowCatalog) -> ValidatedEntries<'_> {
    let range = catalog.requested_entries();
    let entries = catalog.entries().get(range.clone()).unwrap_or_default();
    ValidatedEntries {
        entries: entries.iter().zip(catalog.load_entries(range)).collect(),
        commands: catalog.commands(),
    }
}

fn print_report(validated: &ValidatedEntries<'_>) {
    let mut lines = String::new();
    for (entry, result) in &validated.entries {
        let (errors, notes) = match result {
            Ok(loaded) => (&[][..], loaded.notes.as_slice()),
            Err(problems) => (problems.as_slice(), &[][..]),
        };
        for problem in errors {
            lines.push_str(&format_problem(problem, Severity::Error));
            lines.push('\n');
        }
        for problem in notes {
            lines.push_str(&format_problem(problem, Severity::Note));
            lines.push('\n');
        }
        for missing in missing_files(result, validated) {
            lines.push_str(&format!("{}:1:1: note: {missing}\n", entry.display_path));
        }
    }
    out::print_data(&lines);
    out::print_line(&summary_line(validated));
}

fn summary_line(validated: &ValidatedEntries<'_>) -> String {
    let valid = validated.entries.iter().filter(|(_, result)| result.is_ok()).count();
    let broken = validated.entries.len() - valid;
    match (valid, broken) {
        (0, 0) => "there are no workflows here".to_owned(),
        (1, 0) => "1 workflow is valid".to_owned(),
        (valid, 0) => format!("{valid} workflows are valid"),
        (valid, 1) => format!("1 workflow has errors, {valid} valid"),
        (valid, broken) => format!("{broken} workflows have errors, {valid} valid"),
    }
}

/// Returns the commands and scripts that a workflow names and that do not exist.
fn missing_files(result: &LoadResult, validated: &ValidatedEntries<'_>) -> Vec<String> {
    let Ok(loaded) = result else { return Vec::new() };
    let missing = validated.commands.find_missing(&loaded.workflow.nodes, &loaded.packages);
    missing.iter().map(ToString::to_string).collect()
}

fn entry_json(entry: &CatalogEntry, result: &LoadResult, validated: &ValidatedEntries<'_>) -> Value {
    json!({
        "name": entry.name,
        "file": entry.path,
        "origin": entry.origin,
        "valid": result.is_ok(),
        "errors": result.as_ref().err().map(Vec::as_slice).unwrap_or_default(),
        "notes": result.as_ref().ok().map(|loaded| loaded.notes.as_slice()).unwrap_or_default(),
        "missing": missing_files(result, validated),
        "replaced": entry.replaced_by.is_some(),
    })
}
