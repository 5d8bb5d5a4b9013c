//! Finds the folders in which ralph keeps files of the user. Hooks may run without HOME.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::private_files;

/// The environment has no folder for the state of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no folder for the state of this user: neither XDG_STATE_HOME nor HOME is an absolute path, and the system has no \
     home folder for the user"
)]
pub struct NoStateFolder;

/// Returns `$XDG_STATE_HOME/ralph`, by default `~/.local/state/ralph`, without links. Nothing is created.
pub fn find_state_folder(env_var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoStateFolder> {
    let absolute = |name| env_var(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let home = || absolute("HOME").or_else(|| home_from_passwd(Path::new("/etc/passwd")));
    let state = absolute("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")));
    Ok(private_files::resolve_links(&state.ok_or(NoStateFolder)?.join("ralph")))
}

/// Reads the home folder of this user from a password file.
fn home_from_passwd(list: &Path) -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw().to_string();
    let list = std::fs::read(list).ok()?;
    let mut users = list.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':').collect::<Vec<_>>());
    let fields = users.find(|fields| fields.get(2) == Some(&user.as_bytes()))?;
    let home = PathBuf::from(OsString::from_vec(fields.get(5)?.to_vec()));
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_folder_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        find_state_folder(find).ok()
    }

    // spec: D1
    #[test]
    fn the_state_folder_follows_xdg_state_home_and_home() {
        assert_eq!(state_folder_with(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/ralph".into()));
        let relative = state_folder_with(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]);
        assert_eq!(relative, Some("/h/.local/state/ralph".into()));
    }

    // spec: H4
    // fault: 115
    #[test]
    fn without_home_the_password_file_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("passwd");
        let user = rustix::process::getuid().as_raw();
        std::fs::write(&list, format!("a:x:77{user}:0::/wrong:\nme:x:{user}:0:Me, myself:/my/home:/bin/sh\n")).unwrap();
        assert_eq!(home_from_passwd(&list), Some("/my/home".into()));
        std::fs::write(&list, "root\n::::\n").unwrap();
        assert_eq!(home_from_passwd(&list), None);
        assert_eq!(home_from_passwd(&temp.path().join("gone")), None);
    }
}
