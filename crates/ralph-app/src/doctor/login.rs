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
    let file = about.login_files.iter().filter_map(|path| expand_path(path)).find(|path| is_login_file(about, path));
    match file {
        Some(path) if about.login_file_members.is_empty() => {
            DoctorFinding::new("login", FindingStatus::Good, format!("{} exists", path.display()))
        }
        Some(path) => DoctorFinding::new("login", FindingStatus::Good, format!("{} has a login", path.display())),
        None => DoctorFinding::new("login", FindingStatus::Warning, "no login found").with_advice(about.login_hint),
    }
}

/// Returns whether there is a sign of a login.
pub(crate) fn has_login(about: &AgentProfile) -> bool {
    check_login(about).status == FindingStatus::Good
}

/// Larger files are not read.
const MAX_LOGIN_FILE_BYTES: u64 = 1 << 20;

/// Returns whether a file indicates a login: it exists, and has the members that only a login writes.
fn is_login_file(about: &AgentProfile, path: &Path) -> bool {
    if about.login_file_members.is_empty() {
        return path.exists();
    }
    let is_small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_LOGIN_FILE_BYTES);
    let text = is_small.then(|| std::fs::read(path).ok()).flatten().unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    about.login_file_members.iter().any(|name| has_value(&settings[*name]))
}

fn has_value(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => false,
        Value::Bool(is_set) => *is_set,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
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
