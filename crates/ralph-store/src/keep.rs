//! A copy of a damaged database, for inspection: whatever happens to the original, by whichever program.
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Kept;
use super::place::{DATABASE, LOG};
use ralph_util::private::{self, Folder};

/// Copies the files of a database into a folder beside it, once for each state of the file. A disk that is
/// full or read-only is no reason to say less about the damage.
pub(super) fn copy(path: &Path) -> Kept {
    match into_folder(path) {
        Ok(Some(folder)) => Kept::Copy(folder),
        Ok(None) | Err(_) => Kept::InPlace,
    }
}

fn into_folder(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(folder) = path.parent() else { return Ok(None) };
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(None) };
    let from = private::existing_folder(folder)?;
    let kept = folder.join(format!("damaged-{}-{}", found.mtime(), found.size()));
    if kept.exists() {
        return Ok(Some(kept));
    }
    // It gets its name when it is whole.
    let unfinished = kept.with_extension("part");
    let to = private::folder(&unfinished)?;
    for name in [DATABASE, LOG] {
        if from.look(name)?.is_some() {
            copy_file(&from, &to, name)?;
        }
    }
    std::fs::rename(unfinished, &kept)?;
    Ok(Some(kept))
}

fn copy_file(from: &Folder, to: &Folder, name: &str) -> io::Result<()> {
    let mut copy = to.new_file(name)?;
    io::copy(&mut from.read(name)?, &mut copy).map(drop)
}
