//! The effective settings as a list: each key with its value and its origin.
use ralph_core::judge::JudgeApi;
use serde::Serialize;
use serde_json::{Value, json};

use super::check_json::check_to_json;
use super::keys::{AGENT_KEYS, CONFIG_KEYS, KeyTarget};
use super::origin::{Setting, SettingOrigin};
use super::settings::Settings;
use super::slot::{
    ADAPTER_JSON_FORMAT, CONTEXT_CHOICES, ISOLATION_CHOICES, LANDING_CHOICES, MATCHING_CHOICES, METHOD_CHOICES,
    ON_ERROR_CHOICES, SCOPE_CHOICES, SettingSlot, contradictions_to_json,
};
use ralph_util::amounts::DollarAmount;
use ralph_util::duration;

/// Values of agents' variables may be secrets.
const HIDDEN_VALUE: &str = "[hidden]";

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectiveSetting {
    pub key: String,
    pub value: Value,
    /// `built-in`, `user`, `project`, `named`, `environment` or `flag`.
    pub layer: &'static str,
    /// `FILE:LINE`, the variable or the flag.
    pub origin: String,
}

impl Settings {
    /// Returns every key that has an effect.
    #[must_use]
    pub fn effective_settings(&self) -> Vec<EffectiveSetting> {
        let mut copy = self.clone();
        let mut all = Vec::new();
        for key in CONFIG_KEYS {
            match &key.target {
                KeyTarget::Slot(slot) => collect_effective_settings(key.path, slot(&mut copy), &mut all),
                KeyTarget::Reserved { .. } => {}
            }
        }
        all
    }
}

fn collect_effective_settings(path: &str, slot: SettingSlot<'_>, all: &mut Vec<EffectiveSetting>) {
    match slot {
        SettingSlot::Table(table) => {
            let secret = path.starts_with("agents.");
            for (name, setting) in table {
                let value = if secret { HIDDEN_VALUE } else { &setting.value };
                all.push(effective_setting(&format!("{path}.{name}"), json!(value), &setting.origin));
            }
        }
        SettingSlot::Agents(agents) => {
            for (name, agent) in agents {
                for key in AGENT_KEYS {
                    let KeyTarget::Slot(slot) = &key.target else { continue };
                    collect_effective_settings(&format!("{path}.{name}.{}", key.path), slot(agent), all);
                }
            }
        }
        other => {
            let (value, origin) = slot_value(other);
            // Parts of agents that nobody wrote are the preset's.
            if !path.starts_with("agents.") || origin != SettingOrigin::BuiltIn {
                all.push(effective_setting(path, value, &origin));
            }
        }
    }
}

fn effective_setting(key: &str, value: Value, origin: &SettingOrigin) -> EffectiveSetting {
    EffectiveSetting { key: key.to_owned(), value, layer: origin.layer_name(), origin: origin.to_string() }
}

/// Returns the value of a slot as it would be written.
pub(super) fn slot_value(slot: SettingSlot<'_>) -> (Value, SettingOrigin) {
    fn value_and_origin<T>(setting: &Setting<T>, value: impl FnOnce(&T) -> Value) -> (Value, SettingOrigin) {
        (value(&setting.value), setting.origin.clone())
    }
    match slot {
        SettingSlot::Text(slot) => value_and_origin(slot, |text| json!(text)),
        SettingSlot::MaybeText(slot) => value_and_origin(slot, |text| json!(text)),
        SettingSlot::MaybeTexts(slot) => value_and_origin(slot, |texts| json!(texts)),
        SettingSlot::Texts(slot) => value_and_origin(slot, |texts| json!(texts)),
        SettingSlot::Flag(slot) | SettingSlot::Switch(slot) => value_and_origin(slot, |flag| json!(flag)),
        SettingSlot::Count(slot, _) => value_and_origin(slot, |count| json!(count)),
        SettingSlot::Time(slot) => value_and_origin(slot, |time| json!(duration::format_exact(*time))),
        SettingSlot::MaybeTime(slot) => value_and_origin(slot, |time| json!(time.map(duration::format_exact))),
        SettingSlot::Size(slot) => value_and_origin(slot, |size| json!(format!("{}M", size.as_mb()))),
        SettingSlot::MaybeSize(slot) => {
            value_and_origin(slot, |size| json!(size.map(|size| format!("{}M", size.as_mb()))))
        }
        SettingSlot::MaybeMoney(slot) => value_and_origin(slot, |money| json!(money.map(DollarAmount::to_plain_text))),
        SettingSlot::MaybeTokens(slot) => value_and_origin(slot, |tokens| json!(tokens)),
        SettingSlot::MaybeCount(slot, _) => value_and_origin(slot, |count| json!(count)),
        SettingSlot::MaybeFormat(slot) => {
            value_and_origin(slot, |format| json!(format.map_or(ADAPTER_JSON_FORMAT, |format| format.name())))
        }
        SettingSlot::MaybePermission(slot) => value_and_origin(slot, |permission| json!(permission)),
        SettingSlot::Matching(slot) => value_and_origin(slot, |found| json!(choice_name(MATCHING_CHOICES, found))),
        SettingSlot::Context(slot) => value_and_origin(slot, |found| json!(choice_name(CONTEXT_CHOICES, found))),
        SettingSlot::Scope(slot) => value_and_origin(slot, |found| json!(choice_name(SCOPE_CHOICES, found))),
        SettingSlot::Method(slot) => value_and_origin(slot, |found| json!(choice_name(METHOD_CHOICES, found))),
        SettingSlot::Isolation(slot) => value_and_origin(slot, |found| json!(choice_name(ISOLATION_CHOICES, found))),
        SettingSlot::Landing(slot) => value_and_origin(slot, |found| json!(choice_name(LANDING_CHOICES, found))),
        SettingSlot::Contradictions(slot) => value_and_origin(slot, contradictions_to_json),
        SettingSlot::Checks(slot) => {
            value_and_origin(slot, |checks| checks.iter().map(|check| check_to_json(&check.criterion)).collect())
        }
        SettingSlot::Command(slot) => value_and_origin(slot, |command| json!(command)),
        SettingSlot::Strings(slot) => value_and_origin(slot, |texts| json!(texts)),
        SettingSlot::Stages(slot) => {
            value_and_origin(slot, |stages| stages.iter().map(|stage| check_to_json(&stage.check.criterion)).collect())
        }
        SettingSlot::Json(slot) => value_and_origin(slot, |value| json!(value)),
        SettingSlot::With(slot) => value_and_origin(slot, |with| json!(with)),
        SettingSlot::OnError(slot) => value_and_origin(slot, |found| json!(choice_name(ON_ERROR_CHOICES, found))),
        SettingSlot::MaybeApi(slot) => value_and_origin(slot, |api| json!(api.map(JudgeApi::name))),
        // Tables are shown entry by entry.
        SettingSlot::Table(_) | SettingSlot::Agents(_) => (json!({}), SettingOrigin::BuiltIn),
    }
}

fn choice_name<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}
