//! A task from a tree of texts. Types are settled here, with the place of every mistake; what must hold beyond them is a
//! rule of the core.
use std::collections::BTreeMap;

use ralph_core::criterion::CheckCommand;
use ralph_core::duration::DurationError;
use ralph_core::isolation::Isolation;
use ralph_core::task::{
    Approval, CheckFor, CompletionSpec, MethodName, OneOrMore, Role, RoleSpec, StageSpec, Status, Task,
    VerificationConfig, WrittenTime, validate,
};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Origin, TaskError};
use ralph_util::yaml::{Content, Entry, Node};

const TASK: &[&str] = &[
    "id",
    "spec_id",
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
const COMPLETION: &[&str] = &[
    "outcome",
    "acceptance_criteria",
    "guard",
    "allow_changes",
    "isolation",
    "coder",
    "reviewer",
    "tester",
    "qa",
];
const ROLE: &[&str] =
    &["promise", "description", "verification_method", "verification_config", "max_iterations"];
const STAGE: &[&str] = &["name", "method", "config", "required"];

/// Returns where a field of this name stands, for whoever wrote it a level too high or too low.
pub(super) fn home(name: &str) -> Option<&'static str> {
    let homes: [(&[&str], &str); 4] = [
        (TASK, "the task itself"),
        (COMPLETION, "completion"),
        (ROLE, "a role, such as completion.coder"),
        (&VerificationConfig::names(), "verification_config, or the config of a stage"),
    ];
    homes.iter().find(|(names, _)| names.contains(&name)).map(|(_, home)| *home)
}

/// A task that was read, and where it stands.
#[derive(Debug, Clone)]
pub struct Read {
    pub task: Task,
    pub metadata: Map<String, Value>,
    /// What the file says of it.
    pub approval: Approval,
    pub origin: Origin,
}

/// Reads a task and holds it against the rules.
pub(super) fn task(node: &Node, file: &str) -> Result<Read, TaskError> {
    let read = draft(node, file)?;
    for (field, value) in [("id", &read.task.id), ("title", &read.task.title)] {
        if value.is_empty() {
            let what = format!("{field}: it is missing, and every task has one");
            return Err(TaskError::new(read.origin.place(), &what).hint(format!("write `{field}: …`")));
        }
    }
    validate(&read.task).map_err(|problem| read.origin.refuse(&problem))?;
    Ok(read)
}

/// Reads what is written of a task: id and title may be missing.
pub(super) fn draft(node: &Node, file: &str) -> Result<Read, TaskError> {
    let fields = Fields::of(node, file, "", TASK)?;
    let completion = fields.get("completion").map(|node| completion_spec(node, file)).transpose()?;
    let statuses = Status::ALL.map(Status::as_str);
    let task = Task {
        id: fields.text("id")?.unwrap_or_default(),
        spec_id: fields.text("spec_id")?,
        title: fields.text("title")?.unwrap_or_default(),
        description: fields.text("description")?,
        status: fields.choice("status", Status::parse, &statuses)?.unwrap_or_default(),
        priority: fields.count("priority")?,
        dependencies: fields.texts("dependencies")?,
        assignee: fields.text("assignee")?,
        completion,
    };
    Ok(Read {
        task,
        metadata: metadata(&fields)?,
        approval: approval(&fields)?,
        origin: Origin::of(file, node),
    })
}

fn metadata(fields: &Fields<'_>) -> Result<Map<String, Value>, TaskError> {
    match fields.get("metadata").map(value) {
        None => Ok(Map::new()),
        Some(Value::Object(metadata)) => Ok(metadata),
        Some(_) => Err(fields.refuse("metadata", "a table is expected")),
    }
}

/// A task that was not approved where it was written is not approved here either.
fn approval(fields: &Fields<'_>) -> Result<Approval, TaskError> {
    Ok(match fields.flag("approved")? {
        Some(false) => Approval::Awaited,
        Some(true) | None => Approval::Given,
    })
}

/// Reads what done means.
fn completion_spec(node: &Node, file: &str) -> Result<CompletionSpec, TaskError> {
    let fields = Fields::of(node, file, "completion", COMPLETION)?;
    let missing = |name: &str| {
        fields.refuse(name, "it is missing").hint("outcome and acceptance_criteria say when a task is done")
    };
    let mut spec = CompletionSpec {
        outcome: fields.text("outcome")?.ok_or_else(|| missing("outcome"))?,
        acceptance_criteria: fields
            .texts("acceptance_criteria")?
            .ok_or_else(|| missing("acceptance_criteria"))?,
        guard: fields.texts("guard")?,
        allow_changes: fields.texts("allow_changes")?,
        isolation: fields.choice("isolation", Isolation::parse, &Isolation::ALL.map(Isolation::as_str))?,
        ..CompletionSpec::default()
    };
    for role in Role::KNOWN {
        let block = fields.get(role.as_str()).map(|node| role_spec(node, file, &role)).transpose()?;
        if let (Some(place), Some(block)) = (spec.place_of(&role), block) {
            *place = Some(block);
        }
    }
    Ok(spec)
}

fn role_spec(node: &Node, file: &str, role: &Role) -> Result<RoleSpec, TaskError> {
    let path = format!("completion.{role}");
    let fields = Fields::of(node, file, &path, ROLE)?;
    let config = fields.get("verification_config");
    let config = config.map(|node| verification_config(node, file, &fields.path("verification_config")));
    Ok(RoleSpec {
        promise: fields.text("promise")?,
        description: fields.text("description")?,
        verification_method: method(&fields, "verification_method")?,
        verification_config: config.transpose()?,
        max_iterations: fields.count("max_iterations")?,
    })
}

