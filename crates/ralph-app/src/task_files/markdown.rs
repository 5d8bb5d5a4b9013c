//! Parses Markdown checklists: each top-level item is a task, the indented items below it are its acceptance criteria.
use ralph_core::task::{Approval, CompletionSpec, Task, TaskStatus, is_valid_id, to_slug, validate_task};
use serde_json::Map;

use super::file::ParsedTasks;
use super::{ParsedTask, TaskError, TaskOrigin};

/// Parses the checklists of a text. Items that look like tasks but are not cause warnings.
pub(super) fn parse_checklist(text: &str, file: &str) -> Result<ParsedTasks, TaskError> {
    let mut found: Vec<ChecklistItem<'_>> = Vec::new();
    let mut warnings = Vec::new();
    let mut code: Option<CodeBlockMarker> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1_u64..) {
        if let Some(fence) = CodeBlockMarker::from_line(line) {
            code = match code {
                None => Some(fence),
                Some(open) if fence.closes_block(open) => None,
                Some(open) => Some(open),
            };
            continue;
        }
        match (code, classify_line(line)) {
            (Some(_), _) | (None, ChecklistLine::Other) => {}
            (None, ChecklistLine::Task { is_done, text: words }) => {
                found.push(ChecklistItem { line: number, is_done, text: words, outcome: None, criteria: Vec::new() });
            }
            (None, ChecklistLine::Nested(words)) => {
                if let Some(item) = found.last_mut() {
                    item.add_nested_item(words);
                }
            }
            (None, ChecklistLine::UnknownBox(found_box)) => {
                warnings.push(format!("{file}:{number}: {found_box} is not a checkbox: write [ ] or [x]"));
            }
        }
    }
    if found.is_empty() {
        return Err(TaskError::new(file, "the file contains no checklist")
            .with_hint("write tasks as `- [ ] TASK-001: title`, with acceptance criteria indented below"));
    }
    let tasks = found.into_iter().map(|item| item.into_parsed_task(file)).collect::<Result<_, _>>()?;
    Ok(ParsedTasks { tasks, warnings })
}

/// A line that opens or closes a code block.
#[derive(Clone, Copy)]
struct CodeBlockMarker {
    character: char,
    length: usize,
    is_bare: bool,
}

impl CodeBlockMarker {
    fn from_line(line: &str) -> Option<Self> {
        let line = line.trim();
        let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
        let length = line.chars().take_while(|c| *c == sign).count();
        (length >= 3).then_some(Self { character: sign, length, is_bare: line.len() == length })
    }

    fn closes_block(self, open: Self) -> bool {
        self.character == open.character && self.length >= open.length && self.is_bare
    }
}

/// The meaning of a line.
enum ChecklistLine<'a> {
    Task {
        is_done: bool,
        text: &'a str,
    },
    /// An item below a task.
    Nested(&'a str),
    /// An item with an unknown checkbox, such as `[-]`.
    UnknownBox(&'a str),
    Other,
}

fn classify_line(line: &str) -> ChecklistLine<'_> {
    let trimmed = line.trim_start();
    let Some(item) = strip_bullet(trimmed) else { return ChecklistLine::Other };
    let item = item.trim();
    let (is_done, words) = match (item.strip_prefix("[ ]"), item.get(..3).map(str::to_ascii_lowercase)) {
        (Some(words), _) => (Some(false), words),
        (None, Some(mark)) if mark == "[x]" => (Some(true), item.get(3..).unwrap_or_default()),
        (None, _) => (None, item),
    };
    match (is_done, trimmed.len() < line.len()) {
        (Some(is_done), false) => ChecklistLine::Task { is_done, text: words.trim() },
        (Some(_) | None, true) => ChecklistLine::Nested(words.trim()),
        (None, false) => find_unknown_box(item).map_or(ChecklistLine::Other, ChecklistLine::UnknownBox),
    }
}

/// Returns the text after `-`, `*`, `+`, `1.` or `1)`.
fn strip_bullet(line: &str) -> Option<&str> {
    let plain = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    plain.or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = (1..=9).contains(&(line.len() - rest.len()));
        [". ", ") "].iter().find_map(|sign| rest.strip_prefix(sign)).filter(|_| is_number)
    })
}

/// Returns an unknown checkbox such as `[-]` at the beginning of an item. A link, `[text](url)`, is not one.
fn find_unknown_box(item: &str) -> Option<&str> {
    let (inside, rest) = item.strip_prefix('[')?.split_once(']')?;
    let is_box = inside.chars().count() <= 1 && (rest.is_empty() || rest.starts_with(' '));
    is_box.then(|| item.get(..inside.len() + 2)).flatten()
}

struct ChecklistItem<'a> {
    line: u64,
    is_done: bool,
    text: &'a str,
    outcome: Option<&'a str>,
    criteria: Vec<&'a str>,
}

impl<'a> ChecklistItem<'a> {
    fn add_nested_item(&mut self, text: &'a str) {
        match text.split_once(':') {
            Some((name, rest)) if name.eq_ignore_ascii_case("outcome") => self.outcome = Some(rest.trim()),
            Some(_) | None => self.criteria.push(text),
        }
    }

