//! Tasks as YAML that is read again unchanged. Every text stands in quotation marks or in a block of its own, so that no
//! reader takes it for something else.
use std::fmt::Write;

use ralph_core::task::{Approval, Role, RoleSpec, StageSpec, Task, VerificationConfig};
use serde::Serialize;
use serde_json::{Map, Value, json};

use ralph_util::sanitize::is_hidden;

/// A table whose order is kept.
type Table = Vec<(&'static str, Tree)>;

/// What is written.
enum Tree {
    /// A scalar, or what is best written in one line as JSON.
    Plain(Value),
    List(Vec<Tree>),
    Table(Table),
}

/// A task as it goes out.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub task: Task,
    pub metadata: Map<String, Value>,
    pub approval: Approval,
}

/// Returns one task as `task:`, several as a list.
#[must_use]
pub fn yaml(tasks: &[Outgoing]) -> String {
    let tables: Vec<Table> = tasks.iter().map(task).collect();
    let mut text = String::new();
    match <[Table; 1]>::try_from(tables) {
        Ok([only]) => table(&mut text, vec![("task", Tree::Table(only))], 0),
        Err(tables) if tables.is_empty() => text.push_str("[]\n"),
        Err(tables) => tables.into_iter().for_each(|task| item(&mut text, Tree::Table(task), 0)),
    }
    text
}

fn plain(value: impl Serialize) -> Tree {
    Tree::Plain(json!(value))
}

fn maybe<T: Serialize>(key: &'static str, value: &Option<T>) -> Option<(&'static str, Tree)> {
    value.as_ref().map(|value| (key, plain(value)))
}

fn texts(texts: &[String]) -> Tree {
    Tree::List(texts.iter().map(plain).collect())
}

fn task(outgoing: &Outgoing) -> Table {
    let Outgoing { task, metadata, approval } = outgoing;
    let completion = task.completion.as_ref().map(|spec| {
        let mut table = vec![
            ("outcome", plain(&spec.outcome)),
            ("acceptance_criteria", texts(&spec.acceptance_criteria)),
        ];
        let accepted = [
            spec.guard.as_ref().map(|patterns| ("guard", texts(patterns))),
            spec.allow_changes.as_ref().map(|patterns| ("allow_changes", texts(patterns))),
            maybe("isolation", &spec.isolation),
        ];
        table.extend(accepted.into_iter().flatten());
        let roles: [(&str, Role); 4] = [
            ("coder", Role::Coder),
            ("reviewer", Role::Reviewer),
            ("tester", Role::Tester),
            ("qa", Role::Qa),
        ];
        let blocks = roles.into_iter().filter_map(|(name, role)| Some((name, block(spec.of(&role)?))));
        table.extend(blocks);
        ("completion", Tree::Table(table))
    });
    let status = (!task.status.is_todo()).then(|| ("status", plain(task.status.as_str())));
    let fields = [
        Some(("id", plain(&task.id))),
        maybe("spec_id", &task.spec_id),
        Some(("title", plain(&task.title))),
        maybe("description", &task.description),
        status,
        maybe("priority", &task.priority),
        task.dependencies.as_ref().map(|on| ("dependencies", texts(on))),
        maybe("assignee", &task.assignee),
        (!metadata.is_empty()).then(|| ("metadata", plain(metadata))),
        (*approval == Approval::Awaited).then(|| ("approved", plain(false))),
        completion,
    ];
    fields.into_iter().flatten().collect()
}

fn block(block: &RoleSpec) -> Tree {
    let config =
        block.verification_config.as_ref().map(|config| ("verification_config", self::config(config)));
    let fields = [
        maybe("promise", &block.promise),
        maybe("description", &block.description),
        maybe("verification_method", &block.verification_method),
        config,
        maybe("max_iterations", &block.max_iterations),
    ];
    Tree::Table(fields.into_iter().flatten().collect())
}

