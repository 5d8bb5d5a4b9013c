//! `RALPH_*` variables: each key has one, named after its path. An empty one is the same as none; one that is
//! not known is somebody else's business, unless it looks like a slip of the finger.
use std::ffi::OsString;

use super::document::{self, At};
use super::error::{ConfigError, Refusal};
use super::keys::{KEYS, Key, Place, variable};
use super::origin::Source;
use super::settings::Settings;
use super::slot::Shape;
use ralph_util::suggest;
use ralph_util::yaml::{Content, Node, Written};

/// Applies the variables of an environment.
pub(super) fn apply(
    settings: &mut Settings,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), ConfigError> {
    let mut ours: Vec<(String, OsString)> = environment
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| name.starts_with("RALPH_") && !value.is_empty())
        .collect();
    ours.sort();
    settings.layer(|settings| ours.iter().try_for_each(|(name, value)| one(settings, name, value)))
}

fn one(settings: &mut Settings, name: &str, value: &OsString) -> Result<(), ConfigError> {
    let Some(key) = KEYS.iter().find(|key| variable(key.path).as_deref() == Some(name)) else {
        warn(settings, name);
        return Ok(());
    };
    let source = Source::Environment { variable: name.to_owned() };
    let Some(value) = value.to_str() else {
        return Err(Refusal::new("it is not UTF-8 text").at(name));
    };
    set(settings, key, value, &source)
}

fn set(
    settings: &mut Settings,
    key: &Key<Settings>,
    value: &str,
    source: &Source,
) -> Result<(), ConfigError> {
    let templates = settings.templates.clone();
    let at = At { source, path: String::new(), templates: &templates };
    match &key.place {
        Place::Later { default } => document::later(default, &document::read(value, source)?, &at),
        Place::Slot(slot) => {
            let slot = slot(settings);
            // What is more than a word is written as in a file.
            let node = match slot.shape() {
                Shape::One => Node {
                    line: 1,
                    column: 1,
                    written: Written::Plain,
                    content: Content::Text(value.to_owned()),
                },
                Shape::Words | Shape::List => document::read(value, source)?,
            };
            slot.fill(&node, &at)
        }
    }
}

fn warn(settings: &mut Settings, name: &str) {
    let known: Vec<String> = KEYS.iter().filter_map(|key| variable(key.path)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    if let Some(near) = suggest::near(name, &known) {
        settings.warnings.push(format!("the variable {name} sets nothing; did you mean {near}?"));
    }
}
