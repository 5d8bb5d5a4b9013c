//! Puts the layers together. Flags come last, from whoever parsed them.
use std::ffi::OsString;
use std::path::Path;

use super::error::{ConfigError, Refusal};
use super::files::{self, Files, Found};
use super::origin::{FileLayer, Source};
use super::settings::Settings;
use super::templates::Templates;
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
    let mut settings = Settings {
        templates: Templates { folder: files.templates.clone() },
        verifiers: files.verifiers.clone(),
        ..Settings::default()
    };
    if let Some(path) = &files.user {
        file(&mut settings, FileLayer::User, path)?;
    }
    match (named, &files.project) {
        (Named::File(path), _) => {
            if let Applied::No = file(&mut settings, FileLayer::Named, path)? {
                return Err(Refusal::new("the file does not exist")
                    .hint("after --config comes the path of a configuration file")
                    .at(path.display().to_string()));
            }
        }
        (Named::Nothing, Some(path)) => {
            file(&mut settings, FileLayer::Project, path)?;
        }
        (Named::Nothing, None) => {}
    }
    settings.of_project = settings.all_project_commands();
    environment::apply(&mut settings, environment)?;
    settings.check_agents()?;
    settings.check_roles()?;
    settings.check_judge()?;
    settings.fingerprints = settings.fingerprints();
    Ok(settings)
}

/// Whether there was something to apply.
enum Applied {
    Yes,
    No,
}

fn file(settings: &mut Settings, layer: FileLayer, path: &Path) -> Result<Applied, ConfigError> {
    let Some(text) = text(settings, files::read(path)?, layer, path)? else { return Ok(Applied::No) };
    let source = Source::File { layer, path: path.to_path_buf() };
    if is_classic(layer, path, &text) {
        classic::apply(settings, &text, &source)?;
    } else {
        document::apply(settings, &text, &source)?;
    }
    Ok(Applied::Yes)
}

/// Returns what there is to apply. A project's file that is closed to us is an error; the user's own need not be
/// ours: under `sudo` or in a container HOME may be somebody else's.
fn text(
    settings: &mut Settings,
    found: Found,
    layer: FileLayer,
    path: &Path,
) -> Result<Option<String>, ConfigError> {
    let place = path.display().to_string();
    match (found, layer) {
        (Found::Text(text), _) => Ok(Some(text)),
        (Found::Nothing, _) => Ok(None),
        (Found::Closed, FileLayer::User) => {
            settings.warnings.push(format!("{place} may not be read, and is left out"));
            Ok(None)
        }
        (Found::Closed, FileLayer::Project | FileLayer::Named) => {
            Err(Refusal::new("it may not be read").hint("look at its permissions").at(place))
        }
    }
}

/// The project's `config` is classic and every `.yaml` is YAML; any other file shows what it is.
fn is_classic(layer: FileLayer, path: &Path, text: &str) -> bool {
    let is_yaml = path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|yaml| end == *yaml));
    match layer {
        FileLayer::User | FileLayer::Project => !is_yaml,
        FileLayer::Named => !is_yaml && assignments::looks_like(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: G1
    fn the_user_s_file_may_be_closed_to_us_but_the_project_s_may_not() {
        let mut settings = Settings::default();
        let mut closed = |layer| text(&mut settings, Found::Closed, layer, Path::new("f"));
        assert_eq!(closed(FileLayer::User), Ok(None));
        assert_eq!(closed(FileLayer::Project).unwrap_err().to_string(), "f: it may not be read");
        assert_eq!(closed(FileLayer::Named).unwrap_err().to_string(), "f: it may not be read");
        assert_eq!(settings.warnings, ["f may not be read, and is left out"]);
    }
}