fn config(config: &VerificationConfig) -> Tree {
    let own = config
        .config
        .as_ref()
        .map(|text| ("config", Tree::Plain(serde_json::from_str(text).unwrap_or_else(|_| json!(text)))));
    let stages =
        config.stages.as_ref().map(|stages| ("stages", Tree::List(stages.iter().map(stage).collect())));
    let check_for = config.check_for.as_ref().map(|wanted| match wanted {
        ralph_core::task::CheckFor::Text(text) => ("check_for", plain(text)),
        ralph_core::task::CheckFor::List(list) => ("check_for", texts(list)),
    });
    let patterns = config.negative_patterns.as_ref().map(|list| ("negative_patterns", texts(list)));
    let fields = [
        maybe("command", &config.command),
        maybe("success_exit_code", &config.success_exit_code),
        maybe("output_contains", &config.output_contains),
        maybe("output_not_contains", &config.output_not_contains),
        maybe("timeout", &config.timeout),
        maybe("working_dir", &config.working_dir),
        maybe("env", &config.env),
        check_for,
        patterns,
        maybe("model", &config.model),
        maybe("require_all", &config.require_all),
        maybe("parallel", &config.parallel),
        stages,
        maybe("plugin", &config.plugin),
        own,
        maybe("retries", &config.retries),
        maybe("template", &config.template),
        maybe("with", &config.with),
    ];
    Tree::Table(fields.into_iter().flatten().collect())
}

fn stage(stage: &StageSpec) -> Tree {
    let fields = [
        maybe("name", &stage.name),
        maybe("method", &stage.method),
        stage.config.as_ref().map(|config| ("config", self::config(config))),
        maybe("required", &stage.required),
    ];
    Tree::Table(fields.into_iter().flatten().collect())
}

/// Writes a table; each of its lines begins with so many blanks.
fn table(text: &mut String, table: Table, depth: usize) {
    for (key, tree) in table {
        indent(text, depth);
        let _ = write!(text, "{key}:");
        below(text, tree, depth);
    }
}

/// Writes what stands behind a key.
fn below(text: &mut String, tree: Tree, depth: usize) {
    match tree {
        Tree::Plain(value) => scalar(text, &value, depth + 2),
        Tree::List(items) if items.is_empty() => text.push_str(" []\n"),
        Tree::Table(fields) if fields.is_empty() => text.push_str(" {}\n"),
        Tree::List(items) => {
            text.push('\n');
            items.into_iter().for_each(|tree| item(text, tree, depth + 2));
        }
        Tree::Table(fields) => {
            text.push('\n');
            table(text, fields, depth + 2);
        }
    }
}

/// Writes an item of a list: its first line stands behind the dash.
fn item(text: &mut String, tree: Tree, depth: usize) {
    indent(text, depth);
    text.push('-');
    match tree {
        Tree::Table(fields) if !fields.is_empty() => {
            let mut inside = String::new();
            table(&mut inside, fields, depth + 2);
            text.push(' ');
            text.push_str(inside.trim_start_matches(' '));
        }
        Tree::Plain(_) | Tree::List(_) | Tree::Table(_) => below(text, tree, depth),
    }
}

/// Writes a text of several lines as a block where a block can hold it, anything else as JSON, which is YAML too.
fn scalar(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(words) if is_block(words) => {
            text.push_str(if words.ends_with('\n') { " |\n" } else { " |-\n" });
            for line in words.lines() {
                if !line.is_empty() {
                    indent(text, depth);
                }
                let _ = writeln!(text, "{line}");
            }
        }
        value => {
            let _ = writeln!(text, " {}", quoted(value));
        }
    }
}

/// A block has no escapes: what is not plain, or has blanks that nobody would see, cannot stand in one.
fn is_block(words: &str) -> bool {
    let starts_plainly = words.starts_with(|first: char| !first.is_whitespace());
    let ends_once = !words.ends_with("\n\n");
    let is_plain = |letter: char| letter == '\n' || !is_hidden(letter);
    words.trim_end().contains('\n') && starts_plainly && ends_once && words.chars().all(is_plain)
}

/// Returns a value as JSON without characters that YAML would not take as they are, or that nobody would see.
fn quoted(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        let mut units = [0; 2];
        match is_hidden(letter) {
            true => letter.encode_utf16(&mut units).iter().for_each(|unit| {
                let _ = write!(text, "\\u{unit:04x}");
            }),
            false => text.push(letter),
        }
    }
    text
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n(' ', depth));
}
