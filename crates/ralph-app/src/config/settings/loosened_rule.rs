//! A rule of the user that the project's file loosens. It needs approval, as the commands of the project do.
use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::SettingOrigin;
use crate::config::settings::project_commands::ProjectCommand;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoosenedRule {
    /// The key, such as `verification.tests`.
    pub key: String,
    /// The value of the project's file.
    pub value: String,
    /// The value of the layers below.
    pub stricter_value: String,
    pub origin: SettingOrigin,
}

impl LoosenedRule {
    pub(in crate::config) fn to_project_command(&self) -> ProjectCommand {
        ProjectCommand {
            key: self.key.clone(),
            value: format!("{} instead of {}", self.value, self.stricter_value),
            origin: self.origin.clone(),
        }
    }
}

impl Settings {
    /// Returns the loosened rules that apply: no higher layer, such as a flag, replaces their values.
    #[must_use]
    pub fn effective_loosened_rules(&self) -> Vec<&LoosenedRule> {
        if self.loosened_rules.is_empty() {
            return Vec::new();
        }
        let effective = self.effective_settings();
        let is_effective =
            |rule: &&LoosenedRule| effective.iter().any(|shown| shown.key == rule.key && shown.loosens.is_some());
        self.loosened_rules.iter().filter(is_effective).collect()
    }
}
