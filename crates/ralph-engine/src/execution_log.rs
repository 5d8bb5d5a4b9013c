//! The file of the execution log: one line of JSON for each iteration of a stage. Several processes write at its end, each
//! line in one write. It is bounded: what was full becomes the old log, and the old one before it goes.
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::execution::Record;
use rustix::fs::{FlockOperation, flock, renameat};

use ralph_util::bounded_lines::BoundedLines;
use ralph_util::private::{self, Folder};
use ralph_util::redact;

const NAME: &str = "execution.jsonl";
const OLD: &str = "execution.1.jsonl";

/// A log of this size becomes the old one.
const FULL: u64 = 16 << 20;

/// How often, and how long, a writer waits for another one.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(1);

/// A longer line was not written by ralph.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct ExecutionLog {
    folder: PathBuf,
    full: u64,
}

impl ExecutionLog {
    /// Names the log of a folder. Nothing is made before the first line.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), full: FULL }
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Returns the log that was full.
    #[must_use]
    pub fn old_path(&self) -> PathBuf {
        self.folder.join(OLD)
    }

    /// Adds a record.
    pub fn append(&self, record: &Record) -> io::Result<()> {
        let line = serde_json::to_string(record)?;
        let folder = private::folder(&self.folder)?;
        folder.keep_out_of_git()?;
        let file = folder.appended(NAME)?;
        // What a full disk has cut off stays by itself.
        let start = if is_held(&file) && !ends_a_line(&file)? { "\n" } else { "" };
        write_at_once(&file, format!("{start}{}\n", redact::text(&line)).as_bytes())?;
        self.make_room(&folder, &file)
    }

    /// Returns the last iteration of a run that stands in the log; 0: none does.
    pub fn last_of(&self, run: &str) -> io::Result<u32> {
        let mut last = 0;
        for path in [self.old_path(), self.path()] {
            match private::regular_file(&path) {
                Ok(file) => last = last.max(last_in(file, run)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(last)
    }

    /// Puts a full log aside. Of those who find it full at the same time one does it; what another still writes into it
    /// goes aside with it.
    fn make_room(&self, folder: &Folder, file: &File) -> io::Result<()> {
        let found = file.metadata()?;
        if found.len() < self.full || flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        let is_in_use = folder.look(NAME)?.is_some_and(|there| there.st_ino == found.ino());
        if is_in_use {
            renameat(folder, NAME, folder, OLD)?;
        }
        Ok(())
    }
}

fn ends_a_line(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

/// Keeps the others from writing: a line that somebody is writing can be seen without its end. Who was stopped in the middle
/// is not waited for.
fn is_held(file: &File) -> bool {
    let is_taken = || flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
    (0..TRIES).any(|_| {
        let taken = is_taken();
        if !taken {
            std::thread::park_timeout(BETWEEN);
        }
        taken
    })
}

/// Two writes could have the line of another process between them.
fn write_at_once(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    loop {
        match file.write(bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::StorageFull.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What is no record of ours is passed over.
fn last_in(file: File, run: &str) -> io::Result<u32> {
    let mut lines = BoundedLines::new(BufReader::new(file), LONGEST_LINE);
    let mut last = 0;
    while let Some(line) = lines.next_line()? {
        match serde_json::from_slice::<Record>(&line) {
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

    fn record(run: &str, iteration: u32) -> Record {
        Record {
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

    fn read(path: &Path) -> Vec<Record> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    // spec: P8
    #[test]
    fn a_full_log_is_put_aside_and_nothing_is_lost_when_many_write() {
        let temp = tempfile::tempdir().unwrap();
        let log = ExecutionLog { folder: temp.path().join("logs"), full: 40_000 };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    (1..=40)
                        .for_each(|iteration| log.append(&record(&writer.to_string(), iteration)).unwrap());
                });
            }
        });
        let (old, new) = (read(&log.old_path()), read(&log.path()));
        assert_eq!(old.len() + new.len(), 160);
        assert!(!old.is_empty(), "the log was full");
        assert_eq!((log.last_of("3").unwrap(), log.last_of("x").unwrap()), (40, 0));
    }

    // spec: P8
    #[test]
    fn a_line_that_was_cut_off_spoils_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let log = ExecutionLog::new(temp.path());
        fs::write(log.path(), "{\"task_id\":\"T").unwrap();
        log.append(&record("r", 1)).unwrap();
        let text = fs::read_to_string(log.path()).unwrap();
        assert_eq!(serde_json::from_str::<Record>(text.lines().nth(1).unwrap()).unwrap(), record("r", 1));
        assert_eq!(log.last_of("r").unwrap(), 1);
    }
}
