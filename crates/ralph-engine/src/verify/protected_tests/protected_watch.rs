//! Watches protected files while the checks run: code of the work that a check starts could replace a test, or add a file that
//! decides what runs, and undo that before the check ends.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::protected::{PathClassifier, ProtectedKind, fixed_deciding_names};

use crate::git;
use crate::verify::seals::sealed_paths::FileStamps;

/// In how many folders, besides the root, new deciding files are watched for.
const MAX_WATCHED_FOLDERS: usize = 50;

/// The watched files of a work tree or checkout, and those that were touched.
#[derive(Clone)]
pub(in crate::verify) struct ProtectedWatch {
    root: PathBuf,
    paths: Arc<Vec<String>>,
    touched: Arc<Mutex<BTreeSet<String>>>,
}

impl ProtectedWatch {
    pub(in crate::verify) fn new(root: &Path, paths: Arc<Vec<String>>) -> Self {
        Self { root: root.to_path_buf(), paths, touched: Arc::default() }
    }

    /// Watches the protected files that are in a folder now.
    pub(in crate::verify) fn of_folder(root: &Path) -> Self {
        // Without git nothing is protected.
        let files = git::list_files(root).unwrap_or_default();
        Self::new(root, Arc::new(list_watched_paths(files.iter().map(PathBuf::as_path))))
    }

    pub(in crate::verify) fn read_stamps(&self) -> FileStamps {
        FileStamps::read(&self.root, self.paths.clone())
    }

    /// Records the files whose stamps are different now.
    pub(in crate::verify) fn record_touched(&self, before: &FileStamps) {
        let changed = before.changed_names(&self.read_stamps());
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).extend(changed);
    }

    /// Returns the names of the files that were touched while checks ran.
    pub(in crate::verify) fn touched_files(&self) -> Vec<String> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Returns the paths to watch: protected files, and the fixed names of deciding files in the root and beside other deciding files.
pub(in crate::verify) fn list_watched_paths<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let classifier = PathClassifier::new();
    let (mut paths, mut folders) = (BTreeSet::new(), BTreeSet::from([""]));
    for path in files.filter_map(Path::to_str) {
        let Some(kind) = classifier.classify(path) else { continue };
        paths.insert(path.to_owned());
        if kind != ProtectedKind::Test && folders.len() <= MAX_WATCHED_FOLDERS {
            folders.insert(path.rsplit_once('/').map_or("", |(folder, _)| folder));
        }
    }
    for folder in folders {
        let in_folder = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        paths.extend(fixed_deciding_names().map(in_folder));
    }
    paths.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V15
    #[test]
    fn a_deciding_file_that_was_there_for_a_moment_is_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(root.path().join(name), "same").unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        ["sub/Makefile", "test.py", "work"].into_iter().for_each(write);
        let files = ["sub/Makefile", "test.py", "work"].map(Path::new);
        let watch = ProtectedWatch::new(root.path(), Arc::new(list_watched_paths(files.into_iter())));
        let before = watch.read_stamps();
        ["sub/GNUmakefile", "test.py", "work"].into_iter().for_each(write);
        watch.record_touched(&before);
        let before = watch.read_stamps();
        std::fs::remove_file(root.path().join("sub/GNUmakefile")).unwrap();
        watch.record_touched(&before);
        assert_eq!(watch.touched_files(), ["sub/GNUmakefile", "test.py"]);
    }
}
