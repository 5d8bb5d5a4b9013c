//! Typed slots of the settings: each defines which values a key accepts and how they are parsed. Parser, schema and
//! help all use the slot, so that they cannot disagree.
use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::agent_work_commit::CommitMode;
use ralph_core::claim::{ClaimScope, ContradictionSearch, PromiseMatching};
use ralph_core::criterion::template::ParameterValues;
use ralph_core::criterion::{CheckCommand, MAX_CHECK_RETRIES};
use ralph_core::judge::{JudgeApi, JudgeErrorPolicy};
use ralph_core::policy::ContextMode;
use ralph_core::task::MethodName;

use crate::config::checks::configured_check::{self, ConfiguredCheck, ConfiguredStage};
use crate::config::error::{ConfigError, ValueError};
use crate::config::layers::document::{self, KeyContext};
use crate::config::notify::notify_target::NotifyTarget;
use crate::config::notify::read_targets::read_targets;
use crate::config::settings::all_settings::AgentSettings;
use crate::config::settings::origin::Setting;
use crate::config::settings::pipeline::LandingMode;
use crate::config::settings::platforms::MessageMode;
use ralph_agents::{OutputFormat, PermissionLevel};
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::protected::TestProtection;
use ralph_util::amounts::{DollarAmount, parse_tokens};
use ralph_util::duration;
use ralph_util::memory_size::MemorySize;
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, NodeContent};

