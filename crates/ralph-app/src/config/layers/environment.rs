//! `RALPH_*` variables: each key has one, named after its path. Empty variables count as unset. Unknown variables are
//! ignored, with a warning if the name looks like a typing mistake.
use std::ffi::OsString;

use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::key_list::{CONFIG_KEYS, ConfigKey, KeyTarget, environment_variable};
use crate::config::keys::slot::ValueShape;
use crate::config::layers::document::{self, KeyContext};
use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::SettingSource;
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, NodeContent, ScalarStyle};

/// Applies the variables of an environment as one layer.
pub(in crate::config) fn apply_environment(
    settings: &mut Settings,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), ConfigError> {
    let mut ours: Vec<(String, OsString)> = environment
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| name.starts_with("RALPH_") && !value.is_empty())
        .collect();
    ours.sort();
    settings.apply_layer(|settings| ours.iter().try_for_each(|(name, value)| apply_variable(settings, name, value)))
}

fn apply_variable(settings: &mut Settings, name: &str, value: &OsString) -> Result<(), ConfigError> {
    let Some(key) = CONFIG_KEYS.iter().find(|key| environment_variable(key.path).as_deref() == Some(name)) else {
        warn_about_typo(settings, name);
        return Ok(());
    };
    let source = SettingSource::Environment { variable: name.to_owned() };
    let Some(value) = value.to_str() else {
        return Err(ValueError::new("not UTF-8 text").at_place(name));
    };
    set_key(settings, key, value, &source)
}

fn set_key(
    settings: &mut Settings,
    key: &ConfigKey<Settings>,
    value: &str,
    source: &SettingSource,
) -> Result<(), ConfigError> {
    let templates = settings.templates.clone();
    let context = KeyContext { source, path: String::new(), templates: &templates };
    match &key.target {
        KeyTarget::Reserved { default } => {
            document::accept_reserved_default(default, &document::parse_yaml(value, source)?, &context)
        }
        KeyTarget::Slot(slot) => {
            let slot = slot(settings);
            // Lists and tables are written in YAML, as in a file.
            let node = match slot.value_shape() {
                ValueShape::Scalar => DocumentNode {
                    line: 1,
                    column: 1,
                    style: ScalarStyle::Plain,
                    content: NodeContent::Text(value.to_owned()),
                },
                ValueShape::Words | ValueShape::List => document::parse_yaml(value, source)?,
            };
            slot.fill_from(&node, &context)
        }
    }
}

fn warn_about_typo(settings: &mut Settings, name: &str) {
    let known: Vec<String> = CONFIG_KEYS.iter().filter_map(|key| environment_variable(key.path)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    if let Some(near) = suggest::nearest_name(name, &known) {
        settings.warnings.push(format!("unknown variable {name} is ignored; did you mean {near}?"));
    }
}
