//! Where the loops of sessions are kept: in the user's own state folder, because a session's folder can move and belongs to
//! the project. Hooks may run without HOME.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use ralph_util::private;

#[derive(Debug, thiserror::Error)]
#[error(
    "the loops of sessions have no place: neither XDG_STATE_HOME nor HOME is an absolute path, and the system knows no home \
     of this user"
)]
pub struct NoPlace;

/// Finds the folder. `variable` looks up the environment.
pub fn place(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoPlace> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let home = || absolute("HOME").or_else(|| home_of_user(Path::new("/etc/passwd")));
    let state = absolute("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")));
    Ok(private::real_path(&state.ok_or(NoPlace)?.join("ralph")).join("sessions"))
}

/// Reads the home of this user where the system keeps it.
fn home_of_user(list: &Path) -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw().to_string();
    let list = std::fs::read(list).ok()?;
    let mut users =
        list.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':').collect::<Vec<_>>());
    let own = users.find(|fields| fields.get(2) == Some(&user.as_bytes()))?;
    let home = PathBuf::from(OsString::from_vec(own.get(5)?.to_vec()));
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        place(find).ok()
    }

    // spec: H4
    #[test]
    fn the_state_folder_of_the_user_is_the_place() {
        assert_eq!(of(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/ralph/sessions".into()));
        assert_eq!(
            of(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]),
            Some("/h/.local/state/ralph/sessions".into())
        );
    }

    // spec: H4
    // fault: 115
    #[test]
    fn without_home_the_system_is_asked() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("passwd");
        let user = rustix::process::getuid().as_raw();
        std::fs::write(
            &list,
            format!("a:x:77{user}:0::/wrong:\nme:x:{user}:0:Me, myself:/my/home:/bin/sh\n"),
        )
        .unwrap();
        assert_eq!(home_of_user(&list), Some("/my/home".into()));
        std::fs::write(&list, "root\n::::\n").unwrap();
        assert_eq!(home_of_user(&list), None);
        assert_eq!(home_of_user(&temp.path().join("gone")), None);
    }
}
