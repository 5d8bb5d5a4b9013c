//! One place in the settings that a key fills: what may be written there, and how it is understood. A kind is
//! defined by its slot, so that parser, schema and help cannot disagree.
use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::claim::{Contradictions, Matching, Scope};
use ralph_core::criterion::template::Values;
use ralph_core::criterion::{CheckCommand, MOST_RETRIES};
use ralph_core::judge::{Api, OnError};
use ralph_core::policy::Context;
use ralph_core::task::MethodName;

use super::checks::{self, Check, WrittenStage};
use super::document::{self, At};
use super::error::{ConfigError, Refusal};
use super::origin::Setting;
use super::pipeline::Landing;
use super::settings::AgentSettings;
use ralph_agents::{Format, Permission};
use ralph_core::isolation::Isolation;
use ralph_util::duration;
use ralph_util::memory_size::MemorySize;
use ralph_util::money::{Money, parse_tokens};
use ralph_util::suggest;
use ralph_util::yaml::{Content, Node};

/// Where a value goes.
pub(super) enum Slot<'a> {
    Text(&'a mut Setting<String>),
    MaybeText(&'a mut Setting<Option<String>>),
    MaybeTexts(&'a mut Setting<Option<Vec<String>>>),
    Table(&'a mut BTreeMap<String, Setting<String>>),
    Texts(&'a mut Setting<Vec<String>>),
    Flag(&'a mut Setting<bool>),
    /// A flag that may also be written as `on` or `off`.
    Switch(&'a mut Setting<bool>),
    Count(&'a mut Setting<u32>, Bounds),
    Time(&'a mut Setting<Duration>),
    MaybeTime(&'a mut Setting<Option<Duration>>),
    Size(&'a mut Setting<MemorySize>),
    MaybeSize(&'a mut Setting<Option<MemorySize>>),
    MaybeMoney(&'a mut Setting<Option<Money>>),
    MaybeTokens(&'a mut Setting<Option<u64>>),
    MaybeCount(&'a mut Setting<Option<u32>>, Bounds),
    MaybeFormat(&'a mut Setting<Option<Format>>),
    MaybePermission(&'a mut Setting<Option<Permission>>),
    Matching(&'a mut Setting<Matching>),
    Context(&'a mut Setting<Context>),
    Scope(&'a mut Setting<Scope>),
    Method(&'a mut Setting<MethodName>),
    Isolation(&'a mut Setting<Isolation>),
    Landing(&'a mut Setting<Landing>),
    Contradictions(&'a mut Setting<Contradictions>),
    Checks(&'a mut Setting<Vec<Check>>),
    Command(&'a mut Setting<Option<CheckCommand>>),
    Strings(&'a mut Setting<Vec<String>>),
    Stages(&'a mut Setting<Vec<WrittenStage>>),
    Json(&'a mut Setting<Option<serde_json::Value>>),
    With(&'a mut Setting<BTreeMap<String, Values>>),
    OnError(&'a mut Setting<OnError>),
    MaybeApi(&'a mut Setting<Option<Api>>),
    Agents(&'a mut BTreeMap<String, AgentSettings>),
}

/// How much it takes to write a value, where there is only one line for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The text is the value.
    One,
    /// Several words.
    Words,
    /// Words or tables of their own.
    List,
}

/// The smallest and the largest number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds(pub u32, pub u32);

impl Bounds {
    /// More than a million is a typing mistake.
    pub(super) const ITERATIONS: Self = Self(1, 1_000_000);
    pub(super) const RETRIES: Self = Self(0, 1_000_000);
    pub(super) const EXIT_CODES: Self = Self(0, 255);
    pub(super) const SLOTS: Self = Self(1, 10_000);
    /// More tries of one check would make anything pass.
    pub(super) const CHECK_RETRIES: Self = Self(0, MOST_RETRIES);
}

pub(super) const MATCHING: &[(&str, Matching)] = &[("loose", Matching::Loose), ("exact", Matching::Exact)];
pub(super) const CONTEXT: &[(&str, Context)] = &[("continue", Context::Continue), ("fresh", Context::Fresh)];
/// The methods that need nothing but the task.
pub(super) const METHOD: &[(&str, MethodName)] =
    &[("string_match", MethodName::StringMatch), ("semantic", MethodName::Semantic)];
pub(super) const SCOPE: &[(&str, Scope)] = &[("final", Scope::Final), ("iteration", Scope::Iteration)];

pub(super) const ON_ERROR: &[(&str, OnError)] =
    &[("reject", OnError::Reject), ("string_match", OnError::StringMatch)];
pub(super) const ISOLATION: &[(&str, Isolation)] =
    &[(Isolation::Workspace.as_str(), Isolation::Workspace), (Isolation::Clean.as_str(), Isolation::Clean)];

pub(super) const LANDING: &[(&str, Landing)] = &[("manual", Landing::Manual), ("auto", Landing::Auto)];

/// The adapter's own JSON format, as the classic configuration calls it.
pub(super) const OWN_FORMAT: &str = "json";

impl Slot<'_> {
    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::MaybeTexts(_) => Shape::Words,
            Self::Texts(_)
            | Self::Contradictions(_)
            | Self::Checks(_)
            | Self::Command(_)
            | Self::Strings(_)
            | Self::Stages(_)
            | Self::Json(_)
            | Self::With(_) => Shape::List,
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
            | Self::Landing(_)
            | Self::Agents(_) => Shape::One,
        }
    }

    /// Puts a value into its place.
    pub(super) fn fill(self, node: &Node, at: &At<'_>) -> Result<(), ConfigError> {
        let origin = at.source.origin(node.line);
        let refused = |refusal: Refusal| at.refuse(node, refusal);
        match self {
            Self::Text(slot) => slot.set(text(node).map_err(refused)?, origin),
            Self::MaybeText(slot) => slot.set(maybe(node, text).map_err(refused)?, origin),
            Self::MaybeTexts(slot) => slot.set(maybe(node, texts).map_err(refused)?, origin),
            Self::Texts(slot) => slot.set(names(node).map_err(refused)?, origin),
            Self::Flag(slot) => slot.set(flag(node).map_err(refused)?, origin),
            Self::Switch(slot) => slot.set(switch(node).map_err(refused)?, origin),
            Self::Count(slot, bounds) => slot.set(count(node, bounds).map_err(refused)?, origin),
            Self::Time(slot) => slot.set(time(node).map_err(refused)?, origin),
            Self::MaybeTime(slot) => slot.set(maybe(node, time).map_err(refused)?, origin),
            Self::Size(slot) => slot.set(size(node).map_err(refused)?, origin),
            Self::MaybeSize(slot) => slot.set(maybe(node, size).map_err(refused)?, origin),
            Self::MaybeMoney(slot) => slot.set(maybe(node, money).map_err(refused)?, origin),
            Self::MaybeTokens(slot) => slot.set(maybe(node, tokens).map_err(refused)?, origin),
            Self::MaybeCount(slot, bounds) => {
                slot.set(maybe(node, |node| count(node, bounds)).map_err(refused)?, origin);
            }
            Self::MaybeFormat(slot) => slot.set(format(node).map_err(refused)?, origin),
            Self::MaybePermission(slot) => slot.set(maybe(node, permission).map_err(refused)?, origin),
            Self::Matching(slot) => slot.set(choice(node, MATCHING).map_err(refused)?, origin),
            Self::Context(slot) => slot.set(choice(node, CONTEXT).map_err(refused)?, origin),
            Self::Scope(slot) => slot.set(choice(node, SCOPE).map_err(refused)?, origin),
            Self::Method(slot) => slot.set(choice(node, METHOD).map_err(refused)?, origin),
            Self::Isolation(slot) => slot.set(choice(node, ISOLATION).map_err(refused)?, origin),
            Self::Landing(slot) => slot.set(choice(node, LANDING).map_err(refused)?, origin),
            Self::Contradictions(slot) => slot.set(contradictions(node).map_err(refused)?, origin),
            Self::Table(slot) => return document::table(slot, node, at),
            Self::Checks(slot) => slot.set(checks::checks(node, at)?, origin),
            Self::Command(slot) => slot.set(maybe(node, checks::command).map_err(refused)?, origin),
            Self::Strings(slot) => slot.set(checks::strings(node).map_err(refused)?, origin),
            Self::Stages(slot) => slot.set(checks::stages(node, at)?, origin),
            Self::Json(slot) => slot.set(Some(checks::json(node)).filter(|value| !value.is_null()), origin),
            Self::With(slot) => slot.set(checks::with(node, at)?, origin),
            Self::OnError(slot) => slot.set(choice(node, ON_ERROR).map_err(refused)?, origin),
            Self::MaybeApi(slot) => slot.set(maybe(node, api).map_err(refused)?, origin),
            Self::Agents(slot) => return document::agents(slot, node, at),
        }
        Ok(())
    }
}

fn maybe<T>(node: &Node, read: impl FnOnce(&Node) -> Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match &node.content {
        Content::Nothing => Ok(None),
        Content::Text(_) | Content::List(_) | Content::Map(_) => read(node).map(Some),
    }
}

/// Returns the text of a scalar as it was written.
pub(super) fn scalar<'a>(node: &'a Node, wanted: &str) -> Result<&'a str, Refusal> {
    match &node.content {
        Content::Text(text) if text.contains('\0') => Err(Refusal::new("it holds a NUL character")),
        Content::Text(text) => Ok(text),
        Content::Nothing => Err(Refusal::new(format!("it has no value: {wanted} is expected"))),
        Content::List(_) => Err(Refusal::new(format!("it is a list: {wanted} is expected"))),
        Content::Map(_) => Err(Refusal::new(format!("it is a table: {wanted} is expected"))),
    }
}

pub(super) fn text(node: &Node) -> Result<String, Refusal> {
    match scalar(node, "a text")? {
        "" => Err(Refusal::new("it is empty").hint("leave the key out to keep what holds without it")),
        text => Ok(text.to_owned()),
    }
}

pub(super) fn texts(node: &Node) -> Result<Vec<String>, Refusal> {
    let Content::List(items) = &node.content else {
        return Err(Refusal::new("a list is expected").hint("write [first, second], or one `- item` a line"));
    };
    items.iter().map(|item| scalar(item, "a text").map(str::to_owned)).collect()
}

/// Reads a list of names; a single one may stand alone, and in a variable they are parted by commas.
fn names(node: &Node) -> Result<Vec<String>, Refusal> {
    let names = match &node.content {
        Content::Text(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
        Content::Nothing | Content::List(_) | Content::Map(_) => texts(node)?,
    };
    let is_empty = |name: &String| name.is_empty();
    if names.iter().any(is_empty) { Err(Refusal::new("a name is empty")) } else { Ok(names) }
}

pub(super) fn flag(node: &Node) -> Result<bool, Refusal> {
    match scalar(node, "true or false")? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(Refusal::new(format!("{other:?} is neither true nor false"))),
    }
}

fn switch(node: &Node) -> Result<bool, Refusal> {
    match scalar(node, "true or false")? {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => flag(node),
    }
}

pub(super) fn count(node: &Node, Bounds(least, most): Bounds) -> Result<u32, Refusal> {
    let written = scalar(node, "a whole number")?;
    let refused = |what: &str| Refusal::new(format!("{written:?} {what}"));
    let is_plain = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err(refused("is not a whole number").hint("write decimal digits, such as 10"));
    }
    if written.len() > 1 && written.starts_with('0') {
        let hint = "some programs read that as octal: write it without the zero in front";
        return Err(refused("begins with 0").hint(hint));
    }
    let number = written.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| refused(&format!("is not between {least} and {most}")))
}

pub(super) fn time(node: &Node) -> Result<Duration, Refusal> {
    let written = scalar(node, "a duration")?;
    duration::parse(written).map_err(|error| Refusal::new(error.to_string()))
}

fn size(node: &Node) -> Result<MemorySize, Refusal> {
    let written = scalar(node, "an amount of memory")?;
    MemorySize::parse(written).map_err(|error| Refusal::new(error.to_string()))
}

fn money(node: &Node) -> Result<Money, Refusal> {
    let written = scalar(node, "an amount of dollars")?;
    Money::parse(written).map_err(|error| Refusal::new(error.to_string()))
}

fn tokens(node: &Node) -> Result<u64, Refusal> {
    let written = scalar(node, "a number of tokens")?;
    parse_tokens(written).map_err(|error| Refusal::new(error.to_string()))
}

fn format(node: &Node) -> Result<Option<Format>, Refusal> {
    match scalar(node, "a format")? {
        OWN_FORMAT => Ok(None),
        name => name.parse().map(Some).map_err(|error: ralph_agents::UnknownFormat| {
            let hint = error.hint();
            Refusal::new(error.to_string()).hint(hint)
        }),
    }
}

fn permission(node: &Node) -> Result<Permission, Refusal> {
    let all: Vec<_> = Permission::ALL.iter().map(|permission| (permission.name(), *permission)).collect();
    choice(node, &all)
}

fn api(node: &Node) -> Result<Api, Refusal> {
    let all: Vec<_> = Api::ALL.iter().map(|api| (api.name(), *api)).collect();
    choice(node, &all)
}

fn choice<T: Copy>(node: &Node, among: &[(&str, T)]) -> Result<T, Refusal> {
    let names: Vec<&str> = among.iter().map(|(name, _)| *name).collect();
    let written = scalar(node, &names.join(" or "))?;
    let found = among.iter().find(|(name, _)| *name == written);
    found.map(|(_, value)| *value).ok_or_else(|| {
        Refusal::new(format!("{written:?} means nothing here")).hint(suggest::hint(written, &names))
    })
}

/// `true`, `false`, or phrases that are looked for beside the usual ones.
fn contradictions(node: &Node) -> Result<Contradictions, Refusal> {
    match &node.content {
        Content::List(_) => match texts(node)? {
            extra if extra.iter().any(|phrase| phrase.trim().is_empty()) => {
                Err(Refusal::new("an empty phrase would stand in every message"))
            }
            extra => Ok(Contradictions::On { extra }),
        },
        Content::Nothing | Content::Text(_) | Content::Map(_) => flag(node).map(|on| match on {
            true => Contradictions::On { extra: Vec::new() },
            false => Contradictions::Off,
        }),
    }
}

/// Returns how contradictions would be written.
pub(super) fn contradictions_value(value: &Contradictions) -> serde_json::Value {
    match value {
        Contradictions::Off => false.into(),
        Contradictions::On { extra } if extra.is_empty() => true.into(),
        Contradictions::On { extra } => extra.clone().into(),
    }
}
