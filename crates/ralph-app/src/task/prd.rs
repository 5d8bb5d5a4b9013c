//! `prd.json`: user stories, as many agents write and read them.
use ralph_core::task::{Approval, CompletionSpec, Problem, Status, Task, validate};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Origin, Read, TaskError};
use ralph_util::yaml::{Content, Node};

/// What tells such a file from others.
pub(super) const STORIES: &str = "userStories";

const STORY: &[&str] =
    &["id", "title", "description", "acceptanceCriteria", "priority", "passes", "notes", "dependsOn"];

/// The stories, and what was not understood.
pub(super) struct Stories {
    pub(super) tasks: Vec<Read>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn stories(node: &Node, file: &str) -> Result<Stories, TaskError> {
    let fields = Fields::any(node, file, "")?;
    let items = fields.list(STORIES)?.unwrap_or_default();
    let mut warnings = Vec::new();
    for item in items {
        let unknown = Fields::any(item, file, "")?.entries().iter();
        for entry in unknown.filter(|entry| !STORY.contains(&entry.key.as_str())) {
            let warning = format!("{file}: the field {} of a story is not read", entry.key);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let tasks = items.iter().map(|item| story(item, file)).collect::<Result<_, _>>()?;
    Ok(Stories { tasks, warnings })
}

fn story(node: &Node, file: &str) -> Result<Read, TaskError> {
    let fields = Fields::any(node, file, "")?;
    let missing = |name: &str, hint: &str| fields.refuse(name, "it is missing").hint(hint);
    let title = fields.text("title")?.ok_or_else(|| missing("title", "every story has one"))?;
    let description = fields.text("description")?;
    let criteria = fields.texts("acceptanceCriteria")?;
    let completion = CompletionSpec {
        outcome: description.clone().filter(|text| !text.trim().is_empty()).unwrap_or_else(|| title.clone()),
        acceptance_criteria: criteria
            .ok_or_else(|| missing("acceptanceCriteria", "list what must be true when the story is done"))?,
        ..CompletionSpec::default()
    };
    let passes = fields.flag("passes")?.unwrap_or(false);
    let task = Task {
        id: fields.text("id")?.ok_or_else(|| missing("id", "every story has one, such as US-001"))?,
        title,
        description,
        status: if passes { Status::Done } else { Status::Todo },
        priority: fields.count("priority")?,
        dependencies: fields.texts("dependsOn")?,
        completion: Some(completion),
        ..Task::default()
    };
    validate(&task).map_err(|problem| Origin::of(file, node).refuse(&in_its_words(problem)))?;
    Ok(Read {
        task,
        metadata: notes(&fields)?,
        approval: Approval::Given,
        origin: Origin::of(file, &in_our_words(node)),
    })
}

fn notes(fields: &Fields<'_>) -> Result<Map<String, Value>, TaskError> {
    let notes = fields.text("notes")?.filter(|notes| !notes.is_empty());
    Ok(notes.map(|notes| ("notes".to_owned(), Value::String(notes))).into_iter().collect())
}

/// Names a field as the file calls it.
fn in_its_words(problem: Problem) -> Problem {
    let field = problem.field.replace("completion.acceptance_criteria", "acceptanceCriteria");
    let field = field.replace("completion.outcome", "description").replace("dependencies", "dependsOn");
    Problem { field, ..problem }
}

/// Names what later errors point at as tasks call it.
fn in_our_words(node: &Node) -> Node {
    let mut node = node.clone();
    if let Content::Map(entries) = &mut node.content {
        entries
            .iter_mut()
            .filter(|entry| entry.key == "dependsOn")
            .for_each(|entry| entry.key = "dependencies".to_owned());
    }
    node
}
