//! A project with a repository, and a folder for its trees beside it.
use std::fs;
use std::path::{Path, PathBuf};

use super::{Site, Tree, accept, make, standing};
use crate::git::git;
use crate::git::testing::{commit_all, repository};
use crate::project::Project;

pub(super) struct Scene {
    _temp: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) site: Site,
}

impl Scene {
    /// A project with one commit.
    pub(super) fn new() -> Self {
        let (temp, root) = repository();
        fs::write(root.join(".gitignore"), "out\n.ralph\n").unwrap();
        fs::write(root.join("old"), "old").unwrap();
        commit_all(&root);
        Self::at(temp, root)
    }

    pub(super) fn at(temp: tempfile::TempDir, root: PathBuf) -> Self {
        let project = Project { root: root.clone(), home: root.join(".ralph") };
        let folder = temp.path().canonicalize().unwrap().join("trees/project-1234abcd");
        let site = Site { folder, ..Site::of(&project).unwrap() };
        site.prepare().unwrap();
        Self { _temp: temp, root, site }
    }

    pub(super) fn tree(&self, name: &str) -> Tree {
        make(&self.site, name, &[]).unwrap().tree
    }

    /// Lets somebody commit a file in a tree, and accepts it.
    pub(super) fn accepted(&self, tree: &Tree, file: &str, text: &str) -> String {
        fs::write(tree.path.join(file), text).unwrap();
        let commit = commit_all(&tree.path);
        let from = standing(&self.site, tree).unwrap();
        assert_eq!(accept(&self.site, tree, &from, "coder", None).unwrap().commit, commit);
        commit
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.root, args).unwrap().trim().to_owned()
    }

    /// Everything of the user's: files, index, HEAD, branches, and what git says of it.
    pub(super) fn users(&self) -> Vec<String> {
        let mut all = vec![
            self.git(&["status", "--porcelain"]),
            self.git(&["ls-files", "--stage"]),
            self.git(&["rev-parse", "HEAD"]),
            self.git(&["for-each-ref", "refs/heads"]),
            self.git(&["symbolic-ref", "--quiet", "HEAD"]),
        ];
        files(&self.root, Path::new(""), &mut all);
        all
    }
}

fn files(root: &Path, below: &Path, all: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(root.join(below)).unwrap().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if path == Path::new(".git") || path == Path::new(".ralph") {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            files(root, &path, all);
        } else {
            let text = fs::read(root.join(&path)).unwrap_or_default();
            all.push(format!("{}: {}", path.display(), String::from_utf8_lossy(&text)));
        }
    }
}
