//! The layers together, without any file.

mod checks;
mod classic_file;
mod fingerprints;
mod judge_api;
mod layers;
mod of_agents;
mod same_keys;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::{any, proptest};
use ralph_core::claim::{Contradictions, Matching, Scope};

use super::keys::{KEYS, Place, variable};
use super::origin::Source;
use super::*;

fn source(layer: FileLayer, name: &str) -> Source {
    Source::File { layer, path: PathBuf::from(name) }
}

fn yaml(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    document::apply(&mut settings, text, &source(FileLayer::Project, "config.yaml"))?;
    settings.check_agents()?;
    Ok(settings)
}

fn old(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    classic::apply(&mut settings, text, &source(FileLayer::Project, "config"))?;
    settings.check_agents()?;
    Ok(settings)
}

fn with_variables(settings: &mut Settings, variables: &[(&str, &str)]) -> Result<(), ConfigError> {
    environment::apply(
        settings,
        variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )
}

#[track_caller]
fn refused(settings: Result<Settings, ConfigError>, message: &str, hint: &str) {
    let error = settings.err().unwrap_or_else(|| panic!("accepted, but expected: {message}"));
    assert_eq!((error.to_string().as_str(), error.hint.as_deref().unwrap_or("")), (message, hint));
}

fn chosen(settings: &Settings) -> Chosen {
    settings.chosen(&PathBuf::from("/project")).unwrap()
}
