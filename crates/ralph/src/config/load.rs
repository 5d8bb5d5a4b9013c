//! Puts the layers together. Flags come last, from whoever parsed them.
use std::ffi::OsString;
use std::path::Path;

use super::error::{ConfigError, Refusal};
use super::files::{self, Files};
use super::origin::{FileLayer, Source};
use super::settings::Settings;
use super::{assignments, classic, document, environment};

/// The file that the user names in place of the project's.
#[derive(Debug, Clone, Copy)]
pub enum Named<'a> {
    Nothing,
    File(&'a Path),
}

/// Returns the settings of all layers below the flags.
pub fn load(
    files: &Files,
    named: Named<'_>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    if let Some(path) = &files.user {
        file(&mut settings, FileLayer::User, path)?;
    }
    match (named, &files.project) {
        (Named::File(path), _) => {
            if !file(&mut settings, FileLayer::Named, path)? {
                return Err(Refusal::new("the file does not exist")
                    .hint("after --config comes the path of a configuration file")
                    .at(path.display().to_string()));
            }
        }
        (Named::Nothing, Some(path)) => drop(file(&mut settings, FileLayer::Project, path)?),
        (Named::Nothing, None) => {}
    }
    environment::apply(&mut settings, environment)?;
    settings.check_agents()?;
    Ok(settings)
}

/// Applies a file, and tells whether there is one.
fn file(settings: &mut Settings, layer: FileLayer, path: &Path) -> Result<bool, ConfigError> {
    let Some(text) = files::read(path)? else { return Ok(false) };
    let source = Source::File { layer, path: path.to_path_buf() };
    if is_classic(layer, path, &text) {
        classic::apply(settings, &text, &source)?;
    } else {
        document::apply(settings, &text, &source)?;
    }
    Ok(true)
}

/// The project's `config` is classic and every `.yaml` is YAML; any other file shows what it is.
fn is_classic(layer: FileLayer, path: &Path, text: &str) -> bool {
    let is_yaml = path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|yaml| end == *yaml));
    match layer {
        FileLayer::User | FileLayer::Project => !is_yaml,
        FileLayer::Named => !is_yaml && assignments::looks_like(text),
    }
}
