//! Detects signs of a login. Only the provider knows whether it is still valid, and a request could cost money.
use std::path::{Path, PathBuf};

use super::finding::{DoctorFinding, FindingStatus};
use ralph_agents::AgentProfile;

/// Searches for a variable or file that provides a login.
pub(super) fn check_login(about: &AgentProfile) -> DoctorFinding {
    let variable = about.login_variables.iter().find(|name| is_variable_set(name));
    if let Some(name) = variable {
        return DoctorFinding::new("login", FindingStatus::Good, format!("{name} is set"));
    }
    let file = about.login_files.iter().filter_map(|path| expand_path(path)).find(|path| path.exists());
    match file {
        Some(path) => DoctorFinding::new("login", FindingStatus::Good, format!("{} exists", path.display())),
        None => DoctorFinding::new("login", FindingStatus::Warning, "no login found").with_advice(about.login_hint),
    }
}

pub(super) fn is_variable_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Expands `~` or a variable at the beginning of a path.
pub(super) fn expand_path(path: &str) -> Option<PathBuf> {
    let (start, rest) = path.split_once('/')?;
    let name = if start == "~" { "HOME" } else { start.strip_prefix('$')? };
    let folder = std::env::var_os(name).filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join(rest))
}
