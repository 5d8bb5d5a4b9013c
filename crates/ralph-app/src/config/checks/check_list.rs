//! Reads checks of other files than the configuration, in its syntax.
use std::path::Path;

use crate::config::ConfiguredCheck;
use crate::config::checks::configured_check::read_checks;
use crate::config::checks::templates::TemplateLibrary;
use crate::config::error::ConfigError;
use crate::config::layers::document::KeyContext;
use crate::config::settings::origin::{FileLayer, SettingSource};
use ralph_util::yaml::DocumentNode;

/// Reads a list of checks. `file` is named in errors.
pub fn read_check_list(
    node: &DocumentNode,
    file: &Path,
    templates: &TemplateLibrary,
) -> Result<Vec<ConfiguredCheck>, ConfigError> {
    let source = SettingSource::File { layer: FileLayer::Project, path: file.to_path_buf() };
    read_checks(node, &KeyContext { source: &source, path: String::new(), templates })
}
