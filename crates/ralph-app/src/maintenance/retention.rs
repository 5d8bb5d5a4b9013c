//! Removes raw logs, session logs and notes of runs without following links, and joins logs that a killed process left
//! in pieces.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_util::private_files;

/// The folder that contains a folder for each run.
#[derive(Debug)]
pub struct RunFolders {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    #[error("{} is a link or a file, not a folder that ralph created", path.display())]
    NotOwnFolder { path: PathBuf },
    #[error("cannot remove {}", path.display())]
    CannotRemove { path: PathBuf, source: io::Error },
    #[error("cannot append the saved tail to {}", path.display())]
    CannotJoin { path: PathBuf, source: io::Error },
}

impl RunFolders {
    /// Finds the folder of the runs below the state folder. It need not exist.
    pub fn find(state: &Path) -> Result<Self, RetentionError> {
        let path = state.join("runs");
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_dir() => Err(RetentionError::NotOwnFolder { path }),
            Ok(_) | Err(_) => Ok(Self { path }),
        }
    }

    /// Returns the size of the logs of a run in bytes, if it has any.
    pub fn logs_size(&self, run: &str) -> Result<Option<u64>, RetentionError> {
        let Some(path) = self.run_folder(run) else { return Ok(None) };
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Some(folder_size(&path))),
            Ok(_) => Err(RetentionError::NotOwnFolder { path }),
            Err(_) => Ok(None),
        }
    }

    /// Removes the folder of a run. Removes links without following them.
    pub fn remove_run_folder(&self, run: &str) -> Result<(), RetentionError> {
        let Some(path) = self.run_folder(run) else { return Ok(()) };
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            return Err(RetentionError::NotOwnFolder { path });
        }
        fs::remove_dir_all(&path).map_err(|source| RetentionError::CannotRemove { path, source })
    }

    /// Appends the pieces that a killed process left to their logs. Returns the number of changed logs.
    pub fn join_log_tails(&self, run: &str) -> Result<u64, RetentionError> {
        let logs = self.unjoined_logs(run);
        for (log, pieces) in &logs {
            join_pieces(log, pieces).map_err(|source| RetentionError::CannotJoin { path: log.clone(), source })?;
        }
        Ok(logs.len() as u64)
    }

    /// Returns how many logs [`RunFolders::join_log_tails`] would change.
    #[must_use]
    pub fn count_unjoined_tails(&self, run: &str) -> u64 {
        self.unjoined_logs(run).len() as u64
    }

    /// Returns the logs that have pieces, with the piece numbers in order.
    fn unjoined_logs(&self, run: &str) -> BTreeMap<PathBuf, BTreeSet<u64>> {
        let folder = self.run_folder(run).filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()));
        let files = folder.into_iter().flat_map(fs::read_dir).flatten().flatten();
        let files = files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
        let mut logs = BTreeMap::<PathBuf, BTreeSet<u64>>::new();
        for (log, number) in files.filter_map(|file| parse_piece_name(&file.path())) {
            logs.entry(log).or_default().insert(number);
        }
        logs
    }

    /// Returns the folder of a run; `None` if the id is not a UUID and could be an arbitrary path.
    fn run_folder(&self, run: &str) -> Option<PathBuf> {
        run.parse::<uuid::Uuid>().ok().map(|_| self.path.join(run))
    }
}

/// Parses the name of a piece into the path of its log and the number of the piece.
fn parse_piece_name(path: &Path) -> Option<(PathBuf, u64)> {
    let (log, number) = path.file_name()?.to_str()?.rsplit_once(PIECE_NAME_INFIX)?;
    let number = number.parse().ok().filter(|parsed: &u64| parsed.to_string() == number)?;
    Some((path.with_file_name(log), number))
}

/// Separates the name of a log from the number of a piece.
const PIECE_NAME_INFIX: &str = ".tail-";

