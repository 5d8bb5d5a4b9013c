//! Lists the effective settings: each key with its value and origin.
use ralph_core::judge::JudgeApi;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::checks::check_json::check_to_json;
use crate::config::keys::key_list::{AGENT_KEYS, CONFIG_KEYS, KeyTarget};
use crate::config::keys::slot::{
    ADAPTER_JSON_FORMAT, COMMIT_CHOICES, CONTEXT_CHOICES, ISOLATION_CHOICES, LANDING_CHOICES, MATCHING_CHOICES,
    MESSAGE_CHOICES, METHOD_CHOICES, ON_ERROR_CHOICES, PROTECTION_CHOICES, SCOPE_CHOICES, SettingSlot,
    contradictions_to_json,
};
use crate::config::notify::notify_target::NotifyTarget;
use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::{Setting, SettingOrigin};
use ralph_util::amounts::DollarAmount;
use ralph_util::duration;

/// Shown instead of the values of agents' variables, which may be secret.
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
    /// The stricter value of the layers below, if the project's file loosens it.
    pub loosens: Option<String>,
}

impl Settings {
    /// Returns all settings, except keys that are reserved.
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
        for rule in &self.loosened_rules {
            let origin = rule.origin.to_string();
            let mut shown = all.iter_mut().filter(|shown| shown.key == rule.key && shown.origin == origin);
            shown.by_ref().for_each(|shown| shown.loosens = Some(rule.stricter_value.clone()));
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
            let Setting { value, origin } = slot_value(other);
            // Unset keys of an agent keep the value of its preset.
            if !path.starts_with("agents.") || origin != SettingOrigin::BuiltIn {
                all.push(effective_setting(path, value, &origin));
            }
        }
    }
}

fn effective_setting(key: &str, value: Value, origin: &SettingOrigin) -> EffectiveSetting {
    let (layer, origin) = (origin.layer_name(), origin.to_string());
    EffectiveSetting { key: key.to_owned(), value, layer, origin, loosens: None }
}

/// Returns the value of a slot as it would be written in a file, with its origin.
pub(in crate::config) fn slot_value(slot: SettingSlot<'_>) -> Setting<Value> {
    fn to_json_setting<T>(setting: &Setting<T>, value: impl FnOnce(&T) -> Value) -> Setting<Value> {
        Setting { value: value(&setting.value), origin: setting.origin.clone() }
    }
    match slot {
        SettingSlot::Text(slot) => to_json_setting(slot, |text| json!(text)),
        SettingSlot::MaybeText(slot) => to_json_setting(slot, |text| json!(text)),
        SettingSlot::MaybeTexts(slot) => to_json_setting(slot, |texts| json!(texts)),
        SettingSlot::Texts(slot) => to_json_setting(slot, |texts| json!(texts)),
        SettingSlot::Flag(slot) | SettingSlot::Switch(slot) => to_json_setting(slot, |flag| json!(flag)),
        SettingSlot::Count(slot, _) => to_json_setting(slot, |count| json!(count)),
        SettingSlot::Time(slot) => to_json_setting(slot, |time| json!(duration::format_exact(*time))),
        SettingSlot::MaybeTime(slot) => to_json_setting(slot, |time| json!(time.map(duration::format_exact))),
        SettingSlot::Size(slot) => to_json_setting(slot, |size| json!(format!("{}M", size.as_mb()))),
        SettingSlot::MaybeSize(slot) => {
            to_json_setting(slot, |size| json!(size.map(|size| format!("{}M", size.as_mb()))))
        }
        SettingSlot::MaybeMoney(slot) => to_json_setting(slot, |money| json!(money.map(DollarAmount::to_plain_text))),
        SettingSlot::MaybeTokens(slot) => to_json_setting(slot, |tokens| json!(tokens)),
        SettingSlot::MaybeCount(slot, _) => to_json_setting(slot, |count| json!(count)),
        SettingSlot::MaybeFormat(slot) => {
            to_json_setting(slot, |format| json!(format.map_or(ADAPTER_JSON_FORMAT, |format| format.name())))
        }
        SettingSlot::MaybePermission(slot) => to_json_setting(slot, |permission| json!(permission)),
        SettingSlot::Matching(slot) => to_json_setting(slot, |found| json!(choice_name(MATCHING_CHOICES, found))),
        SettingSlot::Context(slot) => to_json_setting(slot, |found| json!(choice_name(CONTEXT_CHOICES, found))),
        SettingSlot::Scope(slot) => to_json_setting(slot, |found| json!(choice_name(SCOPE_CHOICES, found))),
        SettingSlot::Method(slot) => to_json_setting(slot, |found| json!(choice_name(METHOD_CHOICES, found))),
        SettingSlot::Protection(slot) => to_json_setting(slot, |found| json!(choice_name(PROTECTION_CHOICES, found))),
        SettingSlot::Isolation(slot) => to_json_setting(slot, |found| json!(choice_name(ISOLATION_CHOICES, found))),
        SettingSlot::Commit(slot) => to_json_setting(slot, |found| json!(choice_name(COMMIT_CHOICES, found))),
        SettingSlot::Messages(slot) => to_json_setting(slot, |found| json!(choice_name(MESSAGE_CHOICES, found))),
        SettingSlot::Landing(slot) => to_json_setting(slot, |found| json!(choice_name(LANDING_CHOICES, found))),
        SettingSlot::Contradictions(slot) => to_json_setting(slot, contradictions_to_json),
        SettingSlot::Checks(slot) => {
            to_json_setting(slot, |checks| checks.iter().map(|check| check_to_json(&check.criterion)).collect())
        }
        SettingSlot::Command(slot) => to_json_setting(slot, |command| json!(command)),
        SettingSlot::Strings(slot) => to_json_setting(slot, |texts| json!(texts)),
        SettingSlot::Stages(slot) => {
            to_json_setting(slot, |stages| stages.iter().map(|stage| check_to_json(&stage.check.criterion)).collect())
        }
        SettingSlot::Json(slot) => to_json_setting(slot, |value| json!(value)),
        SettingSlot::With(slot) => to_json_setting(slot, |with| json!(with)),
        SettingSlot::OnError(slot) => to_json_setting(slot, |found| json!(choice_name(ON_ERROR_CHOICES, found))),
        SettingSlot::MaybeApi(slot) => to_json_setting(slot, |api| json!(api.map(JudgeApi::name))),
        SettingSlot::Notify(slot) => {
            to_json_setting(slot, |targets| targets.iter().map(NotifyTarget::to_json).collect())
        }
        // Tables are listed entry by entry.
        SettingSlot::Table(_) | SettingSlot::Agents(_) => Setting::built_in(json!({})),
    }
}

fn choice_name<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}
