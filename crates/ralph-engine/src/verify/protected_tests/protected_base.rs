//! The protected files before the work, with which those of a claim are compared.
use std::path::Path;

use ralph_core::protected::{IgnoredFile, ProtectedBase, ProtectedKind, classify_path};

use crate::git;

/// Reads the protected files before the work: `tree` contains all files that git does not ignore.
pub fn read_protected_base(root: &Path, tree: String) -> ProtectedBase {
    ProtectedBase { tree, ignored: list_ignored_deciding_files(root) }
}

/// Returns the ignored files that decide what a test command runs. Folders whose files are all ignored are not searched,
/// except those that tools read by their name.
pub(in crate::verify) fn list_ignored_deciding_files(root: &Path) -> Vec<IgnoredFile> {
    let listed = git::list_ignored_paths(root).unwrap_or_default();
    let mut found = Vec::new();
    for path in listed.iter().filter_map(|path| path.to_str()) {
        let names = match path.strip_suffix('/') {
            Some(folder) if folder.rsplit('/').next() == Some(".cargo") => {
                vec![format!("{folder}/config.toml"), format!("{folder}/config")]
            }
            Some(_) => Vec::new(),
            None => vec![path.to_owned()],
        };
        let deciding = names.into_iter().filter(|name| classify_path(name) == Some(ProtectedKind::Deciding));
        found.extend(deciding.filter_map(|path| {
            let content = std::fs::read(root.join(&path)).ok()?;
            Some(IgnoredFile { path, sha256: ralph_util::digest::sha256_hex(&content) })
        }));
    }
    found
}
