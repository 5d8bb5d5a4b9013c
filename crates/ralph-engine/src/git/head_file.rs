//! Where a work tree stands, read from the files of its repository: no process is started.
use std::fs;
use std::path::{Path, PathBuf};

/// Returns what HEAD leads to, as far as files tell. The same answer twice: HEAD has not moved.
#[must_use]
pub fn peek_at_head(work_tree: &Path) -> Option<String> {
    let own = repository_of(work_tree)?;
    let head = fs::read_to_string(own.join("HEAD")).ok()?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return Some(head) };
    let shared = shared_by(&own);
    let value = [&own, &shared].into_iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok());
    let value = value.or_else(|| packed(&shared, name));
    Some(format!("{name} {}", value.unwrap_or_default().trim_end()))
}

/// Returns the folder of the repository; `.git` of a linked work tree is a file that names it.
fn repository_of(work_tree: &Path) -> Option<PathBuf> {
    let path = work_tree.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = fs::read_to_string(&path).ok()?;
    Some(work_tree.join(text.strip_prefix("gitdir: ")?.trim_end()))
}

/// Returns the folder that linked work trees share.
fn shared_by(own: &Path) -> PathBuf {
    match fs::read_to_string(own.join("commondir")) {
        Ok(named) => own.join(named.trim_end()),
        Err(_) => own.to_path_buf(),
    }
}

fn packed(shared: &Path, name: &str) -> Option<String> {
    let all = fs::read_to_string(shared.join("packed-refs")).ok()?;
    all.lines()
        .find_map(|line| line.split_once(' ').filter(|(_, found)| *found == name))
        .map(|(id, _)| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::testing::{commit_all, repository};

    // spec: L9
    #[test]
    fn a_commit_a_branch_and_a_detached_head_are_seen_and_packing_is_not() {
        let (temp, root) = repository();
        let first = commit_all(&root);
        let before = peek_at_head(&root).unwrap();
        assert!(before.ends_with(&first), "{before}");
        git(&root, &["pack-refs", "--all"]).unwrap();
        assert_eq!(peek_at_head(&root).unwrap(), before);
        fs::write(root.join("file"), "other").unwrap();
        let second = commit_all(&root);
        assert!(peek_at_head(&root).unwrap().ends_with(&second));
        git(&root, &["checkout", "--quiet", "--detach", &first]).unwrap();
        assert_eq!(peek_at_head(&root).unwrap().trim(), first);
        let linked = temp.path().join("linked");
        git(&root, &["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]).unwrap();
        let there = peek_at_head(&linked).unwrap();
        assert!(there.contains("side") && there.ends_with(&first), "{there}");
        assert_eq!(peek_at_head(temp.path()), None);
    }
}
