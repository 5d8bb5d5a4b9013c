//! Builds tasks from a document tree. This file checks fields and types, with positions for errors; `ralph_core` checks
//! all other rules.
use std::collections::BTreeMap;

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::CheckCommand;
use ralph_core::duration::DurationError;
use ralph_core::task::{
    Approval, CheckForSpec, CompletionSpec, MethodName, OneOrMany, Role, RoleSpec, StageSpec, Task, TaskStatus,
    TimeoutSpec, VerificationConfig, validate_task,
};
use serde_json::{Map, Value};

use super::fields::FieldTable;
use super::{TaskError, TaskOrigin};
use ralph_util::yaml::{DocumentNode, MapEntry, NodeContent};

const TASK_FIELDS: &[&str] = &[
    "id",
    "spec_id",
    "spec_file",
    "title",
    "description",
    "status",
    "priority",
    "dependencies",
    "assignee",
    "metadata",
    "approved",
    "completion",
];
const COMPLETION_FIELDS: &[&str] =
    &["outcome", "acceptance_criteria", "guard", "allow_changes", "isolation", "coder", "reviewer", "tester", "qa"];
const ROLE_FIELDS: &[&str] =
    &["promise", "description", "verification_method", "verification_config", "max_iterations"];
const STAGE_FIELDS: &[&str] = &["name", "method", "config", "required"];

/// Returns the table that a field belongs to, for hints about a field at the wrong level.
pub(super) fn find_parent_table(name: &str) -> Option<&'static str> {
    let parents: [(&[&str], &str); 4] = [
        (TASK_FIELDS, "the task itself"),
        (COMPLETION_FIELDS, "completion"),
        (ROLE_FIELDS, "a role, such as completion.coder"),
        (&VerificationConfig::field_names(), "verification_config, or the config of a stage"),
    ];
    parents.iter().find(|(names, _)| names.contains(&name)).map(|(_, parent)| *parent)
}

/// A parsed task with its origin.
#[derive(Debug, Clone)]
pub struct ParsedTask {
    pub task: Task,
    pub metadata: Map<String, Value>,
    /// The approval state in the file.
    pub approval: Approval,
    pub origin: TaskOrigin,
}

/// Parses and validates a task.
pub(super) fn parse_task(node: &DocumentNode, file: &str) -> Result<ParsedTask, TaskError> {
    let read = parse_draft(node, file)?;
    for (field, value) in [("id", &read.task.id), ("title", &read.task.title)] {
        if value.is_empty() {
            let message = format!("{field}: required field is missing");
            return Err(TaskError::new(read.origin.task_place(), &message).with_hint(format!("write `{field}: …`")));
        }
    }
    validate_task(&read.task).map_err(|problem| read.origin.locate_problem(&problem))?;
    Ok(read)
}

/// Parses a task without validation. Its id and title may be missing.
pub(super) fn parse_draft(node: &DocumentNode, file: &str) -> Result<ParsedTask, TaskError> {
    let fields = FieldTable::with_known_fields(node, file, "", TASK_FIELDS)?;
    let completion = fields.get("completion").map(|node| parse_completion_spec(node, file)).transpose()?;
    let statuses = TaskStatus::ALL.map(TaskStatus::as_str);
    let task = Task {
        id: fields.read_text("id")?.unwrap_or_default(),
        spec_id: fields.read_text("spec_id")?,
        spec_file: fields.read_text("spec_file")?,
        title: fields.read_text("title")?.unwrap_or_default(),
        description: fields.read_text("description")?,
        status: fields.read_choice("status", TaskStatus::parse, &statuses)?.unwrap_or_default(),
        priority: fields.read_count("priority")?,
        dependencies: fields.read_texts("dependencies")?,
        assignee: fields.read_text("assignee")?,
        completion,
    };
    Ok(ParsedTask {
        task,
        metadata: read_metadata(&fields)?,
        approval: read_approval(&fields)?,
        origin: TaskOrigin::from_node(file, node),
    })
}

