//! Reads files of a tree and makes a tree with some other files, without a work tree.
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;
use crate::git::temporary_folder::TemporaryFolder;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// As git writes it, such as `100755`.
    pub mode: String,
    pub object: String,
}

/// Returns all files of a tree by path.
pub fn list_tree_entries(root: &Path, tree: &str) -> Result<BTreeMap<PathBuf, TreeEntry>, GitError> {
    let listed = IsolatedGit::in_folder(root).read_stdout(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let entries = listed.split(|byte| *byte == 0).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'\t')?;
        let (fields, path) = (String::from_utf8_lossy(entry.get(..at)?).into_owned(), entry.get(at + 1..)?);
        let mut fields = fields.split(' ');
        let (mode, object) = (fields.next()?.to_owned(), fields.nth(1)?.to_owned());
        Some((OsString::from_vec(path.to_vec()).into(), TreeEntry { mode, object }))
    });
    Ok(entries.collect())
}

/// Returns the content of a file of a tree; `None` if the tree does not contain it.
pub fn read_tree_file(root: &Path, tree: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let mut name = OsString::from(format!("{tree}:"));
    name.push(path);
    let args: [&OsStr; 3] = ["cat-file".as_ref(), "blob".as_ref(), &name];
    let read = IsolatedGit::in_folder(root).run_with_input(&args, &[])?;
    if read.code == Some(128) { Ok(None) } else { read.into_stdout().map(Some) }
}

/// Stores the content of a file and returns its object.
pub fn write_object(root: &Path, content: &[u8]) -> Result<String, GitError> {
    let git = IsolatedGit::in_folder(root);
    let stored = git.read_stdout_with_input(&["hash-object", "-w", "--stdin"], content)?;
    Ok(String::from_utf8_lossy(&stored).trim().to_owned())
}

/// Returns a tree with some files replaced, or removed if the entry is `None`.
pub fn edit_tree(root: &Path, tree: &str, edits: &BTreeMap<PathBuf, Option<TreeEntry>>) -> Result<String, GitError> {
    let folder = TemporaryFolder::create("edit")?;
    let git = IsolatedGit::in_folder(root).with_long_timeout().with_env("GIT_INDEX_FILE", folder.path.join("index"));
    git.read_stdout(&["read-tree", tree])?;
    let removed = TreeEntry { mode: "0".to_owned(), object: "0".repeat(tree.len().max(40)) };
    let mut lines = Vec::new();
    // Removals first: a file can take the place of a folder, and a folder that of a file.
    for is_removal in [true, false] {
        for (path, entry) in edits.iter().filter(|(_, entry)| entry.is_none() == is_removal) {
            let TreeEntry { mode, object } = entry.as_ref().unwrap_or(&removed);
            lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        }
    }
    git.read_stdout_with_input(&["update-index", "--replace", "-z", "--index-info"], &lines)?;
    git.read_line(&["write-tree"])
}

/// Returns the ignored files of a work tree. A folder whose files are all ignored is one path.
pub fn list_ignored_paths(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

/// Returns the files of a work tree that git does not ignore.
pub fn list_files(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: V15
    #[test]
    fn an_edited_tree_has_other_files_even_below_a_former_link() {
        let (_temp, root) = new_repository();
        std::fs::create_dir(root.join("tests")).unwrap();
        std::fs::write(root.join("tests/a"), "original").unwrap();
        let base = commit_all(&root);
        std::fs::rename(root.join("tests"), root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("tests")).unwrap();
        std::fs::write(root.join("real/a"), "forged").unwrap();
        let claimed = commit_all(&root);
        let entry = list_tree_entries(&root, &base).unwrap().remove(Path::new("tests/a"));
        let edits = BTreeMap::from([("tests/a".into(), entry), ("file".into(), None)]);
        let tree = edit_tree(&root, &claimed, &edits).unwrap();
        let read = |path: &str| read_tree_file(&root, &tree, Path::new(path)).unwrap();
        assert_eq!(read("tests/a").as_deref(), Some(&b"original"[..]));
        assert_eq!((read("real/a").as_deref(), read("file")), (Some(&b"forged"[..]), None));
    }
}
