//! Files of the user's: read without guessing, written whole or not at all. A link stays a link, a mode stays a mode.
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::error::InstallError;

/// Settings that are longer were not written by people.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSnapshot {
    /// Where it really is, behind links.
    pub(super) real_path: PathBuf,
    /// None where there is no file.
    pub(super) text: Option<String>,
}

/// Looks at a path.
pub(super) fn snapshot_file(path: &Path) -> Result<FileSnapshot, InstallError> {
    let unfit = |what| InstallError::UnusablePath { path: path.to_path_buf(), problem: what };
    let unreadable = |source| InstallError::Unreadable { path: path.to_path_buf(), source };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(FileSnapshot { real_path: ralph_util::private_files::resolve_links(path), text: None });
        }
        Err(error) => return Err(unreadable(error)),
        Ok(_) => {}
    }
    let real = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(unfit("is a link that leads nowhere"));
        }
        other => other.map_err(unreadable)?,
    };
    let facts = real.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(unfit("is no file"));
    }
    if facts.len() > MAX_SETTINGS_BYTES {
        return Err(unfit("is larger than settings are"));
    }
    let text = fs::read_to_string(&real).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => unfit("is no UTF-8 text"),
        _ => unreadable(error),
    })?;
    Ok(FileSnapshot { real_path: real, text: Some(text) })
}

/// Refuses to replace a file that its owner has protected: a rename would not even notice.
pub(super) fn ensure_writable(path: &Path) -> Result<(), InstallError> {
    match path.metadata() {
        Ok(facts) if facts.mode() & 0o222 == 0 => {
            Err(InstallError::UnusablePath { path: path.to_path_buf(), problem: "is read-only" })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts a text into the place of a file at once; whoever reads sees the old one or the new one.
pub(super) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    remove_draft(path);
    let draft = draft_path(path);
    let written = write_draft(&draft, path, text).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        remove_draft(path);
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Returns where a file is written before it takes its place. Only one ralph at a time does that.
fn draft_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.ralph-draft"))
}

/// Removes what a ralph that was killed has left behind. Mostly there is nothing.
pub(super) fn remove_draft(path: &Path) {
    let draft = draft_path(path);
    if draft.symlink_metadata().is_ok() {
        let _ = fs::remove_file(draft);
    }
}

fn write_draft(draft: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(draft)?;
    if let Ok(old) = path.metadata() {
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Returns the folders above a path that are not there yet, the highest first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err());
    let mut missing: Vec<_> = above.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}
