//! Filters out paths that the repository ignores.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;

/// Returns the paths that are not ignored. Paths are relative to the root; tracked files are never ignored.
pub fn exclude_ignored(root: &Path, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
    let asked: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let answer = IsolatedGit::in_folder(root).run_with_input(&["check-ignore", "-z", "--stdin"], &asked)?;
    // Exit code 0: some paths are ignored; 1: none is.
    let printed = if answer.code == Some(1) { Vec::new() } else { answer.into_stdout()? };
    let ignored: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
    let is_ignored = |path: &OsStr| ignored.contains(&path.as_bytes());
    Ok(paths.into_iter().filter(|path| !is_ignored(path.as_os_str())).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: L9
    #[test]
    fn ignored_paths_are_excluded_unless_they_are_tracked() {
        let (_temp, root) = new_repository();
        fs::write(root.join("kept.log"), "").unwrap();
        commit_all(&root);
        fs::write(root.join(".gitignore"), "*.log\nout/\n").unwrap();
        let asked = ["a.log", "kept.log", "out/x", "src/a b", "strange\nname"].map(PathBuf::from);
        let left = exclude_ignored(&root, asked.to_vec()).unwrap();
        assert_eq!(left, ["kept.log", "src/a b", "strange\nname"].map(PathBuf::from));
        assert_eq!(exclude_ignored(&root, vec!["a.log".into()]).unwrap(), Vec::<PathBuf>::new());
        let none = vec![PathBuf::from("x")];
        assert_eq!(exclude_ignored(&root, none.clone()).unwrap(), none);
    }
}
