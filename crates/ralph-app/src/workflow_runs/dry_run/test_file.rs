//! Test files of workflows: `NAME.test.yaml` beside `NAME.yaml`, with cases.
use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::stubs::{StubError, read_yaml_file};

/// The keys of a test file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestFile {
    cases: Vec<Value>,
}

/// One case of a test file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestCase {
    pub name: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub inputs: BTreeMap<String, Value>,
    #[serde(default)]
    pub stubs: Value,
    pub expect: Expectation,
}

/// The expectations of a case. Only what it names is compared.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectation {
    /// `completed`, `failed` or `cancelled`.
    pub end: Option<EndName>,
    /// A part of the reason of the end.
    pub reason: Option<String>,
    /// The output of the run.
    pub output: Option<Value>,
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeStateName>,
    #[serde(default)]
    pub outputs: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EndName {
    Completed,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NodeStateName {
    Completed,
    Failed,
    Skipped,
    Pending,
}

impl EndName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl NodeStateName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Pending => "pending",
        }
    }
}

impl Expectation {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A case that cannot be read has its name, as far as it has one, and the reason.
pub(super) type ReadCase = Result<TestCase, (String, String)>;

/// Reads the cases of a test file, broken ones too.
pub(super) fn read_test_file(path: &Path) -> Result<Vec<ReadCase>, StubError> {
    let unreadable = |reason: String| StubError::Unreadable { file: path.display().to_string(), reason };
    let file: TestFile =
        serde_json::from_value(read_yaml_file(path)?).map_err(|error| unreadable(error.to_string()))?;
    if file.cases.is_empty() {
        return Err(unreadable("it has no cases".to_owned()));
    }
    Ok(file.cases.into_iter().enumerate().map(|(position, case)| read_case(position, case)).collect())
}

fn read_case(position: usize, value: Value) -> ReadCase {
    let number = format!("case {}", position + 1);
    let name = value.get("name").and_then(Value::as_str).map_or(number, str::to_owned);
    let case: TestCase = serde_json::from_value(value).map_err(|error| (name.clone(), error.to_string()))?;
    if case.expect.is_empty() {
        return Err((name, "`expect` is empty, so that the case could not fail".to_owned()));
    }
    Ok(case)
}
