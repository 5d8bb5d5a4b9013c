//! Takes a snapshot of a work tree as a tree hash. It changes nothing: new files are hashed into a temporary object
//! folder.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_core::receipt::WorkTreeSnapshot;

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;
use crate::git::work_files::worktree_hash::{NewObjects, WorktreeHash, hash_worktree, list_index_entries};

/// Returns the HEAD commit of a work tree and the tree hash of all its files except ignored ones.
pub fn take_snapshot(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let WorktreeHash { head, tree, left_out } = hash_worktree(root, NewObjects::Discard)?;
    let is_committed = left_out.is_none() && head.as_ref().is_some_and(|head| head.tree == tree);
    Ok(WorkTreeSnapshot { is_committed, commit: head.map(|head| head.commit), tree, left_out })
}

/// Returns the tree of a snapshot, if it covers every file that is not ignored: the work tree has no nested repositories,
/// whose files it does not cover, and is not a sparse checkout.
pub fn complete_tree(root: &Path, snapshot: &WorkTreeSnapshot) -> Result<Option<String>, GitError> {
    if snapshot.left_out.is_some() {
        return Ok(None);
    }
    let options = ["-v", "--stage", "--cached", "--others", "--exclude-standard"];
    let entries = list_index_entries(&IsolatedGit::in_folder(root), &options)?;
    let is_complete = !entries.iter().any(|entry| is_left_out(root, entry));
    Ok(is_complete.then(|| snapshot.tree.clone()))
}

/// Returns whether an entry is a file that a sparse checkout leaves out, or a nested repository.
fn is_left_out(root: &Path, entry: &[u8]) -> bool {
    match entry {
        // Git lists an untracked repository as a folder, without the files in it.
        [b'?', b' ', path @ ..] => {
            path.ends_with(b"/") && root.join(OsStr::from_bytes(path)).join(".git").symlink_metadata().is_ok()
        }
        [b'S', b' ', ..] => true,
        [_, b' ', entry @ ..] => entry.starts_with(b"160000 "),
        _ => false,
    }
}

/// Takes a snapshot of the HEAD commit, without uncommitted changes.
pub fn snapshot_head(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let git = IsolatedGit::in_folder(root);
    let commit = git.read_line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let tree = git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
    Ok(WorkTreeSnapshot { commit: Some(commit), tree, is_committed: true, left_out: None })
}

/// Returns a commit with this tree, if one is reachable from a branch, a tag or HEAD.
pub fn find_commit_with_tree(root: &Path, tree: &str) -> Result<Option<String>, GitError> {
    let starts = ["--branches", "--tags", "--remotes", "HEAD"];
    let all = IsolatedGit::in_folder(root).read_stdout(&[&["log", "--format=%T %H"][..], &starts].concat())?;
    let all = String::from_utf8_lossy(&all).into_owned();
    Ok(all.lines().find_map(|line| line.strip_prefix(tree)?.strip_prefix(' ').map(str::to_owned)))
}

