//! What the configuration said, in a form that can be stored with a run and tells no secret: only whether something is
//! still as it was.
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::settings::Settings;
use super::show::EffectiveSetting;

impl Settings {
    /// Returns the fingerprint of every key, with that of its value behind it. Names of keys can look like secrets, too.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<String> {
        self.effective_settings()
            .iter()
            .map(|shown| format!("{} {}", short_digest(&shown.key), value_digest(shown)))
            .collect()
    }

    /// Says what is not as it was when these fingerprints were taken.
    #[must_use]
    pub fn describe_changes_since(&self, earlier: &[String]) -> Vec<String> {
        let mut then: BTreeMap<&str, &str> = earlier.iter().filter_map(|pair| pair.split_once(' ')).collect();
        let now = self.effective_settings();
        let changed = now.iter().filter(|shown| match then.remove(short_digest(&shown.key).as_str()) {
            Some(before) => before != value_digest(shown),
            // A key that this ralph knows and the one of then did not is nobody's change.
            None => shown.layer != "built-in",
        });
        let mut changes: Vec<String> = changed.map(describe_change).collect();
        if !then.is_empty() {
            changes.push("something that the configuration said of agents or variables is gone".to_owned());
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
