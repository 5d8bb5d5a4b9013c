//! Runs the test files of workflows.
use std::path::{Path, PathBuf};

use ralph_core::workflow::value_text;
use ralph_engine::project::Project;
use ralph_util::suggest;
use serde::Serialize;
use serde_json::Value;

use super::source::DryRunSource;
use super::stubs::StubSet;
use super::test_file::{Expectation, ReadCase, TestCase, read_test_file};
use super::walk::{DryRunReport, DryRunRequest, dry_run};
use crate::error::{AppError, AppResult};
use crate::workflow_runs::prepare::workflow_error;
use crate::workflows::WorkflowCatalog;

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    pub workflow: String,
    /// `None`: the file itself is broken.
    pub case: Option<String>,
    pub file: PathBuf,
    /// `None`: passed.
    pub failure: Option<CaseFailure>,
}

/// Why a case failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseFailure {
    /// It could not be run.
    Error(String),
    Differences(Vec<CaseDifference>),
}

/// A value that differs from what the case expects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseDifference {
    /// `end`, `reason`, `output`, `nodes.ID` or `outputs.ID`.
    pub what: String,
    pub expected: Value,
    pub actual: Value,
}

/// Runs the tests of these workflows; without names, those of all workflows that have any.
pub fn run_workflow_tests(project: Option<&Project>, names: &[String]) -> AppResult<Vec<CaseResult>> {
    let catalog = WorkflowCatalog::open(project);
    let mut results = Vec::new();
    for (name, file) in find_test_files(&catalog, names)? {
        results.extend(run_file(&catalog, &name, &file));
    }
    Ok(results)
}

fn find_test_files(catalog: &WorkflowCatalog, names: &[String]) -> AppResult<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for name in names {
        catalog.find(name).map(drop).map_err(|error| workflow_error(&error))?;
    }
    for entry in catalog.active_entries().filter(|entry| names.is_empty() || names.contains(&entry.name)) {
        let file = entry.path.as_deref().map(|path| path.with_extension("test.yaml"));
        match file.filter(|file| file.exists()) {
            Some(file) => found.push((entry.name.clone(), file)),
            None if names.is_empty() => {}
            None => {
                return Err(AppError::preflight(format!("the workflow {} has no test file", entry.name))
                    .with_advice(missing_file_advice(entry.path.as_deref())));
            }
        }
    }
    if found.is_empty() {
        return Err(AppError::preflight("no workflow has a test file")
            .with_advice("write NAME.test.yaml beside NAME.yaml; the page about workflows describes it"));
    }
    Ok(found)
}

fn missing_file_advice(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("write {}", path.with_extension("test.yaml").display()),
        None => "it is built in; copy it to .ralph/workflows to test it".to_owned(),
    }
}

fn run_file(catalog: &WorkflowCatalog, workflow: &str, file: &Path) -> Vec<CaseResult> {
    let result = |case: Option<String>, failure: Option<CaseFailure>| CaseResult {
        workflow: workflow.to_owned(),
        case,
        file: file.to_path_buf(),
        failure,
    };
    let source = match catalog.find(workflow) {
        Ok(found) => DryRunSource::from_found(&found, catalog),
        Err(error) => return vec![result(None, Some(CaseFailure::Error(workflow_error(&error).to_string())))],
    };
    let cases = match read_test_file(file) {
        Ok(cases) => cases,
        Err(error) => return vec![result(None, Some(CaseFailure::Error(error.to_string())))],
    };
    let run = |case: ReadCase| match case {
        Ok(case) => result(Some(case.name.clone()), run_case(&source, case)),
        Err((name, reason)) => result(Some(name), Some(CaseFailure::Error(reason))),
    };
    cases.into_iter().map(run).collect()
}

fn run_case(source: &DryRunSource, case: TestCase) -> Option<CaseFailure> {
    let TestCase { message, inputs, stubs, expect, .. } = case;
    let stubs = match StubSet::from_json(&stubs) {
        Ok(stubs) => stubs,
        Err(error) => return Some(CaseFailure::Error(error.to_string())),
    };
    let inputs = inputs.iter().map(|(name, value)| (name.clone(), value_text(value).into_owned())).collect();
    let report = match dry_run(DryRunRequest { source, message, inputs, stubs: &stubs }) {
        Ok(report) => report,
        Err(error) => return Some(CaseFailure::Error(error.to_string())),
    };
    match find_differences(&expect, &report) {
        Err(error) => Some(CaseFailure::Error(error)),
        Ok(differences) if differences.is_empty() => None,
        Ok(differences) => Some(CaseFailure::Differences(differences)),
    }
}

/// Compares what a case expects. The error is about a node that does not exist.
fn find_differences(expect: &Expectation, report: &DryRunReport) -> Result<Vec<CaseDifference>, String> {
    let known: Vec<&str> = report.nodes.keys().map(String::as_str).collect();
    let find = |node: &str| {
        let hint = || format!("the workflow has no node {node:?}; {}", suggest::suggestion_hint(node, &known));
        report.nodes.get(node).ok_or_else(hint)
    };
    let mut differences = Vec::new();
    let mut compare = |what: String, expected: Value, actual: Value| {
        if expected != actual {
            differences.push(CaseDifference { what, expected, actual });
        }
    };
    if let Some(end) = expect.end {
        compare("end".to_owned(), end.as_str().into(), report.end.status.into());
    }
    if let Some(reason) = expect.reason.as_ref().filter(|reason| !report.end.reason.contains(reason.as_str())) {
        compare("reason".to_owned(), reason.as_str().into(), report.end.reason.as_str().into());
    }
    for (node, state) in &expect.nodes {
        compare(format!("nodes.{node}"), state.as_str().into(), find(node)?.status.into());
    }
    for (node, output) in &expect.outputs {
        compare(format!("outputs.{node}"), output.clone(), comparable(output, find(node)?.output.clone()));
    }
    if let Some(output) = &expect.output {
        let actual = report.end.output.as_deref().map_or(Value::Null, |text| read_as(output, text));
        compare("output".to_owned(), output.clone(), actual);
    }
    Ok(differences)
}

/// A text is compared with a text: an expected `"7"` or `{"a": 1}` in quotes is not JSON.
fn comparable(expected: &Value, actual: Value) -> Value {
    match (expected, actual) {
        (Value::String(_), actual @ (Value::Object(_) | Value::Array(_))) => value_text(&actual).into_owned().into(),
        (expected, Value::String(text)) => read_as(expected, &text),
        (_, actual) => actual,
    }
}

/// Reads a text as JSON if JSON is expected.
fn read_as(expected: &Value, text: &str) -> Value {
    match (expected, serde_json::from_str(text)) {
        (Value::String(_), _) | (_, Err(_)) => text.into(),
        (_, Ok(value)) => value,
    }
}
