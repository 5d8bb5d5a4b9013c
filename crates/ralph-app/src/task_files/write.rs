//! Writes tasks as YAML that parses back unchanged. Hand-written because every string must be quoted or a block scalar,
//! so that no YAML parser misreads it.
use std::fmt::Write;

use ralph_core::task::{Approval, Role, RoleSpec, StageSpec, Task, VerificationConfig};
use serde::Serialize;
use serde_json::{Map, Value, json};

use ralph_util::sanitize::is_hidden_character;

/// A table that keeps the order of its fields.
type YamlTable = Vec<(&'static str, YamlTree)>;

/// A node of the output.
enum YamlTree {
    /// A scalar, or a value that is written in one line as JSON.
    Scalar(Value),
    List(Vec<YamlTree>),
    Table(YamlTable),
}

/// A task to export.
#[derive(Debug, Clone)]
pub struct ExportedTask {
    pub task: Task,
    pub metadata: Map<String, Value>,
    pub approval: Approval,
}

/// Renders one task as `task:`, several as a list.
#[must_use]
pub fn render_yaml(tasks: &[ExportedTask]) -> String {
    let tables: Vec<YamlTable> = tasks.iter().map(task_table).collect();
    let mut text = String::new();
    match <[YamlTable; 1]>::try_from(tables) {
        Ok([only]) => write_table(&mut text, vec![("task", YamlTree::Table(only))], 0),
        Err(tables) if tables.is_empty() => text.push_str("[]\n"),
        Err(tables) => tables.into_iter().for_each(|task| write_item(&mut text, YamlTree::Table(task), 0)),
    }
    text
}

fn scalar_tree(value: impl Serialize) -> YamlTree {
    YamlTree::Scalar(json!(value))
}

fn optional_field<T: Serialize>(key: &'static str, value: &Option<T>) -> Option<(&'static str, YamlTree)> {
    value.as_ref().map(|value| (key, scalar_tree(value)))
}

fn text_list(texts: &[String]) -> YamlTree {
    YamlTree::List(texts.iter().map(scalar_tree).collect())
}

fn task_table(exported: &ExportedTask) -> YamlTable {
    let ExportedTask { task, metadata, approval } = exported;
    let completion = task.completion.as_ref().map(|spec| {
        let mut table = vec![
            ("outcome", scalar_tree(&spec.outcome)),
            ("acceptance_criteria", text_list(&spec.acceptance_criteria)),
        ];
        let accepted = [
            spec.guard.as_ref().map(|patterns| ("guard", text_list(patterns))),
            spec.allow_changes.as_ref().map(|patterns| ("allow_changes", text_list(patterns))),
            optional_field("isolation", &spec.isolation),
        ];
        table.extend(accepted.into_iter().flatten());
        let roles: [(&str, Role); 4] =
            [("coder", Role::Coder), ("reviewer", Role::Reviewer), ("tester", Role::Tester), ("qa", Role::Qa)];
        let blocks = roles.into_iter().filter_map(|(name, role)| Some((name, role_tree(spec.role_spec(&role)?))));
        table.extend(blocks);
        ("completion", YamlTree::Table(table))
    });
    let status = (!task.status.is_todo()).then(|| ("status", scalar_tree(task.status.as_str())));
    let fields = [
        Some(("id", scalar_tree(&task.id))),
        optional_field("spec_id", &task.spec_id),
        optional_field("spec_file", &task.spec_file),
        Some(("title", scalar_tree(&task.title))),
        optional_field("description", &task.description),
        status,
        optional_field("priority", &task.priority),
        task.dependencies.as_ref().map(|on| ("dependencies", text_list(on))),
        optional_field("assignee", &task.assignee),
        (!metadata.is_empty()).then(|| ("metadata", scalar_tree(metadata))),
        (*approval == Approval::Pending).then(|| ("approved", scalar_tree(false))),
        completion,
    ];
    fields.into_iter().flatten().collect()
}

fn role_tree(block: &RoleSpec) -> YamlTree {
    let config = block.verification_config.as_ref().map(|config| ("verification_config", config_tree(config)));
    let fields = [
        optional_field("promise", &block.promise),
        optional_field("description", &block.description),
        optional_field("verification_method", &block.verification_method),
        config,
        optional_field("max_iterations", &block.max_iterations),
    ];
    YamlTree::Table(fields.into_iter().flatten().collect())
}

fn config_tree(config: &VerificationConfig) -> YamlTree {
    let own = config
        .config
        .as_ref()
        .map(|text| ("config", YamlTree::Scalar(serde_json::from_str(text).unwrap_or_else(|_| json!(text)))));
    let stages =
        config.stages.as_ref().map(|stages| ("stages", YamlTree::List(stages.iter().map(stage_tree).collect())));
    let check_for = config.check_for.as_ref().map(|wanted| match wanted {
        ralph_core::task::CheckForSpec::Text(text) => ("check_for", scalar_tree(text)),
        ralph_core::task::CheckForSpec::List(list) => ("check_for", text_list(list)),
    });
    let patterns = config.negative_patterns.as_ref().map(|list| ("negative_patterns", text_list(list)));
    let fields = [
        optional_field("command", &config.command),
        optional_field("success_exit_code", &config.success_exit_code),
        optional_field("output_contains", &config.output_contains),
        optional_field("output_not_contains", &config.output_not_contains),
        optional_field("timeout", &config.timeout),
        optional_field("working_dir", &config.working_dir),
        optional_field("env", &config.env),
        check_for,
        patterns,
        optional_field("model", &config.model),
        optional_field("require_all", &config.require_all),
        optional_field("parallel", &config.parallel),
        stages,
        optional_field("plugin", &config.plugin),
        own,
        optional_field("retries", &config.retries),
        optional_field("template", &config.template),
        optional_field("with", &config.with),
    ];
    YamlTree::Table(fields.into_iter().flatten().collect())
}

fn stage_tree(stage: &StageSpec) -> YamlTree {
    let fields = [
        optional_field("name", &stage.name),
        optional_field("method", &stage.method),
        stage.config.as_ref().map(|config| ("config", config_tree(config))),
        optional_field("required", &stage.required),
    ];
    YamlTree::Table(fields.into_iter().flatten().collect())
}

/// Writes a table, indented by `depth` blanks.
fn write_table(text: &mut String, table: YamlTable, depth: usize) {
    for (key, tree) in table {
        write_indent(text, depth);
        let _ = write!(text, "{key}:");
        write_value(text, tree, depth);
    }
}

/// Writes the value after a key or dash.
fn write_value(text: &mut String, tree: YamlTree, depth: usize) {
    match tree {
        YamlTree::Scalar(value) => write_scalar(text, &value, depth + 2),
        YamlTree::List(items) if items.is_empty() => text.push_str(" []\n"),
        YamlTree::Table(fields) if fields.is_empty() => text.push_str(" {}\n"),
        YamlTree::List(items) => {
            text.push('\n');
            items.into_iter().for_each(|tree| write_item(text, tree, depth + 2));
        }
        YamlTree::Table(fields) => {
            text.push('\n');
            write_table(text, fields, depth + 2);
        }
    }
}

/// Writes an item of a list; its first line follows the dash.
fn write_item(text: &mut String, tree: YamlTree, depth: usize) {
    write_indent(text, depth);
    text.push('-');
    match tree {
        YamlTree::Table(fields) if !fields.is_empty() => {
            let mut inside = String::new();
            write_table(&mut inside, fields, depth + 2);
            text.push(' ');
            text.push_str(inside.trim_start_matches(' '));
        }
        YamlTree::Scalar(_) | YamlTree::List(_) | YamlTree::Table(_) => write_value(text, tree, depth),
    }
}

/// Writes a multi-line string as a block scalar if possible, any other value as JSON, which is valid YAML.
fn write_scalar(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(string) if can_be_block(string) => {
            text.push_str(if string.ends_with('\n') { " |\n" } else { " |-\n" });
            for line in string.lines() {
                if !line.is_empty() {
                    write_indent(text, depth);
                }
                let _ = writeln!(text, "{line}");
            }
        }
        value => {
            let _ = writeln!(text, " {}", quote_value(value));
        }
    }
}

/// Returns whether a block scalar, which has no escapes, can represent the string: no hidden characters and no
/// leading blank.
fn can_be_block(string: &str) -> bool {
    let starts_without_blank = string.starts_with(|first: char| !first.is_whitespace());
    let ends_with_one_newline = !string.ends_with("\n\n");
    let is_plain = |letter: char| letter == '\n' || !is_hidden_character(letter);
    string.trim_end().contains('\n') && starts_without_blank && ends_with_one_newline && string.chars().all(is_plain)
}

/// Returns a value as JSON with escapes for all hidden characters, which YAML would not accept verbatim.
fn quote_value(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        let mut units = [0; 2];
        match is_hidden_character(letter) {
            true => letter.encode_utf16(&mut units).iter().for_each(|unit| {
                let _ = write!(text, "\\u{unit:04x}");
            }),
            false => text.push(letter),
        }
    }
    text
}

fn write_indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n(' ', depth));
}
