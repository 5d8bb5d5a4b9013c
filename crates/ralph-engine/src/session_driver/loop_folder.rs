//! Finds the folder of the session loops: in the state folder of the user, because the working directory of a session
//! can change and belongs to the project. Hooks may run without HOME.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use ralph_util::private_files;

#[derive(Debug, thiserror::Error)]
#[error(
    "no folder for session loops: neither XDG_STATE_HOME nor HOME is an absolute path, and the system has no home \
     folder for this user"
)]
pub struct NoLoopFolder;

/// Finds the folder. `env_var` looks up environment variables.
pub fn find_loop_folder(env_var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoLoopFolder> {
    let absolute = |name| env_var(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let home = || absolute("HOME").or_else(|| home_from_passwd(Path::new("/etc/passwd")));
    let state = absolute("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")));
    Ok(private_files::resolve_links(&state.ok_or(NoLoopFolder)?.join("ralph")).join("sessions"))
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

    fn loop_folder_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        find_loop_folder(find).ok()
    }

    // spec: H4
    #[test]
    fn loops_are_kept_in_the_state_folder_of_the_user() {
        assert_eq!(loop_folder_with(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/ralph/sessions".into()));
        assert_eq!(
            loop_folder_with(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]),
            Some("/h/.local/state/ralph/sessions".into())
        );
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
