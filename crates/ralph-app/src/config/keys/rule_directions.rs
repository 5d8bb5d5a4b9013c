//! Which values of a key loosen a rule of the user. The project's file may tighten a rule; a value that loosens one needs approval,
//! because another person may have written it.
use serde_json::Value;

use crate::config::keys::key_list::{CONFIG_KEYS, KeyTarget};
use crate::config::keys::show::slot_value;
use crate::config::keys::slot::SettingSlot;
use crate::config::settings::all_settings::Settings;
use crate::config::settings::loosened_rule::LoosenedRule;
use crate::config::settings::origin::{FileLayer, Setting, SettingOrigin};

/// Which values of a key loosen a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum LooseningValues {
    /// No value: the key is not a rule, or all of its values need approval because they start something.
    Never,
    /// `false`, where `true` is the rule.
    False,
    /// `true`, where `false` is the rule.
    True,
    /// A larger amount than the user's, or none. Built-in amounts are only defaults.
    Larger,
    /// The same for a number that is disabled by 0.
    LargerOrZero,
    /// A list with an entry that the user's list lacks.
    Additions,
    /// A list without an entry of the user's list, or `false` in place of it.
    Removals,
    /// Patterns in .gitignore syntax that match less: one is removed, or an exception (`!…`) is added.
    NarrowerPatterns,
    /// Patterns that match more: one is added, or an exception is removed.
    WiderPatterns,
    /// A choice that comes later in this order.
    LaterChoice(&'static [&'static str]),
    /// These values, if the user's file sets the key: the built-in value is only a default.
    IfSetByUser(&'static LooseningValues),
}

use LooseningValues::{
    Additions, False, IfSetByUser, Larger, LargerOrZero, LaterChoice, NarrowerPatterns, Never, Removals, True,
    WiderPatterns,
};

/// Every key, in the order of [`CONFIG_KEYS`].
#[rustfmt::skip]
pub(in crate::config) const LOOSENING_VALUES: &[(&str, LooseningValues)] = &[
    ("agent", Never),
    ("model", Never),
    ("models", Never),
    ("permission", Never),
    ("agents", Never),
    ("fallback", Never),
    ("context", Never),
    ("checks", Removals),
    ("specs_dir", Never),
    ("vars", Never),
    ("board.keys", Never),
    ("ralph.default_max_iterations", Larger),
    ("ralph.enabled", Never),
    ("ralph.default_verification", LaterChoice(&["semantic", "string_match"])),
    ("ralph.verify_promises", False),
    ("ralph.coder.enabled", Never),
    ("ralph.coder.max_iterations", Larger),
    ("ralph.coder.completion_promise", Never),
    ("ralph.coder.agent", Never),
    ("ralph.coder.model", Never),
    ("ralph.coder.role_check", False),
    ("ralph.reviewer.enabled", Never),
    ("ralph.reviewer.max_iterations", Larger),
    ("ralph.reviewer.completion_promise", Never),
    ("ralph.reviewer.agent", Never),
    ("ralph.reviewer.model", Never),
    ("ralph.reviewer.role_check", False),
    ("ralph.tester.enabled", Never),
    ("ralph.tester.max_iterations", Larger),
    ("ralph.tester.completion_promise", Never),
    ("ralph.tester.agent", Never),
    ("ralph.tester.model", Never),
    ("ralph.tester.role_check", False),
    ("ralph.qa.enabled", Never),
    ("ralph.qa.max_iterations", Larger),
    ("ralph.qa.completion_promise", Never),
    ("ralph.qa.agent", Never),
    ("ralph.qa.model", Never),
    ("limits.iteration_timeout", Larger),
    ("limits.idle_timeout", Larger),
    ("limits.after_result", Larger),
    ("limits.retrying_timeout", Larger),
    ("limits.handshake_timeout", Larger),
    ("limits.max_rate_limit_wait", Larger),
    ("limits.max_wait", Larger),
    ("limits.park_after", Never),
    ("limits.grace", Larger),
    ("limits.max_retries", Larger),
    ("limits.max_memory", Larger),
    ("limits.log_limit", Larger),
    ("signals.match", LaterChoice(&["exact", "loose"])),
    ("signals.scope", LaterChoice(&["final", "iteration"])),
    ("signals.nonce", False),
    ("signals.contradictions", Removals),
    ("verification.baseline", False),
    ("verification.isolation", LaterChoice(&["clean", "workspace"])),
    ("verification.tests", LaterChoice(&["protect", "report", "off"])),
    ("verification.setup", Never),
    ("verification.share", Additions),
    ("verification.cache", True),
    ("verification.role_checks", False),
    ("verification.require_criteria", False),
    ("verification.require_proof", False),
    ("verification.guard", NarrowerPatterns),
    ("verification.allow_changes", WiderPatterns),
    ("pipeline.stages", IfSetByUser(&Removals)),
    ("pipeline.slots", Larger),
    ("pipeline.max_rounds", Larger),
    ("pipeline.max_attempts", Larger),
    ("pipeline.lease", Never),
    ("pipeline.land", LaterChoice(&["manual", "auto"])),
    ("pipeline.commit", Never),
    ("pipeline.setup", Never),
    ("limits.max_cost_usd", Larger),
    ("limits.max_tokens", Larger),
    ("limits.max_duration", Larger),
    ("limits.task.max_cost_usd", Larger),
    ("limits.task.max_tokens", Larger),
    ("limits.task.max_duration", Larger),
    ("limits.task.max_iterations", Larger),
    ("limits.spec.max_cost_usd", Larger),
    ("limits.spec.max_tokens", Larger),
    ("limits.spec.max_duration", Larger),
    ("limits.spec.max_iterations", Larger),
    ("limits.require_known_cost", False),
    ("stall.iterations", LargerOrZero),
    ("verification.judge.agent", Never),
    ("verification.judge.api", Never),
    ("verification.judge.url", Never),
    ("verification.judge.key_env", Never),
    ("verification.judge.model", Never),
    ("verification.judge.on_error", LaterChoice(&["reject", "string_match"])),
    ("verification.judge.timeout", Larger),
    ("session.enabled", True),
    ("session.max_iterations", Larger),
    ("session.promise", Never),
    ("session.continuation_delay", Never),
    ("platforms.mode", Never),
    ("platforms.slack.url_env", Never),
    ("platforms.slack.secret_env", Never),
    ("platforms.webhook.url", Never),
    ("platforms.webhook.secret_env", Never),
    ("notify", Never),
    ("store", Never),
    ("sandbox", Never),
];

