//! A file with a size limit that keeps the head and the tail of its data. Bytes after the head go into small piece
//! files; the oldest pieces are removed, and `finish` appends the rest to the head after a marker with the number of
//! missing bytes. Piece files (`NAME.tail-N`) remain only if the process dies before that.
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::output::log_budget::LogBudget;
use ralph_util::private_files;

/// The tail gets an eighth of the reserved bytes. It is small compared with the head because it is written twice.
const TAIL_FRACTION: u64 = 8;
const MAX_TAIL_BYTES: u64 = 16 << 20;
/// The number of piece files. One more must fit into the limit while they are appended.
const MAX_TAIL_PIECES: usize = 9;
/// Upper bound for the length of a cut marker.
const MAX_CUT_MARKER_BYTES: u64 = 128;
const COPY_BUFFER_BYTES: usize = 256 * 1024;

/// The bytes to free when the disk is full: enough for the database records of many steps.
const FREED_ON_FULL_DISK_BYTES: u64 = 512 * 1024;

pub(crate) struct LimitedFile {
    path: PathBuf,
    file: File,
    /// The bytes of the run's budget that this file may use.
    reserved_bytes: u64,
    /// Whether the budget knows how much of it was used.
    is_settled: bool,
    /// The current size of `file`.
    written_bytes: u64,
    /// The offset after the last complete line of the head.
    last_line_end: u64,
    tail: Option<TailPieces>,
    budget: LogBudget,
}

struct TailPieces {
    path: PathBuf,
    piece_size: u64,
    pieces: VecDeque<TailPiece>,
    /// The number of pieces created so far; the newest piece has this number.
    created_count: u64,
    received_bytes: u64,
    removed_bytes: u64,
}

struct TailPiece {
    path: PathBuf,
    file: File,
    length: u64,
    /// The bytes to omit at its beginning.
    skipped_bytes: u64,
}

impl LimitedFile {
    pub(crate) fn create(path: &Path, budget: &LogBudget) -> io::Result<Self> {
        Ok(Self::with_open_file(private_files::open_for_append(path)?, path, budget))
    }

    /// Wraps a file that is already open.
    pub(crate) fn with_open_file(file: File, path: &Path, budget: &LogBudget) -> Self {
        let budget = budget.clone();
        let reserved_bytes = budget.reserve_share();
        Self {
            path: path.to_path_buf(),
            file,
            reserved_bytes,
            is_settled: false,
            written_bytes: 0,
            last_line_end: 0,
            tail: None,
            budget,
        }
    }

