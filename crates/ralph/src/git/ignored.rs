//! Which paths the repository does not care about.
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::plain::Plain;
use super::temporary::Temporary;
use super::{GitError, PATIENCE};
use crate::process::{Bounded, run_bounded};

/// Returns those of the paths that are not ignored. They are meant from the root; what is tracked is never ignored.
pub fn not_ignored(root: &Path, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
    let own = Temporary::make("paths")?;
    let asked: Vec<u8> =
        paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let list = own.path.join("list");
    let input =
        fs::write(&list, asked).and_then(|()| File::open(&list)).map_err(|source| own.failed(source))?;
    let mut command = Plain::at(root).command();
    command.args(["check-ignore", "-z", "--stdin"]);
    let answer = run_bounded(&mut command, input.into(), PATIENCE);
    let printed = match answer.map_err(|source| GitError::NotStarted { source })? {
        // 0: some are ignored; 1: none is.
        Bounded::Ended { status, stdout, .. } if matches!(status.code(), Some(0 | 1)) => stdout,
        Bounded::Ended { stderr, .. } => {
            let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
            return Err(GitError::Failed { command: "check-ignore".to_owned(), stderr });
        }
        Bounded::TimeOver => {
            return Err(GitError::TimeOver { command: "check-ignore".to_owned(), time: PATIENCE });
        }
    };
    let ignored: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
    let is_ignored = |path: &OsStr| ignored.contains(&path.as_bytes());
    Ok(paths.into_iter().filter(|path| !is_ignored(path.as_os_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, repository};

    // spec: L9
    #[test]
    fn what_is_ignored_is_left_out_unless_it_is_tracked() {
        let (_temp, root) = repository();
        fs::write(root.join("kept.log"), "").unwrap();
        commit_all(&root);
        fs::write(root.join(".gitignore"), "*.log\nout/\n").unwrap();
        let asked = ["a.log", "kept.log", "out/x", "src/a b", "strange\nname"].map(PathBuf::from);
        let left = not_ignored(&root, asked.to_vec()).unwrap();
        assert_eq!(left, ["kept.log", "src/a b", "strange\nname"].map(PathBuf::from));
        assert_eq!(not_ignored(&root, vec!["a.log".into()]).unwrap(), Vec::<PathBuf>::new());
        let none = vec![PathBuf::from("x")];
        assert_eq!(not_ignored(&root, none.clone()).unwrap(), none);
    }
}
