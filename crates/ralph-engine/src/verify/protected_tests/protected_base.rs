//! The protected files before the work, with which those of a claim are compared.
use std::path::{Path, PathBuf};

use ralph_core::protected::{IgnoredFile, PathClassifier, ProtectedBase, ProtectedKind};

use crate::git;

/// Reads the protected files before the work: `tree` contains all files that git does not ignore.
pub fn read_protected_base(root: &Path, tree: String) -> ProtectedBase {
    let listing = git::list_worktree(root).unwrap_or_default();
    ProtectedBase { tree, ignored: read_ignored_deciding_files(root, &listing.ignored) }
}

/// Reads those of the ignored files that decide what a test command runs. Folders whose files are all ignored are not searched,
/// except those that tools read by their name.
pub(in crate::verify) fn read_ignored_deciding_files(root: &Path, ignored: &[PathBuf]) -> Vec<IgnoredFile> {
    let classifier = PathClassifier::new();
    let mut found = Vec::new();
    for path in ignored.iter().filter_map(|path| path.to_str()) {
        let names = match path.strip_suffix('/') {
            Some(folder) if folder.rsplit('/').next() == Some(".cargo") => {
                vec![format!("{folder}/config.toml"), format!("{folder}/config")]
            }
            Some(_) => Vec::new(),
            None => vec![path.to_owned()],
        };
        let deciding = names.into_iter().filter(|name| classifier.classify(name) == Some(ProtectedKind::Deciding));
        found.extend(deciding.filter_map(|path| {
            let content = std::fs::read(root.join(&path)).ok()?;
            Some(IgnoredFile { path, sha256: ralph_util::digest::sha256_hex(&content) })
        }));
    }
    found
}