    /// Writes the bytes. If the disk is full, frees some of the log, because the run's state needs the space.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = self.write_head_or_tail(bytes);
        if result.as_ref().is_err_and(is_disk_full) {
            self.free_disk_space();
        }
        result
    }

    fn free_disk_space(&mut self) {
        match &mut self.tail {
            Some(tail) => tail.pieces.drain(..).for_each(|piece| drop(fs::remove_file(piece.path))),
            None => {
                let _ = self.file.set_len(self.written_bytes.saturating_sub(FREED_ON_FULL_DISK_BYTES));
            }
        }
    }

    fn write_head_or_tail(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if self.tail.is_none() {
            let head_room = usize::try_from(self.head_limit().saturating_sub(self.written_bytes)).unwrap_or(usize::MAX);
            let (head, rest) = bytes.split_at(bytes.len().min(head_room));
            self.file.write_all(head)?;
            if let Some(end) = memchr::memrchr(b'\n', head) {
                self.last_line_end = self.written_bytes + end as u64 + 1;
            }
            self.written_bytes += head.len() as u64;
            bytes = rest;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let (path, size) = (&self.path, self.tail_limit() / (MAX_TAIL_PIECES as u64 + 1));
        self.tail.get_or_insert_with(|| TailPieces::new(path, size)).write(bytes)
    }

    /// Returns the maximum size of the head.
    fn head_limit(&self) -> u64 {
        (self.reserved_bytes - self.tail_limit()).saturating_sub(MAX_CUT_MARKER_BYTES)
    }

    fn tail_limit(&self) -> u64 {
        (self.reserved_bytes / TAIL_FRACTION).min(MAX_TAIL_BYTES)
    }

    /// Appends the tail to the head. Later calls do nothing.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let appended = match self.tail.take() {
            Some(mut tail) => self.append_tail(&mut tail),
            None => Ok(()),
        };
        if !std::mem::replace(&mut self.is_settled, true) {
            self.budget.settle_share(self.reserved_bytes, self.written_bytes);
            self.reserved_bytes = self.written_bytes;
        }
        appended
    }

    fn append_tail(&mut self, tail: &mut TailPieces) -> io::Result<()> {
        if tail.removed_bytes > 0 {
            let skipped = self.cut_at_line_ends(tail)?;
            self.write_cut_marker(tail.removed_bytes + skipped)?;
        }
        while let Some(piece) = tail.pieces.pop_front() {
            self.written_bytes += piece.append_to(&mut self.file)?;
        }
        Ok(())
    }

    /// Moves the cut to line ends on both sides, unless that would remove more than half of the head. Returns the
    /// number of bytes that this removes.
    fn cut_at_line_ends(&mut self, tail: &mut TailPieces) -> io::Result<u64> {
        let half_line = self.written_bytes - self.last_line_end;
        let mut skipped = tail.skip_partial_line()?;
        if self.last_line_end > self.written_bytes / 2 {
            self.file.set_len(self.last_line_end)?;
            self.written_bytes = self.last_line_end;
            skipped += half_line;
        }
        Ok(skipped)
    }

    fn write_cut_marker(&mut self, missing: u64) -> io::Result<()> {
        let is_mid_line = self.written_bytes > self.last_line_end;
        let is_records = self.path.extension().is_some_and(|extension| extension == "ndjson");
        let line = if is_records {
            format!("{{\"type\":\"ralph.cut\",\"missing_bytes\":{missing}}}\n")
        } else {
            format!("[ralph: {missing} bytes are missing here, because the logs of the run reached their limit]\n")
        };
        self.file.write_all(if is_mid_line { b"\n" } else { b"" })?;
        self.file.write_all(line.as_bytes())?;
        self.written_bytes += line.len() as u64 + u64::from(is_mid_line);
        Ok(())
    }
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Drop for LimitedFile {
    fn drop(&mut self) {
        // A caller that needs the error has called `finish` before.
        let _ = self.finish();
    }
}

impl TailPieces {
    fn new(head: &Path, piece_size: u64) -> Self {
        Self {
            path: head.to_path_buf(),
            piece_size,
            pieces: VecDeque::new(),
            created_count: 0,
            received_bytes: 0,
            removed_bytes: 0,
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.received_bytes += bytes.len() as u64;
        if self.piece_size == 0 {
            self.removed_bytes = self.received_bytes;
            return Ok(());
        }
        while !bytes.is_empty() {
            let size = self.piece_size;
            let piece = self.current_piece()?;
            let room = usize::try_from(size - piece.length).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            piece.file.write_all(now)?;
            piece.length += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Returns the piece to write to. If it is full, creates a new one and removes the oldest if there are too many.
    fn current_piece(&mut self) -> io::Result<&mut TailPiece> {
        let is_full = self.pieces.back().is_none_or(|piece| piece.length >= self.piece_size);
        if is_full {
            if self.pieces.len() == MAX_TAIL_PIECES
                && let Some(oldest) = self.pieces.pop_front()
            {
                self.removed_bytes += oldest.length;
                fs::remove_file(&oldest.path)?;
            }
            self.created_count += 1;
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".tail-{}", self.created_count));
            let path = PathBuf::from(name);
            self.pieces.push_back(TailPiece {
                file: private_files::open_for_append(&path)?,
                path,
                length: 0,
                skipped_bytes: 0,
            });
        }
        self.pieces.back_mut().ok_or_else(|| io::Error::other("no piece of the log is open"))
    }

    /// Skips the rest of a line whose beginning was removed, if it ends within the first piece. Returns the skipped
    /// bytes.
    fn skip_partial_line(&mut self) -> io::Result<u64> {
        let Some(first) = self.pieces.front_mut() else { return Ok(0) };
        let mut file = File::open(&first.path)?;
        let mut buffer = vec![0; COPY_BUFFER_BYTES];
        let mut before = 0;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(0);
            }
            if let Some(end) = memchr::memchr(b'\n', buffer.get(..count).unwrap_or_default()) {
                first.skipped_bytes = before + end as u64 + 1;
                return Ok(first.skipped_bytes);
            }
            before += count as u64;
        }
    }
}

