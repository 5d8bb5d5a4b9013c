//! Markdown check lists: each item at the edge is a task, what is indented below it says when it is done.
use ralph_core::task::{Approval, CompletionSpec, Problem, Status, Task, is_name, slug, validate};
use serde_json::Map;

use super::{Read, TaskError};

/// Reads the check lists of a text.
pub(super) fn tasks(text: &str, file: &str) -> Result<Vec<Read>, TaskError> {
    let mut found: Vec<Item<'_>> = Vec::new();
    let mut is_code = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1_u64..) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        match (is_code, mark(line)) {
            (true, _) => {}
            (false, Mark::Task { is_done, words }) => {
                found.push(Item { line: number, is_done, words, outcome: None, below: Vec::new() });
            }
            (false, Mark::Below(words)) => {
                if let Some(item) = found.last_mut() {
                    item.add(words);
                }
            }
            (false, Mark::Other) => {}
        }
    }
    if found.is_empty() {
        return Err(TaskError::new(file, "it holds no check list")
            .hint("a task is a line `- [ ] TASK-001: title`; what must be true stands below it, indented"));
    }
    found.into_iter().map(|item| item.task(file)).collect()
}

/// What a line is.
enum Mark<'a> {
    Task {
        is_done: bool,
        words: &'a str,
    },
    /// An item below a task.
    Below(&'a str),
    Other,
}

fn mark(line: &str) -> Mark<'_> {
    let trimmed = line.trim_start();
    let Some(item) = ["- ", "* ", "+ "].iter().find_map(|bullet| trimmed.strip_prefix(bullet)) else {
        return Mark::Other;
    };
    let item = item.trim();
    let (is_done, words) = match (item.strip_prefix("[ ]"), item.get(..3).map(str::to_ascii_lowercase)) {
        (Some(words), _) => (Some(false), words),
        (None, Some(mark)) if mark == "[x]" => (Some(true), item.get(3..).unwrap_or_default()),
        (None, _) => (None, item),
    };
    match (is_done, trimmed.len() < line.len()) {
        (Some(is_done), false) => Mark::Task { is_done, words: words.trim() },
        (Some(_) | None, true) => Mark::Below(words.trim()),
        (None, false) => Mark::Other,
    }
}

struct Item<'a> {
    line: u64,
    is_done: bool,
    words: &'a str,
    outcome: Option<&'a str>,
    below: Vec<&'a str>,
}

impl<'a> Item<'a> {
    fn add(&mut self, words: &'a str) {
        match words.split_once(':') {
            Some((name, rest)) if name.eq_ignore_ascii_case("outcome") => self.outcome = Some(rest.trim()),
            Some(_) | None => self.below.push(words),
        }
    }

    fn task(self, file: &str) -> Result<Read, TaskError> {
        let (id, title) = self.name();
        let criteria = if self.below.is_empty() { vec![title] } else { self.below.clone() };
        let completion = CompletionSpec {
            outcome: self.outcome.unwrap_or(title).to_owned(),
            acceptance_criteria: criteria.into_iter().map(str::to_owned).collect(),
            ..CompletionSpec::default()
        };
        let task = Task {
            id,
            title: title.to_owned(),
            status: if self.is_done { Status::Done } else { Status::Todo },
            completion: Some(completion),
            ..Task::default()
        };
        let place = format!("{file}:{}:1", self.line);
        let refused = |problem: Problem| TaskError { place: place.clone(), ..TaskError::from(problem) };
        validate(&task).map_err(refused)?;
        Ok(Read {
            task,
            metadata: Map::new(),
            approval: Approval::Given,
            place,
            dependency_places: Vec::new(),
        })
    }

    /// Takes `TASK-001: title` apart, also in bold; a title without an id gets one made of its words.
    fn name(&self) -> (String, &'a str) {
        let plain = self.words.trim_start_matches("**").trim_start_matches('`');
        if let Some((id, title)) = plain.split_once(':') {
            let id = id.trim_matches(['*', '`', ' ']);
            let title = title.trim_matches(['*', '`', ' ']);
            let has_digit = id.bytes().any(|byte| byte.is_ascii_digit());
            if is_name(id) && has_digit && !title.is_empty() {
                return (id.to_owned(), title);
            }
        }
        (slug(self.words), self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T4
    fn items_are_tasks_and_what_is_below_them_says_when_they_are_done() {
        let text = "# Auth\n\n- [ ] TASK-001: Add a login\n  - Outcome: people can log in\n  - [ ] it returns a token\n\
                    \x20 - [x] 401 for bad passwords\n* [X] **T2:** Write: docs\n- [ ] Tidy up the API!\n- no task\n\
                    ```\n- [ ] no task either\n```\n";
        let tasks = tasks(text, "todo.md").unwrap();
        let short: Vec<_> = tasks
            .iter()
            .map(|read| {
                (read.task.id.as_str(), read.task.title.as_str(), read.task.status, read.place.as_str())
            })
            .collect();
        assert_eq!(
            short,
            [
                ("TASK-001", "Add a login", Status::Todo, "todo.md:3:1"),
                ("T2", "Write: docs", Status::Done, "todo.md:7:1"),
                ("tidy-up-the-api", "Tidy up the API!", Status::Todo, "todo.md:8:1"),
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
    fn a_text_without_a_check_list_and_an_item_without_words_are_refused() {
        assert_eq!(
            tasks("# Plan\n\ntext\n", "a.md").unwrap_err().to_string(),
            "a.md: it holds no check list"
        );
        let refused = tasks("- [ ] One\n- [ ]\n", "a.md").unwrap_err();
        assert_eq!(refused.place, "a.md:2:1");
    }
}