fn method(fields: &Fields<'_>, name: &str) -> Result<Option<MethodName>, TaskError> {
    fields.choice(name, MethodName::parse, &MethodName::ALL.map(MethodName::as_str))
}

/// Reads how something is verified. `path` is where that stands.
pub(super) fn verification_config(
    node: &Node,
    file: &str,
    path: &str,
) -> Result<VerificationConfig, TaskError> {
    let fields = Fields::of(node, file, path, &VerificationConfig::names())?;
    let stages = fields.list("stages")?.map(|items| {
        let stage = |(at, item)| stage_spec(item, file, &format!("{path}.stages.{at}"));
        items.iter().enumerate().map(stage).collect::<Result<Vec<_>, _>>()
    });
    Ok(VerificationConfig {
        command: command(&fields)?,
        success_exit_code: exit_code(&fields)?,
        output_contains: fields.text("output_contains")?,
        output_not_contains: fields.text("output_not_contains")?,
        timeout: timeout(&fields)?,
        working_dir: fields.text("working_dir")?,
        env: fields.table("env")?,
        check_for: check_for(&fields)?,
        negative_patterns: fields.texts("negative_patterns")?,
        model: fields.text("model")?,
        require_all: fields.flag("require_all")?,
        parallel: fields.flag("parallel")?,
        stages: stages.transpose()?,
        plugin: fields.text("plugin")?,
        config: fields.get("config").map(|node| value(node).to_string()),
        retries: fields.count("retries")?,
        template: fields.text("template")?,
        with: fields.get("with").map(|node| values(node, file, &fields.path("with"))).transpose()?,
    })
}

fn timeout(fields: &Fields<'_>) -> Result<Option<WrittenTime>, TaskError> {
    let Some(text) = fields.any_text("timeout")? else { return Ok(None) };
    let refused = |error: DurationError| {
        fields.refuse("timeout", &error.to_string()).hint("such as 5m, or 300 for seconds")
    };
    WrittenTime::parse(&text).map(Some).map_err(refused)
}

fn exit_code(fields: &Fields<'_>) -> Result<Option<i32>, TaskError> {
    let Some(text) = fields.number("success_exit_code")? else { return Ok(None) };
    let code = text.parse().ok().filter(|code| (0..=255).contains(code));
    let refused = || {
        let what = format!("{text:?} is no exit code: it is a whole number between 0 and 255");
        fields
            .refuse("success_exit_code", &what)
            .hint("0 means success; a program that a signal ended has none")
    };
    code.ok_or_else(refused).map(Some)
}

fn stage_spec(node: &Node, file: &str, path: &str) -> Result<StageSpec, TaskError> {
    let fields = Fields::of(node, file, path, STAGE)?;
    let config = fields.get("config").map(|node| verification_config(node, file, &fields.path("config")));
    Ok(StageSpec {
        name: fields.text("name")?,
        method: method(&fields, "method")?,
        config: config.transpose()?,
        required: fields.flag("required")?,
    })
}

/// A text is the shell's, a list is a program with its arguments.
fn command(fields: &Fields<'_>) -> Result<Option<CheckCommand>, TaskError> {
    match fields.get("command").map(|node| &node.content) {
        None => Ok(None),
        Some(Content::List(_)) => Ok(fields.texts("command")?.map(CheckCommand::Argv)),
        Some(Content::Nothing | Content::Text(_) | Content::Map(_)) => {
            Ok(fields.text("command")?.map(CheckCommand::Shell))
        }
    }
}

fn check_for(fields: &Fields<'_>) -> Result<Option<CheckFor>, TaskError> {
    match fields.get("check_for").map(|node| &node.content) {
        None => Ok(None),
        Some(Content::Text(_)) => Ok(fields.text("check_for")?.map(CheckFor::Text)),
        Some(Content::Nothing | Content::List(_) | Content::Map(_)) => {
            Ok(fields.texts("check_for")?.map(CheckFor::List))
        }
    }
}

/// Reads the values of a template's parameters: one, or a list.
fn values(node: &Node, file: &str, path: &str) -> Result<BTreeMap<String, OneOrMore>, TaskError> {
    let fields = Fields::any(node, file, path)?;
    let value = |entry: &Entry| -> Result<(String, OneOrMore), TaskError> {
        let name = entry.key.as_str();
        let value = match &entry.node.content {
            Content::List(_) => OneOrMore::More(fields.any_texts(name)?.unwrap_or_default()),
            Content::Nothing | Content::Text(_) | Content::Map(_) => {
                let missing = || fields.refuse(name, "it has no value: a text or a list is expected");
                OneOrMore::One(fields.any_text(name)?.ok_or_else(missing)?)
            }
        };
        Ok((name.to_owned(), value))
    };
    fields.entries().iter().map(value).collect()
}

/// Returns a tree as JSON: what is not in quotation marks may be a number or a truth value.
fn value(node: &Node) -> Value {
    match &node.content {
        Content::Nothing => Value::Null,
        Content::Text(text) if node.written.is_bare() => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Content::Text(text) => Value::String(text.clone()),
        Content::List(items) => items.iter().map(value).collect(),
        Content::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), value(&entry.node))).collect::<Map<_, _>>().into()
        }
    }
}