/// Returns the rules that are looser than in the layers below the project's file.
pub(in crate::config) fn find_loosened_rules(below: &Settings, with_project: &Settings) -> Vec<LoosenedRule> {
    let (mut below, mut above) = (below.clone(), with_project.clone());
    CONFIG_KEYS
        .iter()
        .filter_map(|key| {
            let KeyTarget::Slot(slot) = &key.target else { return None };
            let values = LOOSENING_VALUES.iter().find(|(path, _)| *path == key.path)?.1;
            let (old_amount, new_amount) = (slot_amount(&slot(&mut below)), slot_amount(&slot(&mut above)));
            let (old, new) = (slot_value(slot(&mut below)), slot_value(slot(&mut above)));
            let is_larger = |zero: u128| {
                let unlimited_if = |amount: u128| if amount == zero { u128::MAX } else { amount };
                is_from_user(&old.origin) && unlimited_if(new_amount) > unlimited_if(old_amount)
            };
            let is_looser = match values {
                Larger => is_larger(u128::MAX),
                LargerOrZero => is_larger(0),
                Never | False | True | Additions | Removals | NarrowerPatterns | WiderPatterns | LaterChoice(_)
                | IfSetByUser(_) => is_looser(values, &old, &new),
            };
            (is_looser && new.origin.is_from_project()).then(|| LoosenedRule {
                key: key.path.to_owned(),
                value: format_rule_value(&new.value),
                stricter_value: format_rule_value(&old.value),
                origin: new.origin,
            })
        })
        .collect()
}

fn is_from_user(origin: &SettingOrigin) -> bool {
    matches!(origin, SettingOrigin::File { layer: FileLayer::User, .. })
}

fn is_looser(values: LooseningValues, old: &Setting<Value>, new: &Setting<Value>) -> bool {
    let lacks =
        |list: &Value, other: &Value| list_entries(other).iter().any(|entry| !list_entries(list).contains(entry));
    match values {
        Never | Larger | LargerOrZero => false,
        False => old.value == true && new.value == false,
        True => old.value == false && new.value == true,
        Additions => lacks(&old.value, &new.value),
        Removals => lacks(&new.value, &old.value),
        NarrowerPatterns => !matches_at_least(&list_entries(&new.value), &list_entries(&old.value)),
        WiderPatterns => !matches_at_least(&list_entries(&old.value), &list_entries(&new.value)),
        LaterChoice(order) => {
            let rank = |value: &Value| order.iter().position(|choice| value == choice);
            rank(&new.value) > rank(&old.value)
        }
        IfSetByUser(values) => is_from_user(&old.origin) && is_looser(*values, old, new),
    }
}

/// Returns whether the patterns surely match every file that the others match: they have all of the others' patterns, no
/// exception (`!…`) that the others lack, and the same order, because the last pattern that fits a file decides.
fn matches_at_least(patterns: &[Value], others: &[Value]) -> bool {
    let is_exception = |pattern: &&Value| pattern.as_str().is_some_and(|text| text.starts_with('!'));
    let has_all = others.iter().filter(|pattern| !is_exception(pattern)).all(|pattern| patterns.contains(pattern));
    let adds_exception = patterns.iter().filter(is_exception).any(|pattern| !others.contains(pattern));
    let common = patterns.iter().filter(|pattern| others.contains(pattern));
    has_all && !adds_exception && common.eq(others.iter().filter(|pattern| patterns.contains(pattern)))
}

/// Returns the entries of a list. A switch that may be written as a list is one entry if it is on.
fn list_entries(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries.iter().cloned().chain([Value::Bool(true)]).collect(),
        Value::Bool(true) => vec![Value::Bool(true)],
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the amount in the smallest unit of its kind; the largest number if it is unlimited.
fn slot_amount(slot: &SettingSlot<'_>) -> u128 {
    let unlimited = |amount: Option<u128>| amount.unwrap_or(u128::MAX);
    match slot {
        SettingSlot::Count(setting, _) => setting.value.into(),
        SettingSlot::MaybeCount(setting, _) => unlimited(setting.value.map(Into::into)),
        SettingSlot::Time(setting) => setting.value.as_nanos(),
        SettingSlot::MaybeTime(setting) => unlimited(setting.value.map(|time| time.as_nanos())),
        SettingSlot::Size(setting) => setting.value.as_mb().into(),
        SettingSlot::MaybeSize(setting) => unlimited(setting.value.map(|size| size.as_mb().into())),
        SettingSlot::MaybeMoney(setting) => unlimited(setting.value.map(|money| money.as_micros().into())),
        SettingSlot::MaybeTokens(setting) => unlimited(setting.value.map(Into::into)),
        _ => 0,
    }
}

fn format_rule_value(value: &Value) -> String {
    match value {
        Value::Null => "no limit".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