/// The setting that a key fills, with its type.
pub(in crate::config) enum SettingSlot<'a> {
    Text(&'a mut Setting<String>),
    MaybeText(&'a mut Setting<Option<String>>),
    MaybeTexts(&'a mut Setting<Option<Vec<String>>>),
    Table(&'a mut BTreeMap<String, Setting<String>>),
    Texts(&'a mut Setting<Vec<String>>),
    Flag(&'a mut Setting<bool>),
    /// A boolean that may also be written as `on` or `off`.
    Switch(&'a mut Setting<bool>),
    Count(&'a mut Setting<u32>, NumberBounds),
    Time(&'a mut Setting<Duration>),
    MaybeTime(&'a mut Setting<Option<Duration>>),
    Size(&'a mut Setting<MemorySize>),
    MaybeSize(&'a mut Setting<Option<MemorySize>>),
    MaybeMoney(&'a mut Setting<Option<DollarAmount>>),
    MaybeTokens(&'a mut Setting<Option<u64>>),
    MaybeCount(&'a mut Setting<Option<u32>>, NumberBounds),
    MaybeFormat(&'a mut Setting<Option<OutputFormat>>),
    MaybePermission(&'a mut Setting<Option<PermissionLevel>>),
    Matching(&'a mut Setting<PromiseMatching>),
    Context(&'a mut Setting<ContextMode>),
    Scope(&'a mut Setting<ClaimScope>),
    Method(&'a mut Setting<MethodName>),
    Isolation(&'a mut Setting<CheckIsolation>),
    Protection(&'a mut Setting<TestProtection>),
    Landing(&'a mut Setting<LandingMode>),
    Messages(&'a mut Setting<MessageMode>),
    Commit(&'a mut Setting<CommitMode>),
    Contradictions(&'a mut Setting<ContradictionSearch>),
    Checks(&'a mut Setting<Vec<ConfiguredCheck>>),
    Command(&'a mut Setting<Option<CheckCommand>>),
    Strings(&'a mut Setting<Vec<String>>),
    Stages(&'a mut Setting<Vec<ConfiguredStage>>),
    Json(&'a mut Setting<Option<serde_json::Value>>),
    With(&'a mut Setting<BTreeMap<String, ParameterValues>>),
    OnError(&'a mut Setting<JudgeErrorPolicy>),
    MaybeApi(&'a mut Setting<Option<JudgeApi>>),
    Agents(&'a mut BTreeMap<String, AgentSettings>),
    Notify(&'a mut Setting<Vec<NotifyTarget>>),
}

/// How a value is written in a single line, as in a variable or classic file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum ValueShape {
    /// The whole text is the value.
    Scalar,
    /// Words separated by blanks.
    Words,
    /// YAML: lists or tables.
    List,
}

/// The smallest and the largest allowed number.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct NumberBounds {
    pub min: u32,
    pub max: u32,
}

impl NumberBounds {
    /// A larger number is a typing mistake.
    pub(in crate::config) const ITERATIONS: Self = Self { min: 1, max: 1_000_000 };
    pub(in crate::config) const RETRIES: Self = Self { min: 0, max: 1_000_000 };
    pub(in crate::config) const EXIT_CODES: Self = Self { min: 0, max: 255 };
    pub(in crate::config) const SLOTS: Self = Self { min: 1, max: 10_000 };
    /// With more retries, even a check that mostly fails would pass.
    pub(in crate::config) const CHECK_RETRIES: Self = Self { min: 0, max: MAX_CHECK_RETRIES };
}

pub(in crate::config) const MATCHING_CHOICES: &[(&str, PromiseMatching)] =
    &[("loose", PromiseMatching::Loose), ("exact", PromiseMatching::Exact)];
pub(in crate::config) const CONTEXT_CHOICES: &[(&str, ContextMode)] =
    &[("continue", ContextMode::Continue), ("fresh", ContextMode::Fresh)];
/// The methods that need no further settings.
pub(in crate::config) const METHOD_CHOICES: &[(&str, MethodName)] =
    &[("string_match", MethodName::StringMatch), ("semantic", MethodName::Semantic)];
pub(in crate::config) const SCOPE_CHOICES: &[(&str, ClaimScope)] =
    &[("final", ClaimScope::Final), ("iteration", ClaimScope::Iteration)];

pub(in crate::config) const ON_ERROR_CHOICES: &[(&str, JudgeErrorPolicy)] =
    &[("reject", JudgeErrorPolicy::Reject), ("string_match", JudgeErrorPolicy::StringMatch)];
pub(in crate::config) const PROTECTION_CHOICES: &[(&str, TestProtection)] = &[
    (TestProtection::Protect.as_str(), TestProtection::Protect),
    (TestProtection::Report.as_str(), TestProtection::Report),
    (TestProtection::Off.as_str(), TestProtection::Off),
];

pub(in crate::config) const ISOLATION_CHOICES: &[(&str, CheckIsolation)] = &[
    (CheckIsolation::Workspace.as_str(), CheckIsolation::Workspace),
    (CheckIsolation::Clean.as_str(), CheckIsolation::Clean),
];

pub(in crate::config) const COMMIT_CHOICES: &[(&str, CommitMode)] =
    &[("auto", CommitMode::Auto), ("agent", CommitMode::Agent)];

pub(in crate::config) const MESSAGE_CHOICES: &[(&str, MessageMode)] =
    &[("batch", MessageMode::Batch), ("stream", MessageMode::Stream)];

pub(in crate::config) const LANDING_CHOICES: &[(&str, LandingMode)] =
    &[("manual", LandingMode::Manual), ("auto", LandingMode::Auto)];

/// The name of the adapter's JSON format in the classic configuration.
pub(in crate::config) const ADAPTER_JSON_FORMAT: &str = "json";

impl SettingSlot<'_> {
    pub(in crate::config) fn value_shape(&self) -> ValueShape {
        match self {
            Self::MaybeTexts(_) => ValueShape::Words,
            Self::Texts(_)
            | Self::Contradictions(_)
            | Self::Checks(_)
            | Self::Command(_)
            | Self::Strings(_)
            | Self::Stages(_)
            | Self::Json(_)
            | Self::With(_)
            | Self::Notify(_) => ValueShape::List,
            Self::Text(_)
            | Self::MaybeText(_)
            | Self::Table(_)
            | Self::Flag(_)
            | Self::Switch(_)
            | Self::Count(_, _)
            | Self::Time(_)
            | Self::MaybeTime(_)
            | Self::Size(_)
            | Self::MaybeSize(_)
            | Self::MaybeMoney(_)
            | Self::MaybeTokens(_)
            | Self::MaybeCount(..)
            | Self::MaybeFormat(_)
            | Self::MaybePermission(_)
            | Self::Matching(_)
            | Self::Context(_)
            | Self::Scope(_)
            | Self::OnError(_)
            | Self::MaybeApi(_)
            | Self::Method(_)
            | Self::Isolation(_)
            | Self::Protection(_)
            | Self::Landing(_)
            | Self::Messages(_)
            | Self::Commit(_)
            | Self::Agents(_) => ValueShape::Scalar,
        }
    }

    /// Parses a value and stores it with its origin.
    pub(in crate::config) fn fill_from(self, node: &DocumentNode, context: &KeyContext<'_>) -> Result<(), ConfigError> {
        let origin = context.source.origin_at(node.line);
        let refused = |refusal: ValueError| context.error_at_node(node, refusal);
        match self {
            Self::Text(slot) => slot.set(read_text(node).map_err(refused)?, origin),
            Self::MaybeText(slot) => slot.set(read_optional(node, read_text).map_err(refused)?, origin),
            Self::MaybeTexts(slot) => slot.set(read_optional(node, read_texts).map_err(refused)?, origin),
            Self::Texts(slot) => slot.set(read_names(node).map_err(refused)?, origin),
            Self::Flag(slot) => slot.set(read_flag(node).map_err(refused)?, origin),
            Self::Switch(slot) => slot.set(read_switch(node).map_err(refused)?, origin),
            Self::Count(slot, bounds) => slot.set(read_count(node, bounds).map_err(refused)?, origin),
            Self::Time(slot) => slot.set(read_duration(node).map_err(refused)?, origin),
            Self::MaybeTime(slot) => slot.set(read_optional(node, read_duration).map_err(refused)?, origin),
            Self::Size(slot) => slot.set(read_size(node).map_err(refused)?, origin),
            Self::MaybeSize(slot) => slot.set(read_optional(node, read_size).map_err(refused)?, origin),
            Self::MaybeMoney(slot) => slot.set(read_optional(node, read_money).map_err(refused)?, origin),
            Self::MaybeTokens(slot) => slot.set(read_optional(node, read_tokens).map_err(refused)?, origin),
            Self::MaybeCount(slot, bounds) => {
                slot.set(read_optional(node, |node| read_count(node, bounds)).map_err(refused)?, origin);
            }
            Self::MaybeFormat(slot) => slot.set(read_format(node).map_err(refused)?, origin),
            Self::MaybePermission(slot) => slot.set(read_optional(node, read_permission).map_err(refused)?, origin),
            Self::Matching(slot) => slot.set(read_choice(node, MATCHING_CHOICES).map_err(refused)?, origin),
            Self::Context(slot) => slot.set(read_choice(node, CONTEXT_CHOICES).map_err(refused)?, origin),
            Self::Scope(slot) => slot.set(read_choice(node, SCOPE_CHOICES).map_err(refused)?, origin),
            Self::Method(slot) => slot.set(read_choice(node, METHOD_CHOICES).map_err(refused)?, origin),
            Self::Protection(slot) => slot.set(read_choice(node, PROTECTION_CHOICES).map_err(refused)?, origin),
            Self::Isolation(slot) => slot.set(read_choice(node, ISOLATION_CHOICES).map_err(refused)?, origin),
            Self::Commit(slot) => slot.set(read_choice(node, COMMIT_CHOICES).map_err(refused)?, origin),
            Self::Landing(slot) => slot.set(read_choice(node, LANDING_CHOICES).map_err(refused)?, origin),
            Self::Messages(slot) => slot.set(read_choice(node, MESSAGE_CHOICES).map_err(refused)?, origin),
            Self::Contradictions(slot) => slot.set(read_contradictions(node).map_err(refused)?, origin),
            Self::Table(slot) => return document::fill_variables(slot, node, context),
            Self::Checks(slot) => slot.set(configured_check::read_checks(node, context)?, origin),
            Self::Command(slot) => {
                slot.set(read_optional(node, configured_check::read_command).map_err(refused)?, origin);
            }
            Self::Strings(slot) => slot.set(configured_check::read_strings(node).map_err(refused)?, origin),
            Self::Stages(slot) => slot.set(configured_check::read_stages(node, context)?, origin),
            Self::Json(slot) => {
                slot.set(Some(configured_check::to_json(node)).filter(|value| !value.is_null()), origin);
            }
            Self::With(slot) => slot.set(configured_check::read_template_values(node, context)?, origin),
            Self::OnError(slot) => slot.set(read_choice(node, ON_ERROR_CHOICES).map_err(refused)?, origin),
            Self::MaybeApi(slot) => slot.set(read_optional(node, read_api).map_err(refused)?, origin),
            Self::Agents(slot) => return document::fill_agents(slot, node, context),
            Self::Notify(slot) => slot.set(read_targets(node, context, slot)?, origin),
        }
        Ok(())
    }
}

fn read_optional<T>(
    node: &DocumentNode,
    read: impl FnOnce(&DocumentNode) -> Result<T, ValueError>,
) -> Result<Option<T>, ValueError> {
    match &node.content {
        NodeContent::Null => Ok(None),
        NodeContent::Text(_) | NodeContent::List(_) | NodeContent::Map(_) => read(node).map(Some),
    }
}

/// Returns the text of a scalar, verbatim.
pub(in crate::config) fn read_scalar<'a>(node: &'a DocumentNode, expected: &str) -> Result<&'a str, ValueError> {
    match &node.content {
        NodeContent::Text(text) if text.contains('\0') => Err(ValueError::new("the value contains a NUL character")),
        NodeContent::Text(text) => Ok(text),
        NodeContent::Null => Err(ValueError::new(format!("no value: expected {expected}"))),
        NodeContent::List(_) => Err(ValueError::new(format!("found a list, expected {expected}"))),
        NodeContent::Map(_) => Err(ValueError::new(format!("found a table, expected {expected}"))),
    }
}

pub(in crate::config) fn read_text(node: &DocumentNode) -> Result<String, ValueError> {
    match read_scalar(node, "a string")? {
        "" => Err(ValueError::new("empty value").with_hint("remove the key to use its default")),
        text => Ok(text.to_owned()),
    }
}

pub(in crate::config) fn read_texts(node: &DocumentNode) -> Result<Vec<String>, ValueError> {
    let NodeContent::List(items) = &node.content else {
        return Err(ValueError::new("expected a list").with_hint("write [first, second], or one `- item` per line"));
    };
    items.iter().map(|item| read_scalar(item, "a string").map(str::to_owned)).collect()
}

/// Reads a list of names. A plain string is split at commas, as in a variable.
fn read_names(node: &DocumentNode) -> Result<Vec<String>, ValueError> {
    let names = match &node.content {
        NodeContent::Text(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
        NodeContent::Null | NodeContent::List(_) | NodeContent::Map(_) => read_texts(node)?,
    };
    let is_empty = |name: &String| name.is_empty();
    if names.iter().any(is_empty) { Err(ValueError::new("a name is empty")) } else { Ok(names) }
}

pub(in crate::config) fn read_flag(node: &DocumentNode) -> Result<bool, ValueError> {
    match read_scalar(node, "true or false")? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(ValueError::new(format!("{other:?} is neither true nor false"))),
    }
}

fn read_switch(node: &DocumentNode) -> Result<bool, ValueError> {
    match read_scalar(node, "true or false")? {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => read_flag(node),
    }
}

pub(in crate::config) fn read_count(node: &DocumentNode, bounds: NumberBounds) -> Result<u32, ValueError> {
    let NumberBounds { min, max } = bounds;
    let written = read_scalar(node, "a whole number")?;
    let refused = |problem: &str| ValueError::new(format!("{written:?} {problem}"));
    let is_plain = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err(refused("is not a whole number").with_hint("write decimal digits, such as 10"));
    }
    if written.len() > 1 && written.starts_with('0') {
        let hint = "remove the leading zero; some programs read such a number as octal";
        return Err(refused("begins with 0").with_hint(hint));
    }
    let number = written.parse::<u32>().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| refused(&format!("is not between {min} and {max}")))
}

pub(in crate::config) fn read_duration(node: &DocumentNode) -> Result<Duration, ValueError> {
    let written = read_scalar(node, "a duration")?;
    duration::parse(written).map_err(|error| ValueError::new(error.to_string()))
}

fn read_size(node: &DocumentNode) -> Result<MemorySize, ValueError> {
    let written = read_scalar(node, "an amount of memory")?;
    MemorySize::parse(written).map_err(|error| ValueError::new(error.to_string()))
}

fn read_money(node: &DocumentNode) -> Result<DollarAmount, ValueError> {
    let written = read_scalar(node, "an amount of dollars")?;
    DollarAmount::parse(written).map_err(|error| ValueError::new(error.to_string()))
}

fn read_tokens(node: &DocumentNode) -> Result<u64, ValueError> {
    let written = read_scalar(node, "a number of tokens")?;
    parse_tokens(written).map_err(|error| ValueError::new(error.to_string()))
}

fn read_format(node: &DocumentNode) -> Result<Option<OutputFormat>, ValueError> {
    match read_scalar(node, "a format")? {
        ADAPTER_JSON_FORMAT => Ok(None),
        name => name.parse().map(Some).map_err(|error: ralph_agents::UnknownOutputFormat| {
            let hint = error.hint();
            ValueError::new(error.to_string()).with_hint(hint)
        }),
    }
}

fn read_permission(node: &DocumentNode) -> Result<PermissionLevel, ValueError> {
    let all: Vec<_> = PermissionLevel::ALL.iter().map(|permission| (permission.name(), *permission)).collect();
    read_choice(node, &all)
}

fn read_api(node: &DocumentNode) -> Result<JudgeApi, ValueError> {
    let all: Vec<_> = JudgeApi::ALL.iter().map(|api| (api.name(), *api)).collect();
    read_choice(node, &all)
}

fn read_choice<T: Copy>(node: &DocumentNode, choices: &[(&str, T)]) -> Result<T, ValueError> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let written = read_scalar(node, &names.join(" or "))?;
    let found = choices.iter().find(|(name, _)| *name == written);
    found.map(|(_, value)| *value).ok_or_else(|| {
        ValueError::new(format!("{written:?} is not a valid value"))
            .with_hint(suggest::suggestion_hint(written, &names))
    })
}

/// Reads `true`, `false`, or a list of phrases to search for in addition to the built-in ones.
fn read_contradictions(node: &DocumentNode) -> Result<ContradictionSearch, ValueError> {
    match &node.content {
        NodeContent::List(_) => match read_texts(node)? {
            extra if extra.iter().any(|phrase| phrase.trim().is_empty()) => {
                Err(ValueError::new("an empty phrase would match every message"))
            }
            extra => Ok(ContradictionSearch::On { extra }),
        },
        NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_) => read_flag(node).map(|on| match on {
            true => ContradictionSearch::On { extra: Vec::new() },
            false => ContradictionSearch::Off,
        }),
    }
}

/// Converts the setting to JSON, as it would be written.
pub(in crate::config) fn contradictions_to_json(value: &ContradictionSearch) -> serde_json::Value {
    match value {
        ContradictionSearch::Off => false.into(),
        ContradictionSearch::On { extra } if extra.is_empty() => true.into(),
        ContradictionSearch::On { extra } => extra.clone().into(),
    }
}