fn join_pieces(log: &Path, pieces: &BTreeSet<u64>) -> io::Result<()> {
    let mut end = private_files::open_for_append(log)?;
    let is_records = log.extension().is_some_and(|extension| extension == "ndjson");
    let mark = if is_records { "{\"type\":\"ralph.cut\",\"missing_bytes\":null}" } else { KILLED_MARKER };
    end.write_all(format!("\n{mark}\n").as_bytes())?;
    for number in pieces {
        let mut name = log.as_os_str().to_owned();
        name.push(format!("{PIECE_NAME_INFIX}{number}"));
        let piece = PathBuf::from(name);
        io::copy(&mut private_files::open_regular_file(&piece)?, &mut end)?;
        fs::remove_file(piece)?;
    }
    Ok(())
}

/// The number of lost bytes is unknown, because the process that counted them is dead.
const KILLED_MARKER: &str =
    "[ralph: the process was killed here; bytes may be missing or repeated before the tail that follows]";

/// Returns the size of a regular file in bytes; 0 for anything else.
#[must_use]
pub fn file_size(file: &Path) -> u64 {
    private_files::open_regular_file(file).and_then(|file| file.metadata()).map_or(0, |found| found.len())
}

/// Removes the notes of a run. Removes a link without following it.
pub fn remove_notes(notes: &Path) -> Result<(), RetentionError> {
    remove_file(notes)
}

/// Removes session logs of a run. Removes links without following them.
pub fn remove_session_logs(logs: &[PathBuf]) -> Result<(), RetentionError> {
    logs.iter().try_for_each(|log| remove_file(log))
}

/// Removes the old execution log if it has not been written to for `older_than`. Returns its size.
pub fn remove_old_execution_log(log: &Path, older_than: Duration, mode: RemovalMode) -> Result<u64, RetentionError> {
    let Ok(found) = private_files::open_regular_file(log).and_then(|file| file.metadata()) else {
        return Ok(0);
    };
    let age = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
    if age < older_than {
        return Ok(0);
    }
    match mode {
        RemovalMode::Remove => remove_file(log).map(|()| found.len()),
        RemovalMode::DryRun => Ok(found.len()),
    }
}

/// Whether to remove files or only count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalMode {
    Remove,
    DryRun,
}

/// Removes a file, if it exists. Its folder must not be a link.
fn remove_file(file: &Path) -> Result<(), RetentionError> {
    let path = file.to_path_buf();
    let folder = file.parent().map(fs::symlink_metadata);
    match folder {
        Some(Ok(folder)) if !folder.is_dir() => Err(RetentionError::NotOwnFolder { path }),
        Some(Ok(_)) => match fs::remove_file(file) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(RetentionError::CannotRemove { path, source })
            }
            Ok(()) | Err(_) => Ok(()),
        },
        Some(Err(_)) | None => Ok(()),
    }
}

