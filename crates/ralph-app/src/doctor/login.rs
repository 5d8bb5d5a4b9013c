//! Signs of a login. Whether it still holds only the provider knows, and asking would cost something.
use std::path::{Path, PathBuf};

use super::finding::{Finding, Status};
use ralph_agents::About;

/// Looks for a variable or a file that makes a login.
pub(super) fn look(about: &About) -> Finding {
    let variable = about.login_variables.iter().find(|name| is_set(name));
    if let Some(name) = variable {
        return Finding::new("login", Status::Good, format!("{name} is set"));
    }
    let file = about.login_files.iter().filter_map(|path| expand(path)).find(|path| path.exists());
    match file {
        Some(path) => Finding::new("login", Status::Good, format!("{} is there", path.display())),
        None => Finding::new("login", Status::Warning, "no sign of a login was found").hint(about.login_hint),
    }
}

pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Replaces the home or the variable that a path begins with.
pub(super) fn expand(path: &str) -> Option<PathBuf> {
    let (start, rest) = path.split_once('/')?;
    let name = if start == "~" { "HOME" } else { start.strip_prefix('$')? };
    let folder = std::env::var_os(name).filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join(rest))
}
