//! Reads HEAD of a work tree from the files of its repository, without starting a process.
use std::fs;
use std::path::{Path, PathBuf};

use super::config_text::ConfigText;

/// Returns the branch and commit of HEAD, as far as the files contain them. Two equal results mean that HEAD has not
/// moved.
#[must_use]
pub fn read_head_file(work_tree: &Path) -> Option<String> {
    let git_dir = find_git_dir(work_tree)?;
    let head = fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return Some(head) };
    let common_dir = find_common_dir(&git_dir);
    let value = [&git_dir, &common_dir].into_iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok());
    let value = value.or_else(|| find_packed_ref(&common_dir, name));
    Some(format!("{name} {}", value.unwrap_or_default().trim_end()))
}

/// Returns whether HEAD is a branch that has no commit yet, as far as the files of the repository tell.
#[must_use]
pub fn is_unborn(work_tree: &Path) -> bool {
    let has_files = || ConfigText::of_repository(work_tree).is_some_and(|config| !config.mentions(&["refstorage"]));
    has_files() && read_head_file(work_tree).is_some_and(|head| head.starts_with("refs/heads/") && head.ends_with(' '))
}

/// Returns the git folder of a work tree. The `.git` of a linked work tree is a file that names it.
pub(super) fn find_git_dir(work_tree: &Path) -> Option<PathBuf> {
    let path = work_tree.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = fs::read_to_string(&path).ok()?;
    Some(work_tree.join(text.strip_prefix("gitdir: ")?.trim_end()))
}

/// Returns the folder that linked work trees share.
pub(super) fn find_common_dir(git_dir: &Path) -> PathBuf {
    match fs::read_to_string(git_dir.join("commondir")) {
        Ok(named) => git_dir.join(named.trim_end()),
        Err(_) => git_dir.to_path_buf(),
    }
}

fn find_packed_ref(common_dir: &Path, name: &str) -> Option<String> {
    let all = fs::read_to_string(common_dir.join("packed-refs")).ok()?;
    all.lines().find_map(|line| line.split_once(' ').filter(|(_, found)| *found == name)).map(|(id, _)| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: L9
    #[test]
    fn a_commit_a_branch_and_a_detached_head_change_the_result_and_packing_does_not() {
        let (temp, root) = new_repository();
        let first = commit_all(&root);
        let before = read_head_file(&root).unwrap();
        assert!(before.ends_with(&first), "{before}");
        run_git(&root, &["pack-refs", "--all"]).unwrap();
        assert_eq!(read_head_file(&root).unwrap(), before);
        fs::write(root.join("file"), "other").unwrap();
        let second = commit_all(&root);
        assert!(read_head_file(&root).unwrap().ends_with(&second));
        run_git(&root, &["checkout", "--quiet", "--detach", &first]).unwrap();
        assert_eq!(read_head_file(&root).unwrap().trim(), first);
        let linked = temp.path().join("linked");
        run_git(&root, &["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]).unwrap();
        let there = read_head_file(&linked).unwrap();
        assert!(there.contains("side") && there.ends_with(&first), "{there}");
        assert_eq!(read_head_file(temp.path()), None);
    }
}
