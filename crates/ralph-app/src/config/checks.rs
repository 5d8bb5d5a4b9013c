//! Reads checks: a command, or a table with one of the five methods or a template.
use std::collections::BTreeMap;

use ralph_core::criterion::template::Values;
use ralph_core::criterion::{
    CheckCommand, Criterion, ExternalCheck, Flaw, Method, Parts, PluginCheck, SemanticCheck, Stage,
    StagedCheck, flaw,
};

use super::document::{At, entries, fill};
use super::error::{ConfigError, Refusal};
use super::keys::{CHECK_KEYS, CheckDraft};
use super::origin::Origin;
use super::slot::{scalar, text, texts};
use ralph_util::suggest;
use ralph_util::yaml::{Content, Node};

/// A check, and the file of the template that it was made from, if that came with the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub criterion: Criterion,
    pub template: Option<Origin>,
}

impl From<Criterion> for Check {
    fn from(criterion: Criterion) -> Self {
        Self { criterion, template: None }
    }
}

impl From<ExternalCheck> for Check {
    fn from(check: ExternalCheck) -> Self {
        Criterion::from(check).into()
    }
}

/// A stage as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenStage {
    pub(super) required: bool,
    pub(super) check: Check,
}

const METHODS: &[&str] = &["string_match", "external", "semantic", "multi_stage", "plugin"];

impl From<WrittenStage> for Stage {
    fn from(written: WrittenStage) -> Self {
        Self { required: written.required, criterion: written.check.criterion }
    }
}

/// Reads a list of checks.
pub(super) fn checks(node: &Node, at: &At<'_>) -> Result<Vec<Check>, ConfigError> {
    let checks = list(node, at)?.iter().map(|item| {
        let (check, required) = check(item, at)?;
        if required {
            return Ok(check);
        }
        let refusal = Refusal::new("`required: false` means something only in a stage");
        Err(at.refuse(item, refusal.hint("make it a stage of a check with `stages:`")))
    });
    checks.collect()
}

/// Reads the stages of a check.
pub(super) fn stages(node: &Node, at: &At<'_>) -> Result<Vec<WrittenStage>, ConfigError> {
    let stage = |item| check(item, at).map(|(check, required)| WrittenStage { required, check });
    list(node, at)?.iter().map(stage).collect()
}

fn list<'a>(node: &'a Node, at: &At<'_>) -> Result<&'a [Node], ConfigError> {
    match &node.content {
        Content::Nothing => Ok(&[]),
        Content::List(items) => Ok(items),
        Content::Text(_) | Content::Map(_) => {
            let refusal = Refusal::new("a list is expected").hint("write one `- COMMAND` a line");
            Err(at.refuse(node, refusal))
        }
    }
}

/// Reads one check, and whether it must be met.
fn check(node: &Node, at: &At<'_>) -> Result<(Check, bool), ConfigError> {
    let refused = |refusal| at.refuse(node, refusal);
    let Content::Map(_) = &node.content else {
        let command = CheckCommand::Shell(text(node).map_err(refused)?);
        let check = external(command, &CheckDraft::default()).map_err(refused)?;
        return Ok((Criterion::of(Method::External(check)).into(), true));
    };
    let draft = draft(node, at)?;
    let required = draft.required.value;
    let check = made(draft, at).map_err(refused)?;
    Ok((check, required))
}

/// Reads what is written. The parts of a method may stand in a table `config:` of their own.
fn draft(node: &Node, at: &At<'_>) -> Result<CheckDraft, ConfigError> {
    let written = entries(node, at)?;
    let is_of_plugin = written.iter().any(|entry| entry.key == "plugin");
    let (inside, flat) =
        written.iter().cloned().partition::<Vec<_>, _>(|entry| entry.key == "config" && !is_of_plugin);
    let mut draft = CheckDraft::default();
    fill(CHECK_KEYS, &mut draft, &Node { content: Content::Map(flat), ..*node }, at)?;
    for entry in inside {
        fill(CHECK_KEYS, &mut draft, &entry.node, &at.below("config"))?;
    }
    Ok(draft)
}

fn made(mut draft: CheckDraft, at: &At<'_>) -> Result<Check, Refusal> {
    let (name, retries) = (draft.name.value.take(), draft.retries.value);
    let named = |criterion: Criterion| Criterion { name: name.clone().or(criterion.name), ..criterion };
    if let Some(template) = draft.template.value.take() {
        let Check { criterion, template } = at.templates.check(&template, &draft.with.value)?;
        let mut criterion = named(criterion);
        criterion.retries = criterion.retries.max(retries);
        return Ok(Check { criterion, template });
    }
    if !draft.with.value.is_empty() {
        return Err(Refusal::new("`with:` belongs to a template").hint("add `template: NAME`"));
    }
    // Whoever approves the whole approves its stages.
    let template = draft.stages.value.iter().find_map(|stage| stage.check.template.clone());
    Ok(Check { criterion: named(Criterion { name: None, retries, method: method(draft)? }), template })
}