    fn into_parsed_task(self, file: &str) -> Result<ParsedTask, TaskError> {
        let (id, title) = self.id_and_title();
        let criteria = if self.criteria.is_empty() { vec![title] } else { self.criteria.clone() };
        let completion = CompletionSpec {
            outcome: self.outcome.unwrap_or(title).to_owned(),
            acceptance_criteria: criteria.into_iter().map(str::to_owned).collect(),
            ..CompletionSpec::default()
        };
        let task = Task {
            id,
            title: title.to_owned(),
            status: if self.is_done { TaskStatus::Done } else { TaskStatus::Todo },
            completion: Some(completion),
            ..Task::default()
        };
        let origin = TaskOrigin::from_line(file, self.line);
        validate_task(&task).map_err(|problem| origin.locate_problem(&problem))?;
        Ok(ParsedTask { task, metadata: Map::new(), approval: Approval::Granted, origin })
    }

    /// Splits `TASK-001: title`, also in bold. Without an id, one is made from the title.
    fn id_and_title(&self) -> (String, &'a str) {
        let plain = self.text.trim_start_matches("**").trim_start_matches('`');
        if let Some((id, title)) = plain.split_once(':') {
            let id = id.trim_matches(['*', '`', ' ']);
            let title = title.trim_matches(['*', '`', ' ']);
            let has_digit = id.bytes().any(|byte| byte.is_ascii_digit());
            if is_valid_id(id) && has_digit && !title.is_empty() {
                return (id.to_owned(), title);
            }
        }
        let slug = to_slug(self.text);
        let id = if slug.is_empty() { format!("task-{}", self.line) } else { slug };
        (id, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T4
    fn items_are_tasks_and_nested_items_are_acceptance_criteria() {
        let text = "# Auth\n\n- [ ] TASK-001: Add a login\n  - Outcome: people can log in\n  - [ ] it returns a token\n\
                    \x20 - [x] 401 for bad passwords\n* [X] **T2:** Write: docs\n- [ ] Tidy up the API!\n- no task\n\
                    ```\n- [ ] no task either\n```\n";
        let ParsedTasks { tasks, warnings } = parse_checklist(text, "todo.md").unwrap();
        assert!(warnings.is_empty());
        let short: Vec<_> = tasks
            .iter()
            .map(|read| (read.task.id.as_str(), read.task.title.as_str(), read.task.status, read.origin.task_place()))
            .collect();
        assert_eq!(
            short,
            [
                ("TASK-001", "Add a login", TaskStatus::Todo, "todo.md:3:1".to_owned()),
                ("T2", "Write: docs", TaskStatus::Done, "todo.md:7:1".to_owned()),
                ("tidy-up-the-api", "Tidy up the API!", TaskStatus::Todo, "todo.md:8:1".to_owned()),
            ]
        );
        let spec = tasks[0].task.completion.clone().unwrap();
        assert_eq!(spec.outcome, "people can log in");
        assert_eq!(spec.acceptance_criteria, ["it returns a token", "401 for bad passwords"]);
        let alone = tasks[2].task.completion.clone().unwrap();
        assert_eq!(
            (alone.outcome.as_str(), alone.acceptance_criteria),
            ("Tidy up the API!", vec!["Tidy up the API!".to_owned()])
        );
    }

    #[test] // spec: T4
    fn a_text_without_a_checklist_and_an_item_without_a_title_are_refused() {
        assert_eq!(
            parse_checklist("# Plan\n\ntext\n", "a.md").unwrap_err().to_string(),
            "a.md: the file contains no checklist"
        );
        let refused = parse_checklist("- [ ] One\n- [ ]\n", "a.md").unwrap_err();
        assert_eq!(refused.to_string(), "a.md:2:1: title: it is empty");
    }

    #[test] // spec: T4
    fn numbered_items_are_tasks_and_code_blocks_contain_none() {
        let text = "1. [ ] T1: One\n   2) nested\n23) [x] T2: Two\n~~~sh\n- [ ] T3: no\n```\n- [ ] T4: no\n~~~\n- [ ] T5: Five\n";
        let ParsedTasks { tasks, warnings } = parse_checklist(text, "a.md").unwrap();
        let ids: Vec<_> = tasks.iter().map(|read| read.task.id.as_str()).collect();
        assert_eq!(ids, ["T1", "T2", "T5"]);
        assert_eq!(tasks[0].task.completion.as_ref().unwrap().acceptance_criteria, ["nested"]);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test] // spec: T4
    fn an_unknown_box_is_reported_with_its_line() {
        let text = "- [ ] T1: One\n- [-] T2: dropped?\n- [a link](b)\n- [] T3: no\n- [~]\n";
        let ParsedTasks { tasks, warnings } = parse_checklist(text, "a.md").unwrap();
        assert_eq!(tasks.len(), 1);
        assert_eq!(
            warnings,
            [
                "a.md:2: [-] is not a checkbox: write [ ] or [x]",
                "a.md:4: [] is not a checkbox: write [ ] or [x]",
                "a.md:5: [~] is not a checkbox: write [ ] or [x]",
            ]
        );
    }

    #[test] // spec: T4
    fn a_title_without_a_usable_slug_gets_an_id_from_its_line() {
        let ParsedTasks { tasks, .. } = parse_checklist("# 計画\n- [ ] 日本\n", "a.md").unwrap();
        assert_eq!((tasks[0].task.id.as_str(), tasks[0].task.title.as_str()), ("task-2", "日本"));
    }
}
