//! Where a work tree stands: its commit, and what is not in it.
use std::path::Path;

use ralph_core::commit::Position;

use super::GitError;
use super::plain::Plain;

/// Looks at a work tree. `base` is the commit that it is compared with.
pub fn position(root: &Path, base: Option<&str>) -> Result<Position, GitError> {
    let git = Plain::at(root);
    let status =
        git.bytes(&["status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all"])?;
    let mut position = Position::default();
    for entry in status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let entry = String::from_utf8_lossy(entry);
        match entry.strip_prefix("# ") {
            Some(header) => {
                let commit = header.strip_prefix("branch.oid ").filter(|oid| *oid != "(initial)");
                position.head = commit.map(str::to_owned).or(position.head.take());
            }
            None => position.uncommitted.extend(path_of(&entry)),
        }
    }
    if let (Some(base), Some(head)) = (base, &position.head) {
        let tree = |commit: &str| git.line(&["rev-parse", &format!("{commit}^{{tree}}")]);
        position.is_as_before = base == head || tree(base)? == tree(head)?;
    }
    Ok(position)
}

/// Returns the path of an entry: it stands behind a fixed number of fields, which differs by kind.
fn path_of(entry: &str) -> Option<String> {
    let fields = match entry.split(' ').next()? {
        "1" => 9,
        "u" => 11,
        "?" => 2,
        _ => return None,
    };
    entry.splitn(fields, ' ').nth(fields - 1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, repository};

    // spec: V10, V13
    #[test]
    fn what_is_changed_new_or_removed_is_named_until_it_is_committed() {
        let (_temp, root) = repository();
        let base = commit_all(&root);
        assert!(position(&root, Some(&base)).unwrap().is_as_before);
        fs::write(root.join("file"), "other").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/a b"), "").unwrap();
        let found = position(&root, Some(&base)).unwrap();
        assert_eq!((found.head.as_deref(), found.is_as_before), (Some(base.as_str()), true));
        assert_eq!(found.uncommitted, ["file", "sub/a b"]);
        let head = commit_all(&root);
        let found = position(&root, Some(&base)).unwrap();
        assert_eq!((found.head, found.is_as_before), (Some(head), false));
        assert!(found.uncommitted.is_empty());
    }

    // spec: V13
    #[test]
    fn an_empty_commit_is_no_work() {
        let (_temp, root) = repository();
        let base = commit_all(&root);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let empty = [&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "nothing"]].concat();
        crate::git::git(&root, &empty).unwrap();
        assert!(position(&root, Some(&base)).unwrap().is_as_before);
    }
}
