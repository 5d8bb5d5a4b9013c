//! Tests of the layers, without files.

mod agents;
mod checks;
mod classic_file;
mod fingerprints;
mod judge_api;
mod key_consistency;
mod layers;
mod loosened_rules;
mod values;

use crate::advice::Advice;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::{any, proptest};
use ralph_core::claim::{ClaimScope, ContradictionSearch, PromiseMatching};

use super::*;
use crate::config::keys::key_list::{AGENT_KEYS, CHECK_KEYS, CONFIG_KEYS, KeyTarget, environment_variable};
use crate::config::layers::{classic, document, environment};
use crate::config::settings::origin::SettingSource;

fn file_source(layer: FileLayer, name: &str) -> SettingSource {
    SettingSource::File { layer, path: PathBuf::from(name) }
}

fn settings_from_yaml(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    document::apply_document(&mut settings, text, &file_source(FileLayer::Project, "config.yaml"))?;
    settings.validate_agents()?;
    Ok(settings)
}

fn settings_from_classic(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    classic::apply_classic_file(&mut settings, text, &file_source(FileLayer::Project, "config"))?;
    settings.validate_agents()?;
    Ok(settings)
}

fn with_variables(settings: &mut Settings, variables: &[(&str, &str)]) -> Result<(), ConfigError> {
    environment::apply_environment(
        settings,
        variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )
}

#[track_caller]
fn assert_refused(settings: Result<Settings, ConfigError>, message: &str, hint: &str) {
    let error = settings.err().unwrap_or_else(|| panic!("accepted, but expected: {message}"));
    assert_eq!((error.to_string().as_str(), error.hint.as_ref().and_then(Advice::text).unwrap_or("")), (message, hint));
}

fn chosen_agent(settings: &Settings) -> ChosenAgent {
    settings.chosen_agent(&PathBuf::from("/project")).unwrap()
}
