//! Takes away the raw logs of runs, and nothing else: never a link, never anything outside of the state folder.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder in which each run has its own.
#[derive(Debug)]
pub struct RunFolders {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    #[error("{} is not a folder of ralph's own but a link or a file", path.display())]
    NotOurs { path: PathBuf },
    #[error("{} cannot be removed", path.display())]
    Stays { path: PathBuf, source: io::Error },
}

impl RunFolders {
    /// Finds the folder. Where no run has left anything there is none.
    pub fn find(state: &Path) -> Result<Option<Self>, RetentionError> {
        let path = state.join("runs");
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Some(Self { path })),
            Ok(_) => Err(RetentionError::NotOurs { path }),
            Err(_) => Ok(None),
        }
    }

    /// Returns how many bytes the logs of a run take, if it has any.
    pub fn size(&self, run: &str) -> Result<Option<u64>, RetentionError> {
        let Some(path) = self.folder(run) else { return Ok(None) };
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Some(size_of(&path))),
            Ok(_) => Err(RetentionError::NotOurs { path }),
            Err(_) => Ok(None),
        }
    }

    /// Removes the folder of a run. Links in it are removed, not followed.
    pub fn remove(&self, run: &str) -> Result<(), RetentionError> {
        let Some(path) = self.folder(run) else { return Ok(()) };
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            return Err(RetentionError::NotOurs { path });
        }
        fs::remove_dir_all(&path).map_err(|source| RetentionError::Stays { path, source })
    }

    /// Removes the unfinished ends of logs that a killed process left in a run that has ended. Returns their size.
    pub fn remove_leftovers(&self, run: &str) -> Result<u64, RetentionError> {
        let mut freed = 0;
        for (path, size) in self.leftovers(run) {
            fs::remove_file(&path).map_err(|source| RetentionError::Stays { path, source })?;
            freed += size;
        }
        Ok(freed)
    }

    /// Returns what [`RunFolders::remove_leftovers`] would free.
    #[must_use]
    pub fn leftovers_size(&self, run: &str) -> u64 {
        self.leftovers(run).map(|(_, size)| size).sum()
    }

    fn leftovers(&self, run: &str) -> impl Iterator<Item = (PathBuf, u64)> {
        let folder =
            self.folder(run).filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()));
        let files = folder.into_iter().flat_map(fs::read_dir).flatten().flatten();
        let sized = files.filter_map(|file| Some((file.path(), file.metadata().ok()?)));
        sized
            .filter(|(path, found)| found.is_file() && is_leftover(path))
            .map(|(path, found)| (path, found.len()))
    }

    /// An id that is none could lead anywhere.
    fn folder(&self, run: &str) -> Option<PathBuf> {
        run.parse::<uuid::Uuid>().ok().map(|_| self.path.join(run))
    }
}

/// Tells whether a file is named like a piece of a log that was not put together.
fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.rsplit_once(".tail-").map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        Some(if found.is_dir() { size_of(&entry.path()) } else { found.len() })
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "01a1e1f1-f55e-70b6-9ee9-0efd709b7eba";

    fn state() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let run = temp.path().join("runs").join(RUN);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("iteration-001.ndjson"), "12345").unwrap();
        fs::write(run.join("iteration-001.ndjson.tail-12"), "678").unwrap();
        (temp, run)
    }

    // spec: D5
    #[test]
    fn a_run_is_measured_and_removed_and_the_ends_that_a_killed_process_left_can_go_alone() {
        let (temp, run) = state();
        let folders = RunFolders::find(temp.path()).unwrap().unwrap();
        assert_eq!((folders.size(RUN).unwrap(), folders.leftovers_size(RUN)), (Some(8), 3));
        assert_eq!(folders.remove_leftovers(RUN).unwrap(), 3);
        assert_eq!(folders.size(RUN).unwrap(), Some(5));
        folders.remove(RUN).unwrap();
        assert!(!run.exists());
        assert_eq!(folders.size(RUN).unwrap(), None);
    }

    // fault: 62
    // spec: D5
    #[test]
    fn links_are_never_followed_out_of_the_state() {
        let (temp, run) = state();
        let outside = temp.path().join("precious");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, run.join("link")).unwrap();
        let folders = RunFolders::find(temp.path()).unwrap().unwrap();
        folders.remove(RUN).unwrap();
        assert!(outside.join("file").exists(), "a link inside is removed, not followed");
        std::os::unix::fs::symlink(&outside, &run).unwrap();
        assert!(matches!(folders.size(RUN), Err(RetentionError::NotOurs { .. })));
        assert!(matches!(folders.remove(RUN), Err(RetentionError::NotOurs { .. })));
        assert_eq!(folders.leftovers_size(RUN), 0);
        assert!(outside.join("file").exists());
    }

    // fault: 62
    // spec: D5
    #[test]
    fn a_folder_of_runs_that_leads_elsewhere_is_refused_and_an_id_is_no_path() {
        let (temp, _) = state();
        let folders = RunFolders::find(temp.path()).unwrap().unwrap();
        for id in ["..", "../runs", "", "/", "."] {
            assert_eq!(folders.size(id).unwrap(), None);
            folders.remove(id).unwrap();
        }
        assert!(temp.path().join("runs").join(RUN).exists());
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(temp.path().join("runs"), other.path().join("runs")).unwrap();
        assert!(matches!(RunFolders::find(other.path()), Err(RetentionError::NotOurs { .. })));
    }
}
