//! The effective settings as a list: each key with its value and its origin.
use ralph_core::judge::Api;
use serde::Serialize;
use serde_json::{Value, json};

use super::keys::{AGENT_KEYS, KEYS, Place};
use super::origin::{Origin, Setting};
use super::settings::Settings;
use super::slot::{
    CONTEXT, ISOLATION, LANDING, MATCHING, METHOD, ON_ERROR, OWN_FORMAT, SCOPE, Slot, contradictions_value,
};
use super::written_check::written;
use ralph_util::duration;
use ralph_util::money::Money;

/// Values of agents' variables may be secrets.
const HIDDEN: &str = "[hidden]";

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
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
    pub fn shown(&self) -> Vec<Shown> {
        let mut copy = self.clone();
        let mut all = Vec::new();
        for key in KEYS {
            match &key.place {
                Place::Slot(slot) => shown(key.path, slot(&mut copy), &mut all),
                Place::Later { .. } => {}
            }
        }
        all
    }
}

fn shown(path: &str, slot: Slot<'_>, all: &mut Vec<Shown>) {
    match slot {
        Slot::Table(table) => {
            let secret = path.starts_with("agents.");
            for (name, setting) in table {
                let value = if secret { HIDDEN } else { &setting.value };
                all.push(entry(&format!("{path}.{name}"), json!(value), &setting.origin));
            }
        }
        Slot::Agents(agents) => {
            for (name, agent) in agents {
                for key in AGENT_KEYS {
                    let Place::Slot(slot) = &key.place else { continue };
                    shown(&format!("{path}.{name}.{}", key.path), slot(agent), all);
                }
            }
        }
        other => {
            let (value, origin) = single(other);
            // Parts of agents that nobody wrote are the preset's.
            if !path.starts_with("agents.") || origin != Origin::BuiltIn {
                all.push(entry(path, value, &origin));
            }
        }
    }
}

fn entry(key: &str, value: Value, origin: &Origin) -> Shown {
    Shown { key: key.to_owned(), value, layer: origin.layer(), origin: origin.to_string() }
}

/// Returns the value of a slot as it would be written.
pub(super) fn single(slot: Slot<'_>) -> (Value, Origin) {
    fn of<T>(setting: &Setting<T>, value: impl FnOnce(&T) -> Value) -> (Value, Origin) {
        (value(&setting.value), setting.origin.clone())
    }
    match slot {
        Slot::Text(slot) => of(slot, |text| json!(text)),
        Slot::MaybeText(slot) => of(slot, |text| json!(text)),
        Slot::MaybeTexts(slot) => of(slot, |texts| json!(texts)),
        Slot::Texts(slot) => of(slot, |texts| json!(texts)),
        Slot::Flag(slot) | Slot::Switch(slot) => of(slot, |flag| json!(flag)),
        Slot::Count(slot, _) => of(slot, |count| json!(count)),
        Slot::Time(slot) => of(slot, |time| json!(duration::write(*time))),
        Slot::MaybeTime(slot) => of(slot, |time| json!(time.map(duration::write))),
        Slot::Size(slot) => of(slot, |size| json!(format!("{}M", size.mb()))),
        Slot::MaybeSize(slot) => of(slot, |size| json!(size.map(|size| format!("{}M", size.mb())))),
        Slot::MaybeMoney(slot) => of(slot, |money| json!(money.map(Money::written))),
        Slot::MaybeTokens(slot) => of(slot, |tokens| json!(tokens)),
        Slot::MaybeCount(slot, _) => of(slot, |count| json!(count)),
        Slot::MaybeFormat(slot) => {
            of(slot, |format| json!(format.map_or(OWN_FORMAT, |format| format.name())))
        }
        Slot::MaybePermission(slot) => of(slot, |permission| json!(permission)),
        Slot::Matching(slot) => of(slot, |found| json!(name_of(MATCHING, found))),
        Slot::Context(slot) => of(slot, |found| json!(name_of(CONTEXT, found))),
        Slot::Scope(slot) => of(slot, |found| json!(name_of(SCOPE, found))),
        Slot::Method(slot) => of(slot, |found| json!(name_of(METHOD, found))),
        Slot::Isolation(slot) => of(slot, |found| json!(name_of(ISOLATION, found))),
        Slot::Landing(slot) => of(slot, |found| json!(name_of(LANDING, found))),
        Slot::Contradictions(slot) => of(slot, contradictions_value),
        Slot::Checks(slot) => {
            of(slot, |checks| checks.iter().map(|check| written(&check.criterion)).collect())
        }
        Slot::Command(slot) => of(slot, |command| json!(command)),
        Slot::Strings(slot) => of(slot, |texts| json!(texts)),
        Slot::Stages(slot) => {
            of(slot, |stages| stages.iter().map(|stage| written(&stage.check.criterion)).collect())
        }
        Slot::Json(slot) => of(slot, |value| json!(value)),
        Slot::With(slot) => of(slot, |with| json!(with)),
        Slot::OnError(slot) => of(slot, |found| json!(name_of(ON_ERROR, found))),
        Slot::MaybeApi(slot) => of(slot, |api| json!(api.map(Api::name))),
        // Tables are shown entry by entry.
        Slot::Table(_) | Slot::Agents(_) => (json!({}), Origin::BuiltIn),
    }
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}
