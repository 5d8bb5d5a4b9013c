//! The execution log: one line of JSON for each iteration of a stage. Several processes append to it, each line in one
//! write. A full log is rotated, and the previous old log is deleted.
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::execution_log::ExecutionRecord;
use rustix::fs::{FlockOperation, flock, renameat};

use ralph_util::bounded_lines::BoundedLines;
use ralph_util::private_files::{self, PrivateFolder};
use ralph_util::redact;

const LOG_FILE_NAME: &str = "execution.jsonl";
const OLD_LOG_FILE_NAME: &str = "execution.1.jsonl";

/// A log of this size is rotated.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// How often, and how long, a writer waits for another writer.
const MAX_LOCK_ATTEMPTS: u32 = 50;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// A longer line was not written by ralph.
const MAX_LINE_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct ExecutionLog {
    folder: PathBuf,
    max_bytes: u64,
}

impl ExecutionLog {
    /// Returns the log of a folder. The file is created with the first record.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), max_bytes: MAX_LOG_BYTES }
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(LOG_FILE_NAME)
    }

    /// Returns the path of the rotated log.
    #[must_use]
    pub fn old_path(&self) -> PathBuf {
        self.folder.join(OLD_LOG_FILE_NAME)
    }

    pub fn append_record(&self, record: &ExecutionRecord) -> io::Result<()> {
        let line = serde_json::to_string(record)?;
        let folder = private_files::ensure_folder(&self.folder)?;
        folder.write_gitignore()?;
        let file = folder.open_for_read_and_append(LOG_FILE_NAME)?;
        // A line that was truncated by a full disk must not be joined with the new one.
        let start = if try_lock(&file) && !ends_with_newline(&file)? { "\n" } else { "" };
        write_in_one_call(&file, format!("{start}{}\n", redact::redact_text(&line)).as_bytes())?;
        self.rotate_if_full(&folder, &file)
    }

    /// Returns the last iteration of a run in the log; 0 if there is none.
    pub fn last_iteration_of(&self, run: &str) -> io::Result<u32> {
        let mut last = 0;
        for path in [self.old_path(), self.path()] {
            match private_files::open_regular_file(&path) {
                Ok(file) => last = last.max(last_iteration_in(file, run)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(last)
    }

    /// Rotates a full log. If several processes find it full, one of them rotates it; lines that another process still
    /// writes go into the rotated log.
    fn rotate_if_full(&self, folder: &PrivateFolder, file: &File) -> io::Result<()> {
        let found = file.metadata()?;
        if found.len() < self.max_bytes || flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        let is_in_use = folder.stat_own_file(LOG_FILE_NAME)?.is_some_and(|there| there.st_ino == found.ino());
        if is_in_use {
            renameat(folder, LOG_FILE_NAME, folder, OLD_LOG_FILE_NAME)?;
        }
        Ok(())
    }
}

fn ends_with_newline(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

/// Locks the file, because a line that another process is writing may look truncated. Gives up after a short time: a
/// writer that is suspended could hold the lock for hours.
fn try_lock(file: &File) -> bool {
    let lock = || flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
    (0..MAX_LOCK_ATTEMPTS).any(|_| {
        let is_locked = lock();
        if !is_locked {
            std::thread::park_timeout(LOCK_RETRY_INTERVAL);
        }
        is_locked
    })
}

/// Writes a line in one call: between two calls another process could write its line.
fn write_in_one_call(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    loop {
        match file.write(bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::StorageFull.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the last iteration of a run in a file. Lines that are not records are skipped.
fn last_iteration_in(file: File, run: &str) -> io::Result<u32> {
    let mut lines = BoundedLines::new(BufReader::new(file), MAX_LINE_BYTES);
    let mut last = 0;
    while let Some(line) = lines.next_line()? {
        match serde_json::from_slice::<ExecutionRecord>(&line) {
            Ok(record) if record.run == run => last = last.max(record.ralph_iteration),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ralph_core::fact::IterationStatus;

    use super::*;

    fn sample_record(run: &str, iteration: u32) -> ExecutionRecord {
        ExecutionRecord {
            task_id: "T-1".into(),
            stage: "coder".into(),
            ralph_iteration: iteration,
            ralph_max: 9,
            promise_found: false,
            verified: false,
            continuing: true,
            status: IterationStatus::Finished,
            reason: "no promise was found".into(),
            duration_ms: 45_000,
            cost_usd: None,
            run: run.into(),
            at: "2026-01-01T00:00:00Z".into(),
        }
    }

    fn read_records(path: &Path) -> Vec<ExecutionRecord> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    // spec: P8
    #[test]
    fn a_full_log_is_rotated_and_concurrent_writers_lose_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let log = ExecutionLog { folder: temp.path().join("logs"), max_bytes: 40_000 };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    (1..=40).for_each(|iteration| {
                        log.append_record(&sample_record(&writer.to_string(), iteration)).unwrap();
                    });
                });
            }
        });
        let (old, new) = (read_records(&log.old_path()), read_records(&log.path()));
        assert_eq!(old.len() + new.len(), 160);
        assert!(!old.is_empty(), "the log was full");
        assert_eq!((log.last_iteration_of("3").unwrap(), log.last_iteration_of("x").unwrap()), (40, 0));
    }

    // spec: P8
    #[test]
    fn a_truncated_line_does_not_damage_the_next_one() {
        let temp = tempfile::tempdir().unwrap();
        let log = ExecutionLog::new(temp.path());
        fs::write(log.path(), "{\"task_id\":\"T").unwrap();
        log.append_record(&sample_record("r", 1)).unwrap();
        let text = fs::read_to_string(log.path()).unwrap();
        assert_eq!(
            serde_json::from_str::<ExecutionRecord>(text.lines().nth(1).unwrap()).unwrap(),
            sample_record("r", 1)
        );
        assert_eq!(log.last_iteration_of("r").unwrap(), 1);
    }
}