impl Drop for TailPieces {
    /// Removes the pieces that could not be appended.
    fn drop(&mut self) {
        for piece in &self.pieces {
            let _ = fs::remove_file(&piece.path);
        }
    }
}

impl TailPiece {
    fn append_to(self, end: &mut File) -> io::Result<u64> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.skipped_bytes))?;
        let copied = copy_all(&mut file, end);
        fs::remove_file(&self.path)?;
        copied
    }
}

/// Copies with a large buffer. Hand-written because the fast paths of `std::io::copy` do not work for files opened for
/// append.
fn copy_all(from: &mut File, to: &mut File) -> io::Result<u64> {
    let mut buffer = vec![0; COPY_BUFFER_BYTES];
    let mut copied = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(copied);
        }
        to.write_all(buffer.get(..count).unwrap_or_default())?;
        copied += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct WrittenLog {
        text: String,
        /// The largest total size of all files in the folder.
        peak_size: u64,
    }

    fn write_lines(name: &str, limit: u64, lines: impl Iterator<Item = String>) -> WrittenLog {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(name);
        let budget = LogBudget::new(limit * 2, temp.path());
        let mut file = LimitedFile::create(&path, &budget).unwrap();
        let mut peak_size = 0;
        for line in lines {
            file.write(line.as_bytes()).unwrap();
            let sizes = fs::read_dir(temp.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
            peak_size = peak_size.max(sizes.sum());
        }
        file.finish().unwrap();
        drop(file);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1, "only the log remains");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(LogBudget::new(limit * 2, temp.path()).reserve_share(), (limit * 2 - text.len() as u64) / 2);
        assert_eq!(budget.reserve_share(), (limit * 2 - text.len() as u64) / 2, "the unused part is returned");
        WrittenLog { text, peak_size }
    }

    // fault: 41
    // spec: D5
    #[test]
    fn head_and_tail_are_kept_and_the_cut_says_how_much_is_missing() {
        let all: Vec<String> = (0..5_000).map(|number| format!("{{\"line\":{number}}}\n")).collect();
        let total: usize = all.iter().map(String::len).sum();
        let WrittenLog { text, peak_size } = write_lines("a.ndjson", 8_000, all.iter().cloned());
        assert!(peak_size <= 8_000 && text.len() <= 8_000, "{peak_size}, {}", text.len());
        assert!(text.len() > 6_000, "most of the space is used: {}", text.len());
        let records: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cut = records.iter().position(|record| record["type"] == "ralph.cut").unwrap();
        let marker = text.lines().nth(cut).unwrap().len() + 1;
        assert_eq!(records[cut]["missing_bytes"], total + marker - text.len());
        assert_eq!((&records[0]["line"], &records[records.len() - 1]["line"]), (&0.into(), &4_999.into()));
        let numbers: Vec<i64> = records.iter().filter_map(|record| record["line"].as_i64()).collect();
        assert_eq!(numbers.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count(), 1, "there is one cut");
    }

    // spec: D5
    #[test]
    fn output_within_the_limit_is_complete_and_has_no_marker() {
        for count in [0, 1, 100, 140] {
            let all: Vec<String> = (0..count).map(|number| format!("line {number:03}\n")).collect();
            assert_eq!(write_lines("a.log", 1_500, all.iter().cloned()).text, all.concat(), "{count}");
        }
    }

    // spec: D5
    #[test]
    fn one_endless_line_is_cut_in_the_middle_and_marked_on_a_separate_line() {
        let text = write_lines("a.stderr", 4_000, (0..1_000).map(|_| "x".repeat(100))).text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let missing = 100_000 - lines[0].len() - lines[2].len();
        assert_eq!(
            lines[1],
            format!("[ralph: {missing} bytes are missing here, because the logs of the run reached their limit]")
        );
    }

    // spec: D5
    #[test]
    fn without_remaining_budget_only_the_marker_is_written() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.log");
        let mut file = LimitedFile::create(&path, &LogBudget::new(1, temp.path())).unwrap();
        file.write(b"something").unwrap();
        file.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[ralph: 9 bytes are missing here, because the logs of the run reached their limit]\n");
    }
}