/// Returns the trees of a commit and of all commits since, up to HEAD.
pub fn list_trees_since(root: &Path, base: &str) -> Result<Vec<String>, GitError> {
    let (since, base_tree) = (format!("{base}..HEAD"), format!("{base}^{{tree}}"));
    let all = IsolatedGit::in_folder(root).read_stdout(&["log", "--format=%T", &since])?;
    let all = String::from_utf8_lossy(&all).into_owned();
    let base_tree = IsolatedGit::in_folder(root).read_line(&["rev-parse", "--verify", &base_tree])?;
    Ok(all.lines().map(str::to_owned).chain([base_tree]).collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    fn complete_tree_hash(root: &Path) -> Result<Option<String>, GitError> {
        complete_tree(root, &take_snapshot(root)?)
    }

    // spec: V14
    #[test]
    fn a_clean_work_tree_has_the_tree_of_its_commit() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        let seen = take_snapshot(&root).unwrap();
        assert_eq!(seen.commit.as_deref(), Some(commit.as_str()));
        assert!(seen.is_committed);
        assert_eq!(find_commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert_eq!(find_commit_with_tree(&root, &"0".repeat(40)).unwrap(), None);
    }

    // spec: V14
    #[test]
    fn uncommitted_work_has_the_tree_that_its_commit_would_have() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        fs::write(root.join("new"), "file").unwrap();
        fs::write(root.join("file"), "changed").unwrap();
        let before = fs::read(root.join(".git/index")).unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed);
        assert_eq!(fs::read(root.join(".git/index")).unwrap(), before, "the user's index stays as it is");
        let commit = commit_all(&root);
        assert_eq!(find_commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert!(take_snapshot(&root).unwrap().is_committed);
    }

    // spec: V14, V11
    #[test]
    fn a_change_hidden_from_git_is_detected() {
        for (hide, unhide) in
            [("--assume-unchanged", "--no-assume-unchanged"), ("--skip-worktree", "--no-skip-worktree")]
        {
            let (_temp, root) = new_repository();
            commit_all(&root);
            let first = take_snapshot(&root).unwrap();
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", hide, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), first);
            fs::write(root.join("file"), "made weaker").unwrap();
            let weaker = take_snapshot(&root).unwrap();
            assert!(!weaker.is_committed && weaker.tree != first.tree, "{hide}");
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", unhide, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), weaker);
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", hide, "file"]).unwrap();
            fs::remove_file(root.join("file")).unwrap();
            let gone = take_snapshot(&root).unwrap();
            assert!(!gone.is_committed && gone.tree != first.tree, "{hide}");
        }
    }

    // spec: V14
    #[test]
    fn a_sparse_checkout_counts_as_committed() {
        let (_temp, root) = new_repository();
        fs::create_dir(root.join("far")).unwrap();
        fs::write(root.join("far/a"), "").unwrap();
        commit_all(&root);
        IsolatedGit::in_folder(&root).read_stdout(&["sparse-checkout", "set", "near"]).unwrap();
        assert!(!root.join("far/a").exists());
        assert!(take_snapshot(&root).unwrap().is_committed);
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "the missing files are not covered");
    }

    // spec: V14, V11
    // fault: 76
    #[test]
    fn a_change_in_the_same_second_as_the_index_is_detected() {
        let (_temp, root) = new_repository();
        IsolatedGit::in_folder(&root).read_stdout(&["config", "core.trustctime", "false"]).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let set_time = |name: &str| {
            File::options().write(true).open(root.join(name)).unwrap().set_modified(at).unwrap();
        };
        fs::write(root.join("file"), "good").unwrap();
        set_time("file");
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        fs::write(root.join("file"), "evil").unwrap();
        set_time("file");
        set_time(".git/index");
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // finding: N11
    // spec: V14
    #[test]
    fn forged_file_times_in_the_index_do_not_hide_a_change() {
        let (_temp, root) = new_repository();
        let git = |args: &[&str]| crate::git::run_git(&root, args).unwrap();
        let set_time = |name: &str, at: std::time::SystemTime| {
            File::options().write(true).open(root.join(name)).unwrap().set_modified(at).unwrap();
        };
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        fs::write(root.join("file"), "good").unwrap();
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        let name = git(&["rev-parse", "HEAD:file"]);
        // The index gets the times of the changed file and the name of the committed content.
        fs::write(root.join("file"), "evil").unwrap();
        set_time("file", long_ago);
        git(&["add", "file"]);
        let evil = git(&["rev-parse", ":file"]);
        let mut index = fs::read(root.join(".git/index")).unwrap();
        let bytes = |hex: &str| -> Vec<u8> {
            (0..40).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        };
        let at = index.windows(20).position(|found| found == bytes(&evil)).unwrap();
        index[at..at + 20].copy_from_slice(&bytes(&name));
        // Without the cached trees, which name the other content.
        index.truncate(12 + ((62 + "file".len() + 8) & !7));
        // Git does not verify the checksum.
        index.extend([0; 20]);
        fs::write(root.join(".git/index"), index).unwrap();
        assert_eq!(git(&["status", "--porcelain"]), "", "git itself sees no change");
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
        assert_eq!(take_snapshot(&root).unwrap(), seen, "also with the index of the last snapshot");
    }

    // finding: N11
    // spec: V14
    #[test]
    fn settings_that_weaken_the_comparison_of_files_do_not_hide_a_change() {
        let settings = [
            &["core.trustctime", "false"],
            &["core.checkStat", "minimal"],
            &["core.ignoreStat", "true"],
            &["core.sparseCheckout", "true"],
            &["core.splitIndex", "true"],
        ];
        for setting in settings {
            let (_temp, root) = new_repository();
            let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
            let set_time = || File::options().write(true).open(root.join("file")).unwrap().set_modified(long_ago);
            fs::write(root.join("file"), "good").unwrap();
            set_time().unwrap();
            commit_all(&root);
            let first = take_snapshot(&root).unwrap();
            crate::git::run_git(&root, &[&["config"], &setting[..]].concat()).unwrap();
            fs::create_dir_all(root.join(".git/info")).unwrap();
            fs::write(root.join(".git/info/sparse-checkout"), "/elsewhere/\n").unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), first, "{setting:?}");
            fs::write(root.join("file"), "evil").unwrap();
            set_time().unwrap();
            assert!(!take_snapshot(&root).unwrap().is_committed, "{setting:?}");
        }
    }

    // finding: N11, N8
    #[test]
    fn a_tracked_file_that_becomes_ignored_and_leaves_the_index_stays_in_the_tree() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        fs::write(root.join(".git/info/exclude"), "file\n").unwrap();
        crate::git::run_git(&root, &["rm", "--quiet", "--cached", "file"]).unwrap();
        let first = take_snapshot(&root).unwrap();
        fs::write(root.join("file"), "evil").unwrap();
        assert_ne!(take_snapshot(&root).unwrap().tree, first.tree);
    }

    // spec: V14, V11
    #[test]
    fn new_files_are_detected_whatever_the_settings_are() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        IsolatedGit::in_folder(&root).read_stdout(&["config", "status.showUntrackedFiles", "no"]).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/leftover"), "").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // spec: V14, V11
    #[test]
    fn nested_repositories_are_reported_or_make_the_tree_incomplete() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let tree = take_snapshot(&root).unwrap().tree;
        assert_eq!(complete_tree_hash(&root).unwrap(), Some(tree.clone()));
        let inner = root.join("inner");
        fs::create_dir(&inner).unwrap();
        IsolatedGit::in_folder(&inner).read_stdout(&["init", "--quiet"]).unwrap();
        fs::write(inner.join("work"), "").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert_eq!((seen.is_committed, &seen.tree), (false, &tree));
        assert!(seen.left_out.is_some_and(|message| message.contains("inner/")));
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&inner);
        assert_eq!(take_snapshot(&root).unwrap().left_out, None);
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&root);
        fs::write(inner.join("work"), "more").unwrap();
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "changes of its files are not covered");
    }

    // spec: V14
    #[test]
    fn an_empty_repository_and_ignored_files_are_supported() {
        let (_temp, root) = new_repository();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert_eq!((seen.commit.as_deref(), seen.is_committed), (None, false));
        fs::write(root.join("out"), "built").unwrap();
        assert_eq!(take_snapshot(&root).unwrap(), seen);
    }
}
