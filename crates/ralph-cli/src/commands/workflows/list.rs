//! `ralph workflow list`.
use clap::Args;
use ralph_app::workflows::{CatalogEntry, LoadResult, WorkflowCatalog};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::Value;

use crate::commands::out;

/// Lists the workflows that can be started here
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Prints an array of {name, description, triggers, origin, file, nodes, error}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ListArgs) -> u8 {
    let catalog = WorkflowCatalog::open(Project::find_here().ok().as_ref());
    let loaded = catalog.load_entries(catalog.requested_entries());
    let listed: Vec<(&CatalogEntry, &LoadResult)> =
        catalog.entries().iter().zip(&loaded).filter(|(entry, _)| entry.replaced_by.is_none()).collect();
    if args.json {
        let rows: Value = listed.iter().map(|(entry, loaded)| entry.to_json(loaded)).collect();
        out::print_line(&rows.to_string());
    } else if listed.is_empty() {
        out::print_line("there are no workflows here: add a YAML file to .ralph/workflows");
    } else {
        print_table(listed);
    }
    0
}

fn print_table(mut listed: Vec<(&CatalogEntry, &LoadResult)>) {
    listed.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let width = listed.iter().map(|(entry, _)| entry.name.chars().count()).max().unwrap_or(0).min(40);
    for (entry, loaded) in listed {
        let about = match loaded {
            Ok(loaded) => first_line(&loaded.workflow.description),
            Err(problems) => {
                let first = problems.first().map(ToString::to_string).unwrap_or_default();
                format!("cannot be started: {first}")
            }
        };
        let name = sanitize_text(&entry.name);
        out::print_message(&sanitize_text(&format!("{name:width$}  {:17}  {about}", entry.origin.name())));
    }
}

fn first_line(description: &str) -> String {
    description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
