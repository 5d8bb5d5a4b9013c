//! Parses checks: a command, or a table with one of the five methods or a template.
use std::collections::BTreeMap;

use ralph_core::criterion::template::ParameterValues;
use ralph_core::criterion::{
    CheckCommand, CheckFieldProblem, CheckFields, CheckStage, Criterion, ExternalCheck, PluginCheck, SemanticCheck,
    StagedCheck, VerificationMethod, find_check_problem,
};

use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::key_list::{CHECK_KEYS, CheckDraft};
use crate::config::keys::slot::{read_scalar, read_text, read_texts};
use crate::config::layers::document::{KeyContext, fill_keys, map_entries};
use crate::config::settings::origin::SettingOrigin;
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, NodeContent};

/// A check, with the origin of its template if that template is a file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredCheck {
    pub criterion: Criterion,
    pub template: Option<SettingOrigin>,
}

impl From<Criterion> for ConfiguredCheck {
    fn from(criterion: Criterion) -> Self {
        Self { criterion, template: None }
    }
}

impl From<ExternalCheck> for ConfiguredCheck {
    fn from(check: ExternalCheck) -> Self {
        Criterion::from(check).into()
    }
}

/// A stage of a check, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct ConfiguredStage {
    pub(in crate::config) required: bool,
    pub(in crate::config) check: ConfiguredCheck,
}

const METHOD_NAMES: &[&str] = &["string_match", "external", "semantic", "multi_stage", "plugin"];

impl From<ConfiguredStage> for CheckStage {
    fn from(written: ConfiguredStage) -> Self {
        Self { required: written.required, criterion: written.check.criterion }
    }
}

