//! Fingerprints of the effective settings, stored with a run to detect changes. They are digests, so that they reveal
//! no secret.
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::config::keys::show::EffectiveSetting;
use crate::config::settings::all_settings::Settings;

impl Settings {
    /// Returns a digest of each key followed by a digest of its value. Key names are hashed because they may be secret
    /// too.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<String> {
        self.effective_settings()
            .iter()
            .map(|shown| format!("{} {}", short_digest(&shown.key), value_digest(shown)))
            .collect()
    }

    /// Describes each setting that has changed since these fingerprints were taken.
    #[must_use]
    pub fn describe_changes_since(&self, earlier: &[String]) -> Vec<String> {
        let mut earlier: BTreeMap<&str, &str> = earlier.iter().filter_map(|pair| pair.split_once(' ')).collect();
        let now = self.effective_settings();
        let changed = now.iter().filter(|shown| match earlier.remove(short_digest(&shown.key).as_str()) {
            Some(before) => before != value_digest(shown),
            // The key may be new in this version of ralph: the user has not changed it.
            None => shown.layer != "built-in",
        });
        let mut changes: Vec<String> = changed.map(describe_change).collect();
        if !earlier.is_empty() {
            changes.push("settings of agents or variables were removed from the configuration".to_owned());
        }
        changes
    }
}

fn describe_change(shown: &EffectiveSetting) -> String {
    let EffectiveSetting { key, value, origin, .. } = shown;
    format!("the configuration now has {key}: {value} ({origin})")
}

fn value_digest(shown: &EffectiveSetting) -> String {
    short_digest(&shown.value.to_string())
}

fn short_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
