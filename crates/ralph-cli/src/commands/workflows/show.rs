//! `ralph workflow show`.
use clap::Args;
use ralph_app::workflows::graph::{kind_name, list_rows};
use ralph_app::workflows::{FoundWorkflow, LoadedWorkflow, WorkflowCatalog, find_triggers};
use ralph_core::workflow::{Node, NodeKind};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::json;

use super::graph::format_rows;
use super::problems::{Severity, format_problem, to_command_error};
use crate::commands::out;
use crate::error::CommandError;

/// Shows a workflow: what it does, its nodes, and every text that an agent or a shell would get
#[derive(Debug, Args)]
pub struct WorkflowShowArgs {
    /// The name of the workflow
    name: String,
    /// Prints {name, origin, file, workflow, triggers, notes}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &WorkflowShowArgs) -> Result<u8, CommandError> {
    let catalog = WorkflowCatalog::open(Project::find_here().ok().as_ref());
    let found = catalog.find(&args.name).map_err(|error| to_command_error(&error))?;
    if args.json {
        print_json(&found);
    } else {
        out::print_wrapped(&format_overview(&found));
        // Scripts and prompts are printed as they are.
        out::print_data(&format_texts(&found));
    }
    Ok(0)
}

fn print_json(found: &FoundWorkflow<'_>) {
    let LoadedWorkflow { workflow, notes, .. } = found.loaded.as_ref();
    let shown = json!({
        "name": workflow.name,
        "origin": found.entry.origin,
        "file": found.entry.path,
        "workflow": workflow,
        "triggers": find_triggers(&workflow.description),
        "notes": notes,
    });
    out::print_line(&shown.to_string());
}

fn format_overview(found: &FoundWorkflow<'_>) -> String {
    let workflow = &found.loaded.workflow;
    let file = found.entry.path.as_ref().map(|_| format!(", {}", found.entry.display_path)).unwrap_or_default();
    let mut text = format!("{}  ({}{file})\n", workflow.name, found.entry.origin.name());
    text.push_str(&indent(workflow.description.trim()));
    for (name, value) in [("agent", &workflow.agent.provider), ("model", &workflow.agent.model)] {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    for (name, input) in &workflow.inputs {
        let about = input.description.as_deref().unwrap_or_default();
        let default = match (&input.default, input.required) {
            (Some(default), _) => format!("default {default:?}"),
            (None, true) => "required".to_owned(),
            (None, false) => "optional".to_owned(),
        };
        text.push_str(&format!("input {name} ({default}) {about}\n"));
    }
    text.push_str(&format!("\n{}\n", format_rows(&list_rows(workflow))));
    sanitize_text(&text)
}

fn format_texts(found: &FoundWorkflow<'_>) -> String {
    let LoadedWorkflow { workflow, notes, .. } = found.loaded.as_ref();
    let mut text = String::new();
    add_node_texts(&workflow.nodes, &mut text);
    for note in notes {
        text.push_str(&format!("{}\n", format_problem(note, Severity::Note)));
    }
    sanitize_text(&text)
}

/// Adds the prompts and scripts of all nodes.
fn add_node_texts(nodes: &[Node], text: &mut String) {
    for node in nodes {
        for part in node.texts() {
            text.push_str(&format!("{} ({}) {}:\n{}\n", node.id, kind_name(&node.kind), part.field, indent(part.text)));
        }
        for criterion in node.kind.criteria() {
            text.push_str(&format!(
                "{} ({}) check:\n{}\n",
                node.id,
                kind_name(&node.kind),
                indent(&criterion.method.summary_line())
            ));
        }
        if let NodeKind::LoopGroup(group) = &node.kind {
            add_node_texts(&group.nodes, text);
        }
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
