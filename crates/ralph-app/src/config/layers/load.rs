//! Loads the layers in order. The caller applies flags, which are the highest layer.
use std::ffi::OsString;
use std::path::Path;

use crate::config::checks::templates::TemplateLibrary;
use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::rule_directions::find_loosened_rules;
use crate::config::layers::assignments;
use crate::config::layers::classic;
use crate::config::layers::document;
use crate::config::layers::environment;
use crate::config::layers::files::{self, ConfigFileContents, ConfigFiles};
use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::{FileLayer, SettingSource};

/// A file that `--config` names, which replaces the project's.
#[derive(Debug, Clone, Copy)]
pub enum ConfigOverride<'a> {
    None,
    File(&'a Path),
}

/// Loads all layers below the flags.
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
                    .with_hint("name an existing configuration file")
                    .at_place(path.display().to_string()));
            }
        }
        (ConfigOverride::None, Some(path)) => {
            let below = settings.clone();
            apply_file(&mut settings, FileLayer::Project, path)?;
            settings.loosened_rules = find_loosened_rules(&below, &settings);
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

/// Whether the file of a layer exists.
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

/// Returns the text to apply. An unreadable project file is an error; an unreadable user file is only a warning,
/// because under `sudo` or in a container HOME may belong to another user.
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
            settings.warnings.push(format!("cannot read {place}: permission denied; it is ignored"));
            Ok(None)
        }
        (ConfigFileContents::PermissionDenied, FileLayer::Project | FileLayer::Named) => {
            Err(ValueError::new("permission denied").with_hint("check the permissions of the file").at_place(place))
        }
    }
}

/// The project's `config` is classic, and `.yaml` files are YAML; the format of other files is detected.
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
    fn an_unreadable_user_file_is_a_warning_and_an_unreadable_project_file_is_an_error() {
        let mut settings = Settings::default();
        let mut unreadable =
            |layer| resolve_text(&mut settings, ConfigFileContents::PermissionDenied, layer, Path::new("f"));
        assert_eq!(unreadable(FileLayer::User), Ok(None));
        assert_eq!(unreadable(FileLayer::Project).unwrap_err().to_string(), "f: permission denied");
        assert_eq!(unreadable(FileLayer::Named).unwrap_err().to_string(), "f: permission denied");
        assert_eq!(settings.warnings, ["cannot read f: permission denied; it is ignored"]);
    }
}
