//! Reads and atomically replaces files of the user. Links, mode and owner are preserved.
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::install::error::InstallError;
use ralph_util::private_files;

/// Larger files are not accepted as settings.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSnapshot {
    /// The path with links resolved.
    pub(crate) real_path: PathBuf,
    /// `None` if the file does not exist.
    pub(crate) text: Option<String>,
}

/// Reads a file, which may be missing.
pub(crate) fn snapshot_file(path: &Path) -> Result<FileSnapshot, InstallError> {
    let unusable = |problem| InstallError::UnusablePath { path: path.to_path_buf(), problem };
    let unreadable = |source| InstallError::Unreadable { path: path.to_path_buf(), source };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(FileSnapshot { real_path: private_files::resolve_links(path), text: None });
        }
        Err(error) => return Err(unreadable(error)),
        Ok(_) => {}
    }
    let real = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(unusable("is a broken symbolic link"));
        }
        other => other.map_err(unreadable)?,
    };
    let metadata = real.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unusable("is not a regular file"));
    }
    if metadata.len() > MAX_SETTINGS_BYTES {
        return Err(unusable("is too large for a settings file"));
    }
    let text = fs::read_to_string(&real).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => unusable("is not valid UTF-8"),
        _ => unreadable(error),
    })?;
    Ok(FileSnapshot { real_path: real, text: Some(text) })
}

/// Refuses to replace a read-only file, which a rename would do without an error.
pub(crate) fn ensure_writable(path: &Path) -> Result<(), InstallError> {
    match path.metadata() {
        Ok(metadata) if metadata.mode() & 0o222 == 0 => {
            Err(InstallError::UnusablePath { path: path.to_path_buf(), problem: "is read-only" })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Replaces a file atomically: a reader sees either the old or the new text.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    private_files::refuse_missing_home(folder)?;
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

/// Returns the path of the temporary file. It is fixed, because the install lock allows only one writer.
fn draft_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.ralph-draft"))
}

/// Removes the temporary file of a ralph that was killed, if there is one.
pub(crate) fn remove_draft(path: &Path) {
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

/// Returns the parent folders of a path that do not exist yet, outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err());
    let mut missing: Vec<_> = above.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}
