//! Remembers the index of the last snapshot of a work tree in the memory of this process. The `.git/index` of the user is
//! not used: an agent can write any file times into it, so that git does not read a changed file again.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The largest index that is remembered: about 40,000 files.
const MAX_INDEX_BYTES: usize = 4 * 1024 * 1024;
/// The number of work trees whose index is remembered.
const MAX_WORKTREES: usize = 4;

static REMEMBERED: Mutex<BTreeMap<PathBuf, RememberedIndex>> = Mutex::new(BTreeMap::new());

#[derive(Clone)]
struct RememberedIndex {
    bytes: Vec<u8>,
    /// Git reads files again that were changed at this time or later.
    modified: SystemTime,
}

/// Writes the remembered index of a work tree to `file`. Returns whether there is one.
pub(in crate::git) fn restore_index(root: &Path, file: &Path) -> io::Result<bool> {
    let known = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
    let Some(RememberedIndex { bytes, modified }) = known else { return Ok(false) };
    fs::write(file, bytes)?;
    File::options().write(true).open(file)?.set_modified(modified)?;
    Ok(true)
}

/// Remembers an index that git has just filled from the files of a work tree. Errors are ignored: the next snapshot
/// reads every file then.
pub(in crate::git) fn remember_index(root: &Path, file: &Path) {
    let read = || Some((fs::read(file).ok()?, file.metadata().ok()?.modified().ok()?));
    let known = read().filter(|(bytes, modified)| bytes.len() <= MAX_INDEX_BYTES && detects_changes(bytes, *modified));
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    if remembered.len() >= MAX_WORKTREES && !remembered.contains_key(root) {
        remembered.clear();
    }
    match known {
        Some((bytes, modified)) => drop(remembered.insert(root.to_path_buf(), RememberedIndex { bytes, modified })),
        None => drop(remembered.remove(root)),
    }
}

pub(in crate::git) fn forget_index(root: &Path) {
    REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).remove(root);
}

/// Returns whether every file was last changed before the second in which the index was written. Git compares seconds, so
/// a later change of another file could have the same change time.
fn detects_changes(index: &[u8], modified: SystemTime) -> bool {
    let written = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    read_change_times(index).is_some_and(|times| times.iter().all(|time| u64::from(*time) < written))
}

/// Reads the change times, in seconds, of all files in an index of version 2 with SHA-1 names; `None` if it has another
/// format.
fn read_change_times(index: &[u8]) -> Option<Vec<u32>> {
    const HEADER_BYTES: usize = 12;
    const FIXED_BYTES: usize = 62;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at.checked_add(4)?)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || number(4)? != 2 {
        return None;
    }
    let (mut at, mut times) = (HEADER_BYTES, Vec::new());
    for _ in 0..number(8)? {
        times.push(number(at)?);
        let name = index.get(at.checked_add(FIXED_BYTES)?..)?;
        let length = memchr::memchr(0, name)?;
        // Every entry ends with one to eight zero bytes, at a multiple of eight.
        at = at.checked_add((FIXED_BYTES + length + 8) & !7)?;
    }
    // The checksum of 20 bytes is the last part. A split index has most of its entries in another file.
    let is_whole = index.len() >= at.checked_add(20)? && index.get(at..at.checked_add(4)?)? != b"link";
    is_whole.then_some(times)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // finding: N11
    #[test]
    fn an_index_is_remembered_only_if_git_would_detect_every_later_change() {
        let (_temp, root) = new_repository();
        fs::write(root.join("a-longer-name"), "").unwrap();
        commit_all(&root);
        let bytes = fs::read(root.join(".git/index")).unwrap();
        let times = read_change_times(&bytes).unwrap();
        let listed = run_git(&root, &["ls-files", "--debug"]).unwrap();
        let changed = |line: &str| line.trim().strip_prefix("ctime: ")?.split(':').next()?.parse().ok();
        assert_eq!(times, listed.lines().filter_map(changed).collect::<Vec<u32>>());
        assert_eq!(times.len(), 2);
        let last = UNIX_EPOCH + Duration::from_secs((*times.iter().max().unwrap()).into());
        assert!(!detects_changes(&bytes, last + Duration::from_millis(999)));
        assert!(detects_changes(&bytes, last + Duration::from_secs(1)));
        assert!(!detects_changes(b"DIRC", last + Duration::from_secs(1)));
        run_git(&root, &["update-index", "--split-index"]).unwrap();
        assert_eq!(read_change_times(&fs::read(root.join(".git/index")).unwrap()), None);
    }
}
