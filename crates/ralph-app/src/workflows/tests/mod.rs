//! The loader: one test for each rule of the format, with positions.
mod forms;
mod hostile_input;
mod includes;
mod nodes;
mod places;

use std::path::Path;

use super::include::IncludeError;
use super::load::{LoadedWorkflow, WorkflowText, load_text};
use super::problem::WorkflowProblem;
use crate::config::TemplateLibrary;

fn load(text: &str) -> Result<LoadedWorkflow, Vec<WorkflowProblem>> {
    let templates = TemplateLibrary::default();
    let source = WorkflowText {
        text: text.to_owned(),
        name: "w.yaml".to_owned(),
        path: Some(Path::new("w.yaml")),
        package: None,
        templates: &templates,
    };
    load_text(source, &mut |name| {
        Err(IncludeError { message: format!("there is no workflow named {name:?}"), hint: "write it".to_owned() })
    })
}

/// Loads a workflow without problems, for tests elsewhere.
#[track_caller]
pub(crate) fn load_test_workflow(text: &str) -> ralph_core::workflow::Workflow {
    load(text).unwrap().workflow
}

fn describe(problem: &WorkflowProblem) -> String {
    let hint = problem.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("{}:{}: {}{hint}", problem.line, problem.column, problem.message)
}

#[track_caller]
fn errors_of(text: &str) -> Vec<String> {
    load(text).err().unwrap_or_default().iter().map(describe).collect()
}

#[track_caller]
fn notes_of(text: &str) -> Vec<String> {
    load(text).unwrap().notes.iter().map(describe).collect()
}

/// Returns a workflow with these nodes, which begin in line 4.
fn with_nodes(nodes: &str) -> String {
    format!("name: w\ndescription: d\nnodes:\n{nodes}")
}
