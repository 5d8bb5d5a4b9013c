//! Saves a copy of a damaged database for inspection.
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::DamagedCopy;
use crate::sqlite::database_files::{DATABASE_FILE, WAL_FILE};
use ralph_util::private_files::{self, PrivateFolder};

/// Copies the files of a database into a folder next to it, once per state of the file. A copy that fails, for example
/// on a full disk, must not hide the damage, so errors are not returned.
pub(crate) fn save_damaged_copy(path: &Path) -> DamagedCopy {
    match copy_into_folder(path) {
        Ok(Some(folder)) => DamagedCopy::Saved(folder),
        Ok(None) | Err(_) => DamagedCopy::NotSaved,
    }
}

fn copy_into_folder(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(folder) = path.parent() else { return Ok(None) };
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(None) };
    let from = private_files::open_folder(folder)?;
    let target = folder.join(format!("damaged-{}-{}", found.mtime(), found.size()));
    if target.exists() {
        return Ok(Some(target));
    }
    // Renamed to its final name once it is complete.
    let unfinished = target.with_extension("part");
    let to = private_files::ensure_folder(&unfinished)?;
    for name in [DATABASE_FILE, WAL_FILE] {
        if from.stat_own_file(name)?.is_some() {
            copy_file(&from, &to, name)?;
        }
    }
    std::fs::rename(unfinished, &target)?;
    Ok(Some(target))
}

fn copy_file(from: &PrivateFolder, to: &PrivateFolder, name: &str) -> io::Result<()> {
    let mut copy = to.create_new_file(name)?;
    io::copy(&mut from.open_for_read(name)?, &mut copy).map(drop)
}
