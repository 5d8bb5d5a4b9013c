//! Parses `prd.json`: user stories in the format that several agents use.
use ralph_core::task::{Approval, CompletionSpec, Task, TaskProblem, TaskStatus, validate_task};
use serde_json::{Map, Value};

use super::fields::FieldTable;
use super::{ParsedTask, TaskError, TaskOrigin};
use ralph_util::yaml::{DocumentNode, NodeContent};

/// The key by which such a file is recognized.
pub(super) const STORIES_KEY: &str = "userStories";

const STORY_FIELDS: &[&str] =
    &["id", "title", "description", "acceptanceCriteria", "priority", "passes", "notes", "dependsOn"];

/// The stories as tasks, with warnings about unknown fields.
pub(super) struct ParsedStories {
    pub(super) tasks: Vec<ParsedTask>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn parse_stories(node: &DocumentNode, file: &str) -> Result<ParsedStories, TaskError> {
    let fields = FieldTable::with_any_fields(node, file, "")?;
    let items = fields.read_list(STORIES_KEY)?.unwrap_or_default();
    let mut warnings = Vec::new();
    for item in items {
        let unknown = FieldTable::with_any_fields(item, file, "")?.entries().iter();
        for entry in unknown.filter(|entry| !STORY_FIELDS.contains(&entry.key.as_str())) {
            let warning = format!("{file}: unknown field {} of a story is ignored", entry.key);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let tasks = items.iter().map(|item| parse_story(item, file)).collect::<Result<_, _>>()?;
    Ok(ParsedStories { tasks, warnings })
}

fn parse_story(node: &DocumentNode, file: &str) -> Result<ParsedTask, TaskError> {
    let fields = FieldTable::with_any_fields(node, file, "")?;
    let missing = |name: &str, hint: &str| fields.field_error(name, "required field is missing").with_hint(hint);
    let title = fields.read_text("title")?.ok_or_else(|| missing("title", "every story needs a title"))?;
    let description = fields.read_text("description")?;
    let criteria = fields.read_texts("acceptanceCriteria")?;
    let completion = CompletionSpec {
        outcome: description.clone().filter(|text| !text.trim().is_empty()).unwrap_or_else(|| title.clone()),
        acceptance_criteria: criteria
            .ok_or_else(|| missing("acceptanceCriteria", "list what must be true when the story is done"))?,
        ..CompletionSpec::default()
    };
    let passes = fields.read_flag("passes")?.unwrap_or(false);
    let task = Task {
        id: fields.read_text("id")?.ok_or_else(|| missing("id", "every story needs an id, such as US-001"))?,
        title,
        description,
        status: if passes { TaskStatus::Done } else { TaskStatus::Todo },
        priority: fields.read_count("priority")?,
        dependencies: fields.read_texts("dependsOn")?,
        completion: Some(completion),
        ..Task::default()
    };
    validate_task(&task)
        .map_err(|problem| TaskOrigin::from_node(file, node).locate_problem(&with_prd_field_name(problem)))?;
    Ok(ParsedTask {
        task,
        metadata: notes_metadata(&fields)?,
        approval: Approval::Granted,
        origin: TaskOrigin::from_node(file, &with_task_field_names(node)),
    })
}

fn notes_metadata(fields: &FieldTable<'_>) -> Result<Map<String, Value>, TaskError> {
    let notes = fields.read_text("notes")?.filter(|notes| !notes.is_empty());
    Ok(notes.map(|notes| ("notes".to_owned(), Value::String(notes))).into_iter().collect())
}

/// Renames the field of a problem to its `prd.json` name.
fn with_prd_field_name(problem: TaskProblem) -> TaskProblem {
    let field = problem.field.replace("completion.acceptance_criteria", "acceptanceCriteria");
    let field = field.replace("completion.outcome", "description").replace("dependencies", "dependsOn");
    TaskProblem { field, ..problem }
}

/// Renames `dependsOn` to its task field name, so that later errors find its position.
fn with_task_field_names(node: &DocumentNode) -> DocumentNode {
    let mut node = node.clone();
    if let NodeContent::Map(entries) = &mut node.content {
        entries
            .iter_mut()
            .filter(|entry| entry.key == "dependsOn")
            .for_each(|entry| entry.key = "dependencies".to_owned());
    }
    node
}