fn read_metadata(fields: &FieldTable<'_>) -> Result<Map<String, Value>, TaskError> {
    match fields.get("metadata").map(node_to_json) {
        None => Ok(Map::new()),
        Some(Value::Object(metadata)) => Ok(metadata),
        Some(_) => Err(fields.field_error("metadata", "expected a table")),
    }
}

/// Keeps `approved: false` of the file: a pending task stays pending after the import.
fn read_approval(fields: &FieldTable<'_>) -> Result<Approval, TaskError> {
    Ok(match fields.read_flag("approved")? {
        Some(false) => Approval::Pending,
        Some(true) | None => Approval::Granted,
    })
}

/// Parses the completion criteria of a task.
fn parse_completion_spec(node: &DocumentNode, file: &str) -> Result<CompletionSpec, TaskError> {
    let fields = FieldTable::with_known_fields(node, file, "completion", COMPLETION_FIELDS)?;
    let missing = |name: &str| {
        fields
            .field_error(name, "required field is missing")
            .with_hint("a completion needs outcome and acceptance_criteria")
    };
    let mut spec = CompletionSpec {
        outcome: fields.read_text("outcome")?.ok_or_else(|| missing("outcome"))?,
        acceptance_criteria: fields.read_texts("acceptance_criteria")?.ok_or_else(|| missing("acceptance_criteria"))?,
        guard: fields.read_texts("guard")?,
        allow_changes: fields.read_texts("allow_changes")?,
        isolation: fields.read_choice(
            "isolation",
            CheckIsolation::parse,
            &CheckIsolation::ALL.map(CheckIsolation::as_str),
        )?,
        ..CompletionSpec::default()
    };
    for role in Role::BUILT_IN {
        let block = fields.get(role.as_str()).map(|node| parse_role_spec(node, file, &role)).transpose()?;
        if let (Some(place), Some(block)) = (spec.role_spec_mut(&role), block) {
            *place = Some(block);
        }
    }
    Ok(spec)
}

fn parse_role_spec(node: &DocumentNode, file: &str, role: &Role) -> Result<RoleSpec, TaskError> {
    let path = format!("completion.{role}");
    let fields = FieldTable::with_known_fields(node, file, &path, ROLE_FIELDS)?;
    let config = fields.get("verification_config");
    let config = config.map(|node| parse_verification_config(node, file, &fields.field_path("verification_config")));
    Ok(RoleSpec {
        promise: fields.read_text("promise")?,
        description: fields.read_text("description")?,
        verification_method: read_method(&fields, "verification_method")?,
        verification_config: config.transpose()?,
        max_iterations: fields.read_count("max_iterations")?,
    })
}

fn read_method(fields: &FieldTable<'_>, name: &str) -> Result<Option<MethodName>, TaskError> {
    fields.read_choice(name, MethodName::parse, &MethodName::ALL.map(MethodName::as_str))
}

/// Parses a verification config. `path` is the path of its table.
pub(super) fn parse_verification_config(
    node: &DocumentNode,
    file: &str,
    path: &str,
) -> Result<VerificationConfig, TaskError> {
    let fields = FieldTable::with_known_fields(node, file, path, &VerificationConfig::field_names())?;
    let stages = fields.read_list("stages")?.map(|items| {
        let stage = |(at, item)| parse_stage_spec(item, file, &format!("{path}.stages.{at}"));
        items.iter().enumerate().map(stage).collect::<Result<Vec<_>, _>>()
    });
    Ok(VerificationConfig {
        command: read_command(&fields)?,
        success_exit_code: read_exit_code(&fields)?,
        output_contains: fields.read_text("output_contains")?,
        output_not_contains: fields.read_text("output_not_contains")?,
        timeout: read_timeout(&fields)?,
        working_dir: fields.read_text("working_dir")?,
        env: fields.read_table("env")?,
        check_for: read_check_for(&fields)?,
        negative_patterns: fields.read_texts("negative_patterns")?,
        model: fields.read_text("model")?,
        require_all: fields.read_flag("require_all")?,
        parallel: fields.read_flag("parallel")?,
        stages: stages.transpose()?,
        plugin: fields.read_text("plugin")?,
        config: fields.get("config").map(|node| node_to_json(node).to_string()),
        retries: fields.read_count("retries")?,
        template: fields.read_text("template")?,
        with: fields
            .get("with")
            .map(|node| read_template_values(node, file, &fields.field_path("with")))
            .transpose()?,
    })
}

