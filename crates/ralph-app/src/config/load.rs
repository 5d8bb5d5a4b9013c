//! Puts the layers together. Flags come last, from whoever parsed them.
use std::ffi::OsString;
use std::path::Path;

use super::error::{ConfigError, ValueError};
use super::files::{self, ConfigFileContents, ConfigFiles};
use super::origin::{FileLayer, SettingSource};
use super::settings::Settings;
use super::templates::TemplateLibrary;
use super::{assignments, classic, document, environment};

/// The file that the user names in place of the project's.
#[derive(Debug, Clone, Copy)]
pub enum ConfigOverride<'a> {
    None,
    File(&'a Path),
}

/// Returns the settings of all layers below the flags.
pub fn load_settings(
    files: &ConfigFiles,
    config_override: ConfigOverride<'_>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings {
        templates: TemplateLibrary { folder: files.template_folder.clone() },
        plugin_folder: files.plugin_folder.clone(),
        ..Settings::default()
    };
    if let Some(path) = &files.user_file {
        apply_file(&mut settings, FileLayer::User, path)?;
    }
    match (config_override, &files.project_file) {
        (ConfigOverride::File(path), _) => {
            if let LayerResult::Missing = apply_file(&mut settings, FileLayer::Named, path)? {
                return Err(ValueError::new("the file does not exist")
                    .with_hint("after --config comes the path of a configuration file")
                    .at_place(path.display().to_string()));
            }
        }
        (ConfigOverride::None, Some(path)) => {
            apply_file(&mut settings, FileLayer::Project, path)?;
        }
        (ConfigOverride::None, None) => {}
    }
    settings.project_commands = settings.all_project_commands();
    environment::apply_environment(&mut settings, environment)?;
    settings.validate_agents()?;
    settings.validate_roles()?;
    settings.validate_judge()?;
    settings.fingerprints = settings.fingerprints();
    Ok(settings)
}

/// Whether there was something to apply.
enum LayerResult {
    Applied,
    Missing,
}

fn apply_file(settings: &mut Settings, layer: FileLayer, path: &Path) -> Result<LayerResult, ConfigError> {
    let Some(text) = resolve_text(settings, files::read_config_file(path)?, layer, path)? else {
        return Ok(LayerResult::Missing);
    };
    let source = SettingSource::File { layer, path: path.to_path_buf() };
    if is_classic_file(layer, path, &text) {
        classic::apply_classic_file(settings, &text, &source)?;
    } else {
        document::apply_document(settings, &text, &source)?;
    }
    Ok(LayerResult::Applied)
}

/// Returns what there is to apply. A project's file that is closed to us is an error; the user's own need not be
/// ours: under `sudo` or in a container HOME may be somebody else's.
fn resolve_text(
    settings: &mut Settings,
    contents: ConfigFileContents,
    layer: FileLayer,
    path: &Path,
) -> Result<Option<String>, ConfigError> {
    let place = path.display().to_string();
    match (contents, layer) {
        (ConfigFileContents::Text(text), _) => Ok(Some(text)),
        (ConfigFileContents::Missing, _) => Ok(None),
        (ConfigFileContents::PermissionDenied, FileLayer::User) => {
            settings.warnings.push(format!("{place} may not be read, and is left out"));
            Ok(None)
        }
        (ConfigFileContents::PermissionDenied, FileLayer::Project | FileLayer::Named) => {
            Err(ValueError::new("it may not be read").with_hint("look at its permissions").at_place(place))
        }
    }
}

/// The project's `config` is classic and every `.yaml` is YAML; any other file shows what it is.
fn is_classic_file(layer: FileLayer, path: &Path, text: &str) -> bool {
    let is_yaml = path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|yaml| end == *yaml));
    match layer {
        FileLayer::User | FileLayer::Project => !is_yaml,
        FileLayer::Named => !is_yaml && assignments::looks_like_assignments(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: G1
    fn the_user_s_file_may_be_closed_to_us_but_the_project_s_may_not() {
        let mut settings = Settings::default();
        let mut closed =
            |layer| resolve_text(&mut settings, ConfigFileContents::PermissionDenied, layer, Path::new("f"));
        assert_eq!(closed(FileLayer::User), Ok(None));
        assert_eq!(closed(FileLayer::Project).unwrap_err().to_string(), "f: it may not be read");
        assert_eq!(closed(FileLayer::Named).unwrap_err().to_string(), "f: it may not be read");
        assert_eq!(settings.warnings, ["f may not be read, and is left out"]);
    }
}
