//! A fixture for tests: a project with a repository, and a folder for its work trees next to it.
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::run_git;
use crate::git::testing::{commit_all, new_repository};
use crate::project::{Project, StateLocation};
use crate::worktree::{TaskWorktree, WorktreeLayout, accept_work, open_or_create, read_acceptance_base};

pub(crate) struct WorktreeFixture {
    _temp: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) layout: WorktreeLayout,
}

impl WorktreeFixture {
    /// A project with one commit.
    pub(crate) fn new() -> Self {
        let (temp, root) = new_repository();
        fs::write(root.join(".gitignore"), "out\n.ralph\n").unwrap();
        fs::write(root.join("old"), "old").unwrap();
        commit_all(&root);
        Self::with_root(temp, root)
    }

    pub(crate) fn with_root(temp: tempfile::TempDir, root: PathBuf) -> Self {
        let state = temp.path().canonicalize().unwrap().join("projects/project-1234abcd");
        let state = StateLocation::unregistered(state);
        let project = Project { root: root.clone(), home: root.join(".ralph"), state };
        let layout = WorktreeLayout::for_project(&project).unwrap();
        layout.create_folder().unwrap();
        Self { _temp: temp, root, layout }
    }

    pub(crate) fn create_worktree(&self, name: &str) -> TaskWorktree {
        open_or_create(&self.layout, name, &[]).unwrap().worktree
    }

    /// Commits a file in a work tree and accepts it.
    pub(crate) fn commit_and_accept(&self, tree: &TaskWorktree, file: &str, text: &str) -> String {
        fs::write(tree.path.join(file), text).unwrap();
        let commit = commit_all(&tree.path);
        let from = read_acceptance_base(&self.layout, tree).unwrap();
        assert_eq!(accept_work(&self.layout, tree, &from, "coder", None).unwrap().commit, commit);
        commit
    }

    pub(crate) fn run_git(&self, args: &[&str]) -> String {
        run_git(&self.root, args).unwrap().trim().to_owned()
    }

    /// Returns everything that ralph must not change: the user's files, index, HEAD, branches and status.
    pub(crate) fn user_state(&self) -> Vec<String> {
        let mut all = vec![
            self.run_git(&["status", "--porcelain"]),
            self.run_git(&["ls-files", "--stage"]),
            self.run_git(&["rev-parse", "HEAD"]),
            self.run_git(&["for-each-ref", "refs/heads"]),
            self.run_git(&["symbolic-ref", "--quiet", "HEAD"]),
        ];
        collect_files(&self.root, Path::new(""), &mut all);
        all
    }
}

fn collect_files(root: &Path, below: &Path, all: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(root.join(below)).unwrap().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if path == Path::new(".git") || path == Path::new(".ralph") {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect_files(root, &path, all);
        } else {
            let text = fs::read(root.join(&path)).unwrap_or_default();
            all.push(format!("{}: {}", path.display(), String::from_utf8_lossy(&text)));
        }
    }
}