fn read_timeout(fields: &FieldTable<'_>) -> Result<Option<TimeoutSpec>, TaskError> {
    let Some(text) = fields.read_any_text("timeout")? else { return Ok(None) };
    let refused = |error: DurationError| {
        fields.field_error("timeout", &error.to_string()).with_hint("such as 5m, or 300 for seconds")
    };
    TimeoutSpec::parse(&text).map(Some).map_err(refused)
}

fn read_exit_code(fields: &FieldTable<'_>) -> Result<Option<i32>, TaskError> {
    let Some(text) = fields.read_number("success_exit_code")? else { return Ok(None) };
    let code = text.parse().ok().filter(|code| (0..=255).contains(code));
    let refused = || {
        let message = format!("{text:?} is not an exit code: expected a whole number between 0 and 255");
        fields
            .field_error("success_exit_code", &message)
            .with_hint("0 means success; a program killed by a signal has no exit code")
    };
    code.ok_or_else(refused).map(Some)
}

fn parse_stage_spec(node: &DocumentNode, file: &str, path: &str) -> Result<StageSpec, TaskError> {
    let fields = FieldTable::with_known_fields(node, file, path, STAGE_FIELDS)?;
    let config = fields.get("config").map(|node| parse_verification_config(node, file, &fields.field_path("config")));
    Ok(StageSpec {
        name: fields.read_text("name")?,
        method: read_method(&fields, "method")?,
        config: config.transpose()?,
        required: fields.read_flag("required")?,
    })
}

/// Reads a command: a string is run by the shell, a list is a program and its arguments.
fn read_command(fields: &FieldTable<'_>) -> Result<Option<CheckCommand>, TaskError> {
    match fields.get("command").map(|node| &node.content) {
        None => Ok(None),
        Some(NodeContent::List(_)) => Ok(fields.read_texts("command")?.map(CheckCommand::Argv)),
        Some(NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_)) => {
            Ok(fields.read_text("command")?.map(CheckCommand::Shell))
        }
    }
}

fn read_check_for(fields: &FieldTable<'_>) -> Result<Option<CheckForSpec>, TaskError> {
    match fields.get("check_for").map(|node| &node.content) {
        None => Ok(None),
        Some(NodeContent::Text(_)) => Ok(fields.read_text("check_for")?.map(CheckForSpec::Text)),
        Some(NodeContent::Null | NodeContent::List(_) | NodeContent::Map(_)) => {
            Ok(fields.read_texts("check_for")?.map(CheckForSpec::List))
        }
    }
}

/// Reads the values of a template's parameters: each is a string or a list.
fn read_template_values(node: &DocumentNode, file: &str, path: &str) -> Result<BTreeMap<String, OneOrMany>, TaskError> {
    let fields = FieldTable::with_any_fields(node, file, path)?;
    let value = |entry: &MapEntry| -> Result<(String, OneOrMany), TaskError> {
        let name = entry.key.as_str();
        let value = match &entry.node.content {
            NodeContent::List(_) => OneOrMany::More(fields.read_any_texts(name)?.unwrap_or_default()),
            NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_) => {
                let missing = || fields.field_error(name, "no value: expected a string or a list");
                OneOrMany::One(fields.read_any_text(name)?.ok_or_else(missing)?)
            }
        };
        Ok((name.to_owned(), value))
    };
    fields.entries().iter().map(value).collect()
}

/// Converts a tree to JSON. Unquoted scalars may become numbers or booleans.
fn node_to_json(node: &DocumentNode) -> Value {
    match &node.content {
        NodeContent::Null => Value::Null,
        NodeContent::Text(text) if node.style.is_bare() => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        NodeContent::Text(text) => Value::String(text.clone()),
        NodeContent::List(items) => items.iter().map(node_to_json).collect(),
        NodeContent::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), node_to_json(&entry.node))).collect::<Map<_, _>>().into()
        }
    }
}
