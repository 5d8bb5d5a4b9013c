//! Chromium for the tests of the dashboard: finds it, or installs it with apt as root.
use std::path::PathBuf;

use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

/// Passes the program to the tests.
pub(crate) const CHROMIUM_VARIABLE: &str = "RALPH_TEST_CHROMIUM";

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const CHROMIUM_HINT: &str = "install it: `apt-get install chromium` (Debian, Ubuntu), `dnf install chromium` (Fedora), \
                             `apk add chromium` (Alpine), or set RALPH_TEST_CHROMIUM to its path";

/// Returns the path of Chromium. Installs it if possible.
pub(crate) fn require_chromium() -> Result<PathBuf> {
    if let Some(path) = find_chromium() {
        return Ok(path);
    }
    // Only root can install; other users get the hint.
    let install = CommandLine::parse("apt-get install --yes --no-install-recommends chromium");
    let installed = if cfg!(target_os = "linux") { install.run_visibly().ok() } else { None };
    installed.and_then(|()| find_chromium()).ok_or_else(|| {
        XtaskError::new("the tests of the dashboard need Chromium, but it could not be installed")
            .with_hint(CHROMIUM_HINT)
    })
}

fn find_chromium() -> Option<PathBuf> {
    let named = std::env::var_os(CHROMIUM_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| {
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let candidates = PROGRAMS.iter().flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
        candidates.into_iter().find(|path| path.is_file())
    })
}