pub(in crate::config) fn read_checks(
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<Vec<ConfiguredCheck>, ConfigError> {
    let checks = read_items(node, context)?.iter().map(|item| {
        let (check, required) = read_check(item, context)?;
        if required {
            return Ok(check);
        }
        let refusal = ValueError::new("`required: false` is allowed only in a stage");
        Err(context.error_at_node(item, refusal.with_hint("make it a stage of a check with `stages:`")))
    });
    checks.collect()
}

pub(in crate::config) fn read_stages(
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<Vec<ConfiguredStage>, ConfigError> {
    let stage = |item| match read_bare_stage(item, context)? {
        Some(stage) => Ok(stage),
        None => read_check(item, context).map(|(check, required)| ConfiguredStage { required, check }),
    };
    read_items(node, context)?.iter().map(stage).collect()
}

/// Reads a stage that has no method and no key of one: as in task files, its method is `string_match`.
fn read_bare_stage(node: &DocumentNode, context: &KeyContext<'_>) -> Result<Option<ConfiguredStage>, ConfigError> {
    let NodeContent::Map(entries) = &node.content else { return Ok(None) };
    if !entries.iter().all(|entry| matches!(entry.key.as_str(), "name" | "required")) {
        return Ok(None);
    }
    let draft = read_draft(node, context)?;
    let criterion = Criterion { name: draft.name.value, retries: 0, method: VerificationMethod::StringMatch };
    Ok(Some(ConfiguredStage { required: draft.required.value, check: criterion.into() }))
}

fn read_items<'a>(node: &'a DocumentNode, context: &KeyContext<'_>) -> Result<&'a [DocumentNode], ConfigError> {
    match &node.content {
        NodeContent::Null => Ok(&[]),
        NodeContent::List(items) => Ok(items),
        NodeContent::Text(_) | NodeContent::Map(_) => {
            let refusal = ValueError::new("expected a list").with_hint("write one `- COMMAND` per line");
            Err(context.error_at_node(node, refusal))
        }
    }
}

/// Reads one check and its `required` flag.
fn read_check(node: &DocumentNode, context: &KeyContext<'_>) -> Result<(ConfiguredCheck, bool), ConfigError> {
    let refused = |refusal| context.error_at_node(node, refusal);
    let NodeContent::Map(_) = &node.content else {
        let command = CheckCommand::Shell(read_text(node).map_err(refused)?);
        let check = build_external_check(command, &CheckDraft::default()).map_err(refused)?;
        return Ok((Criterion::from_method(VerificationMethod::External(check)).into(), true));
    };
    let draft = read_draft(node, context)?;
    let required = draft.required.value;
    let check = build_check(draft, context).map_err(refused)?;
    Ok((check, required))
}

/// Reads the keys of a check. The keys of a method may also be nested in a table `config:`.
fn read_draft(node: &DocumentNode, context: &KeyContext<'_>) -> Result<CheckDraft, ConfigError> {
    let written = map_entries(node, context)?;
    let is_of_plugin = written.iter().any(|entry| entry.key == "plugin");
    let (inside, flat) = written.iter().cloned().partition::<Vec<_>, _>(|entry| entry.key == "config" && !is_of_plugin);
    let mut draft = CheckDraft::default();
    fill_keys(CHECK_KEYS, &mut draft, &DocumentNode { content: NodeContent::Map(flat), ..*node }, context)?;
    for entry in inside {
        fill_keys(CHECK_KEYS, &mut draft, &entry.node, &context.child("config"))?;
    }
    Ok(draft)
}

fn build_check(mut draft: CheckDraft, context: &KeyContext<'_>) -> Result<ConfiguredCheck, ValueError> {
    let (name, retries) = (draft.name.value.take(), draft.retries.value);
    let named = |criterion: Criterion| Criterion { name: name.clone().or(criterion.name), ..criterion };
    if let Some(template) = draft.template.value.take() {
        let ConfiguredCheck { criterion, template } =
            context.templates.try_instantiate_check(&template, &draft.with.value)?;
        let mut criterion = named(criterion);
        criterion.retries = criterion.retries.max(retries);
        return Ok(ConfiguredCheck { criterion, template });
    }
    if !draft.with.value.is_empty() {
        return Err(ValueError::new("`with:` belongs to a template").with_hint("add `template: NAME`"));
    }
    // An approval of the check covers its stages.
    let template = draft.stages.value.iter().find_map(|stage| stage.check.template.clone());
    Ok(ConfiguredCheck { criterion: named(Criterion { name: None, retries, method: build_method(draft)? }), template })
}

/// Builds the method that `method:` names; without it, the method that the other keys belong to.
fn build_method(draft: CheckDraft) -> Result<VerificationMethod, ValueError> {
    let found = [
        (draft.command.value.is_some(), "external"),
        (!draft.check_for.value.is_empty() || !draft.negative_patterns.value.is_empty(), "semantic"),
        (!draft.stages.value.is_empty(), "multi_stage"),
        (draft.plugin.value.is_some(), "plugin"),
    ];
    let mut written = found.into_iter().filter(|(is_written, _)| *is_written).map(|(_, method)| method);
    let (first, second) = (written.next(), written.next());
    if let (Some(first), Some(second)) = (first, second) {
        return Err(
            ValueError::new(format!("this check mixes the methods {first} and {second}")).with_hint("write two checks")
        );
    }
    match (draft.method.value.clone().as_deref(), first) {
        (Some(named), Some(first)) if named != first && METHOD_NAMES.contains(&named) => {
            Err(ValueError::new(format!("method is {named}, but the other keys belong to {first}")))
        }
        (Some("string_match"), _) => Ok(VerificationMethod::StringMatch),
        (Some("semantic"), _) | (None, Some("semantic")) => Ok(VerificationMethod::Semantic(SemanticCheck {
            check_for: draft.check_for.value,
            negative_patterns: draft.negative_patterns.value,
            model: draft.model.value,
        })),
        (Some("multi_stage"), None) => {
            Err(ValueError::new("multi_stage check has no stages").with_hint("add `stages:`"))
        }
        (Some("multi_stage"), _) | (None, Some("multi_stage")) => Ok(VerificationMethod::MultiStage(StagedCheck {
            stages: draft.stages.value.into_iter().map(CheckStage::from).collect(),
            require_all: draft.require_all.value,
            parallel: draft.parallel.value,
        })),
        (Some("plugin"), _) | (None, Some("plugin")) => build_plugin_check(draft).map(VerificationMethod::Plugin),
        (Some("external") | None, _) => {
            let command = draft.command.value.clone().unwrap_or_else(|| CheckCommand::from(""));
            build_external_check(command, &draft).map(VerificationMethod::External)
        }
        (Some(other), _) => Err(ValueError::new(format!("there is no method {other:?}"))
            .with_hint(suggest::suggestion_hint(other, METHOD_NAMES))),
    }
}

fn build_external_check(command: CheckCommand, draft: &CheckDraft) -> Result<ExternalCheck, ValueError> {
    if command.is_empty() {
        return Err(ValueError::new("check has no command")
            .with_hint("add the command that must succeed: `- cargo test` or `- {command: cargo test}`"));
    }
    let parts = CheckFields {
        retries: draft.retries.value,
        output_contains: draft.output_contains.value.as_deref(),
        output_not_contains: draft.output_not_contains.value.as_deref(),
        working_dir: draft.working_dir.value.as_deref(),
    };
    if let Some(CheckFieldProblem { key, problem, hint }) =
        find_check_problem(&parts, draft.env.keys().map(String::as_str))
    {
        return Err(ValueError::new(format!("{key}: {problem}")).with_hint(hint));
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

fn build_plugin_check(draft: CheckDraft) -> Result<PluginCheck, ValueError> {
    let plugin = draft.plugin.value.unwrap_or_default();
    if !PluginCheck::is_valid_name(&plugin) {
        return Err(ValueError::new(format!("{plugin:?} is not a valid plugin name"))
            .with_hint("put the executable into .ralph/verifiers and write its file name"));
    }
    Ok(PluginCheck {
        plugin,
        config: draft.config.value.unwrap_or_default().to_string(),
        timeout_ms: u64::try_from(draft.timeout.value.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Reads a command: a string is run by the shell, a list is a program and its arguments.
pub(in crate::config) fn read_command(node: &DocumentNode) -> Result<CheckCommand, ValueError> {
    match &node.content {
        NodeContent::List(_) => read_texts(node).map(CheckCommand::Argv),
        NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_) => read_text(node).map(CheckCommand::Shell),
    }
}

/// Reads one string or a list of strings.
pub(in crate::config) fn read_strings(node: &DocumentNode) -> Result<Vec<String>, ValueError> {
    match &node.content {
        NodeContent::Text(_) => read_scalar(node, "a string").map(|text| vec![text.to_owned()]),
        NodeContent::Null => Ok(Vec::new()),
        NodeContent::List(_) | NodeContent::Map(_) => read_texts(node),
    }
}

pub(in crate::config) fn read_template_values(
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<BTreeMap<String, ParameterValues>, ConfigError> {
    let mut values = BTreeMap::new();
    for entry in map_entries(node, context)? {
        let context = context.child(&entry.key);
        let parameter_values =
            read_strings(&entry.node).map_err(|refusal| context.error_at_node(&entry.node, refusal))?;
        values.insert(entry.key.clone(), parameter_values);
    }
    Ok(values)
}

/// Converts a node to JSON. Scalars that look like numbers or booleans become numbers or booleans.
pub(in crate::config) fn to_json(node: &DocumentNode) -> serde_json::Value {
    match &node.content {
        NodeContent::Null => serde_json::Value::Null,
        NodeContent::Text(text) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if value.is_number() || value.is_boolean() => value,
            Ok(_) | Err(_) => text.as_str().into(),
        },
        NodeContent::List(items) => items.iter().map(to_json).collect(),
        NodeContent::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.node))).collect(),
    }
}