fn folder_size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        Some(if found.is_dir() { folder_size(&entry.path()) } else { found.len() })
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_RUN_ID: &str = "01a1e1f1-f55e-70b6-9ee9-0efd709b7eba";

    fn sample_state() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let run = temp.path().join("runs").join(SAMPLE_RUN_ID);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("iteration-001.ndjson"), "12345").unwrap();
        fs::write(run.join("iteration-001.ndjson.tail-12"), "678").unwrap();
        (temp, run)
    }

    // spec: D5
    #[test]
    fn a_run_is_measured_and_removed() {
        let (temp, run) = sample_state();
        let folders = RunFolders::find(temp.path()).unwrap();
        assert_eq!(folders.logs_size(SAMPLE_RUN_ID).unwrap(), Some(8));
        folders.remove_run_folder(SAMPLE_RUN_ID).unwrap();
        assert!(!run.exists());
        assert_eq!(folders.logs_size(SAMPLE_RUN_ID).unwrap(), None);
    }

    // fault: 41
    // spec: D5
    #[test]
    fn pieces_of_a_killed_process_are_appended_to_their_log_in_order() {
        let (temp, run) = sample_state();
        for (name, text) in [("iteration-001.ndjson.tail-9", "abc"), ("a.stderr", "x"), ("a.stderr.tail-1", "y")] {
            fs::write(run.join(name), text).unwrap();
        }
        fs::write(run.join("iteration-001.ndjson.tail-x"), "no piece").unwrap();
        let folders = RunFolders::find(temp.path()).unwrap();
        assert_eq!(folders.count_unjoined_tails(SAMPLE_RUN_ID), 2);
        assert_eq!(
            (folders.join_log_tails(SAMPLE_RUN_ID).unwrap(), folders.count_unjoined_tails(SAMPLE_RUN_ID)),
            (2, 0)
        );
        let text = |name: &str| fs::read_to_string(run.join(name)).unwrap();
        let mark = "{\"type\":\"ralph.cut\",\"missing_bytes\":null}";
        assert_eq!(text("iteration-001.ndjson"), format!("12345\n{mark}\nabc678"));
        assert_eq!(text("a.stderr"), format!("x\n{KILLED_MARKER}\ny"));
        assert_eq!(fs::read_dir(&run).unwrap().count(), 3, "the pieces are removed");
    }

    // fault: 62
    // spec: D5, L16
    #[test]
    fn notes_are_removed_without_following_links() {
        let temp = tempfile::tempdir().unwrap();
        let (folder, outside) = (temp.path().join("notes"), temp.path().join("precious"));
        fs::create_dir(&folder).unwrap();
        fs::write(&outside, "x").unwrap();
        let notes = folder.join("run.md");
        fs::write(&notes, "four").unwrap();
        assert_eq!(file_size(&notes), 4);
        remove_notes(&notes).unwrap();
        assert!(!notes.exists());
        remove_notes(&notes).unwrap();
        std::os::unix::fs::symlink(&outside, &notes).unwrap();
        assert_eq!(file_size(&notes), 0);
        remove_notes(&notes).unwrap();
        assert!(outside.exists() && notes.symlink_metadata().is_err());
        let elsewhere = temp.path().join("elsewhere");
        std::os::unix::fs::symlink(&folder, &elsewhere).unwrap();
        fs::write(&notes, "four").unwrap();
        assert!(matches!(remove_notes(&elsewhere.join("run.md")), Err(RetentionError::NotOwnFolder { .. })));
        assert!(notes.exists());
    }

    // fault: 62
    // spec: D5
    #[test]
    fn links_out_of_the_state_folder_are_not_followed() {
        let (temp, run) = sample_state();
        let outside = temp.path().join("precious");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, run.join("link")).unwrap();
        let folders = RunFolders::find(temp.path()).unwrap();
        folders.remove_run_folder(SAMPLE_RUN_ID).unwrap();
        assert!(outside.join("file").exists(), "a link inside is removed, not followed");
        std::os::unix::fs::symlink(&outside, &run).unwrap();
        assert!(matches!(folders.logs_size(SAMPLE_RUN_ID), Err(RetentionError::NotOwnFolder { .. })));
        assert!(matches!(folders.remove_run_folder(SAMPLE_RUN_ID), Err(RetentionError::NotOwnFolder { .. })));
        assert_eq!(folders.count_unjoined_tails(SAMPLE_RUN_ID), 0);
        assert!(outside.join("file").exists());
    }

    // fault: 62
    // spec: D5
    #[test]
    fn a_linked_runs_folder_is_refused_and_an_id_is_not_used_as_a_path() {
        let (temp, _) = sample_state();
        let folders = RunFolders::find(temp.path()).unwrap();
        for id in ["..", "../runs", "", "/", "."] {
            assert_eq!(folders.logs_size(id).unwrap(), None);
            folders.remove_run_folder(id).unwrap();
        }
        assert!(temp.path().join("runs").join(SAMPLE_RUN_ID).exists());
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(temp.path().join("runs"), other.path().join("runs")).unwrap();
        assert!(matches!(RunFolders::find(other.path()), Err(RetentionError::NotOwnFolder { .. })));
    }
}