/// The method is the one that is named, or else the one whose parts are written.
fn method(draft: CheckDraft) -> Result<Method, Refusal> {
    let found = [
        (draft.command.value.is_some(), "external"),
        (!draft.check_for.value.is_empty() || !draft.negative_patterns.value.is_empty(), "semantic"),
        (!draft.stages.value.is_empty(), "multi_stage"),
        (draft.plugin.value.is_some(), "plugin"),
    ];
    let mut written = found.into_iter().filter(|(is_written, _)| *is_written).map(|(_, method)| method);
    let (first, second) = (written.next(), written.next());
    if let (Some(first), Some(second)) = (first, second) {
        return Err(Refusal::new(format!("it is {first} and {second} at once")).hint("write two checks"));
    }
    match (draft.method.value.clone().as_deref(), first) {
        (Some(named), Some(first)) if named != first && METHODS.contains(&named) => {
            Err(Refusal::new(format!("its method is {named}, but what is written belongs to {first}")))
        }
        (Some("string_match"), _) => Ok(Method::StringMatch),
        (Some("semantic"), _) | (None, Some("semantic")) => Ok(Method::Semantic(SemanticCheck {
            check_for: draft.check_for.value,
            negative_patterns: draft.negative_patterns.value,
            model: draft.model.value,
        })),
        (Some("multi_stage"), None) => {
            Err(Refusal::new("a check of several stages has none").hint("add `stages:`"))
        }
        (Some("multi_stage"), _) | (None, Some("multi_stage")) => Ok(Method::MultiStage(StagedCheck {
            stages: draft.stages.value.into_iter().map(Stage::from).collect(),
            require_all: draft.require_all.value,
            parallel: draft.parallel.value,
        })),
        (Some("plugin"), _) | (None, Some("plugin")) => plugin(draft).map(Method::Plugin),
        (Some("external") | None, _) => {
            let command = draft.command.value.clone().unwrap_or_else(|| CheckCommand::from(""));
            external(command, &draft).map(Method::External)
        }
        (Some(other), _) => {
            Err(Refusal::new(format!("there is no method {other:?}")).hint(suggest::hint(other, METHODS)))
        }
    }
}

fn external(command: CheckCommand, draft: &CheckDraft) -> Result<ExternalCheck, Refusal> {
    if command.is_empty() {
        return Err(Refusal::new("a check without a command")
            .hint("write the command that must succeed: `- cargo test` or `- {command: cargo test}`"));
    }
    let parts = Parts {
        retries: draft.retries.value,
        output_contains: draft.output_contains.value.as_deref(),
        output_not_contains: draft.output_not_contains.value.as_deref(),
        working_dir: draft.working_dir.value.as_deref(),
    };
    if let Some(Flaw { key, what, hint }) = flaw(&parts, draft.env.keys().map(String::as_str)) {
        return Err(Refusal::new(format!("{key}: {what}")).hint(hint));
    }
    Ok(ExternalCheck {
        command,
        success_exit_code: draft.success_exit_code.value.cast_signed(),
        output_contains: draft.output_contains.value.clone(),
        output_not_contains: draft.output_not_contains.value.clone(),
        timeout_ms: u64::try_from(draft.timeout.value.as_millis()).unwrap_or(u64::MAX),
        working_dir: draft.working_dir.value.clone(),
        env: draft.env.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
    })
}

fn plugin(draft: CheckDraft) -> Result<PluginCheck, Refusal> {
    let plugin = draft.plugin.value.unwrap_or_default();
    if !PluginCheck::is_name(&plugin) {
        return Err(Refusal::new(format!("{plugin:?} is no name of a plugin"))
            .hint("a plugin is an executable file in .ralph/verifiers, called by its name alone"));
    }
    Ok(PluginCheck {
        plugin,
        config: draft.config.value.unwrap_or_default().to_string(),
        timeout_ms: u64::try_from(draft.timeout.value.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Reads a command: a text is the shell's, a list is a program and its arguments.
pub(super) fn command(node: &Node) -> Result<CheckCommand, Refusal> {
    match &node.content {
        Content::List(_) => texts(node).map(CheckCommand::Argv),
        Content::Nothing | Content::Text(_) | Content::Map(_) => text(node).map(CheckCommand::Shell),
    }
}

/// Reads one text or a list of them.
pub(super) fn strings(node: &Node) -> Result<Vec<String>, Refusal> {
    match &node.content {
        Content::Text(_) => scalar(node, "a text").map(|text| vec![text.to_owned()]),
        Content::Nothing => Ok(Vec::new()),
        Content::List(_) | Content::Map(_) => texts(node),
    }
}

/// Reads the values of a template's parameters.
pub(super) fn with(node: &Node, at: &At<'_>) -> Result<BTreeMap<String, Values>, ConfigError> {
    let mut values = BTreeMap::new();
    for entry in entries(node, at)? {
        let at = at.below(&entry.key);
        let given = strings(&entry.node).map_err(|refusal| at.refuse(&entry.node, refusal))?;
        values.insert(entry.key.clone(), given);
    }
    Ok(values)
}

/// Returns what is written as JSON: what looks like a number or a truth value is one.
pub(super) fn json(node: &Node) -> serde_json::Value {
    match &node.content {
        Content::Nothing => serde_json::Value::Null,
        Content::Text(text) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if value.is_number() || value.is_boolean() => value,
            Ok(_) | Err(_) => text.as_str().into(),
        },
        Content::List(items) => items.iter().map(json).collect(),
        Content::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect(),
    }
}
