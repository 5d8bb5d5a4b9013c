//! Truncates a diff to what a judge can read. Every file keeps a part, so that a large file cannot hide another one.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::text::text_head;

/// The start of a file header in git diffs. Content lines cannot start with it, because each has a sign before it.
const FILE_HEADER: &[u8] = b"diff --git ";
/// The limits for one file and for all files together.
const MAX_FILE_BYTES: usize = 64 * 1024;
const MAX_TOTAL_BYTES: usize = 4 * 1024 * 1024;
/// The part of every file that is kept even if the total limit is reached: its names and the start of its changes.
const MIN_FILE_BYTES: usize = 512;
const MAX_FILES: usize = 4_000;

/// Collects a diff that arrives in pieces.
#[derive(Debug, Default)]
pub struct DiffTruncator {
    files: Vec<FileDiff>,
    kept_bytes: usize,
    omitted_files: usize,
    /// The start of a line that is too short to decide whether it is a header.
    pending_line_start: Vec<u8>,
    is_inside_line: bool,
}

#[derive(Debug, Default)]
struct FileDiff {
    text: Vec<u8>,
    /// The size before truncation.
    total_bytes: usize,
}

impl DiffTruncator {
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_inside_line {
                self.append_bounded(piece);
            } else {
                self.pending_line_start.extend_from_slice(piece);
                if self.pending_line_start.len() < FILE_HEADER.len() && !piece.ends_with(b"\n") {
                    continue;
                }
                self.classify_pending_line();
            }
            self.is_inside_line = !piece.ends_with(b"\n");
        }
    }

    fn classify_pending_line(&mut self) {
        let line = core::mem::take(&mut self.pending_line_start);
        if line.starts_with(FILE_HEADER) {
            if self.files.len() < MAX_FILES {
                self.files.push(FileDiff::default());
            } else {
                self.omitted_files += 1;
            }
        }
        self.append_bounded(&line);
    }

    fn append_bounded(&mut self, piece: &[u8]) {
        if self.omitted_files > 0 {
            return;
        }
        if self.files.is_empty() {
            self.files.push(FileDiff::default());
        }
        let limit = if self.kept_bytes < MAX_TOTAL_BYTES { MAX_FILE_BYTES } else { MIN_FILE_BYTES };
        let Some(file) = self.files.last_mut() else { return };
        let room = limit.saturating_sub(file.text.len()).min(piece.len());
        file.text.extend_from_slice(piece.get(..room).unwrap_or_default());
        file.total_bytes += piece.len();
        self.kept_bytes += room;
    }

    /// Returns at most about `max_bytes`, distributed among the files. Small files are shown in full.
    #[must_use]
    pub fn finish(mut self, max_bytes: usize) -> String {
        self.classify_pending_line();
        let sizes: Vec<usize> = self.files.iter().map(|file| file.text.len()).collect();
        let share = bytes_per_file(sizes, max_bytes);
        let mut shown: String = self.files.iter().map(|file| file.to_text(share)).collect();
        if self.omitted_files > 0 {
            shown.push_str(&format!("[... {} more files left out ...]\n", self.omitted_files));
        }
        shown
    }
}

impl FileDiff {
    fn to_text(&self, max_bytes: usize) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let shown = text_head(&text, max_bytes);
        if self.total_bytes <= self.text.len() && shown.len() == text.len() {
            return text.into_owned();
        }
        format!("{shown}\n[... of {} bytes about this file, the rest is left out ...]\n", self.total_bytes)
    }
}

/// Returns the limit for each file, so that all files together fit into `budget`.
fn bytes_per_file(mut sizes: Vec<usize>, budget: usize) -> usize {
    sizes.sort_unstable();
    let mut left = budget;
    for (size, waiting) in sizes.iter().zip((1..=sizes.len()).rev()) {
        let each = left / waiting;
        if *size > each {
            return each;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truncate_diff(pieces: &[&[u8]], max_bytes: usize) -> String {
        let mut truncator = DiffTruncator::default();
        pieces.iter().for_each(|piece| truncator.push(piece));
        truncator.finish(max_bytes)
    }

    fn file_diff(name: &str, lines: usize) -> String {
        let mut text = format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n");
        (0..lines).for_each(|line| text.push_str(&format!("+{name} {line}\n")));
        text
    }

    // spec: V3
    #[test]
    fn a_small_diff_is_unchanged_however_it_is_split_into_pieces() {
        let whole = [file_diff("a", 2), file_diff("b", 3)].concat();
        assert_eq!(truncate_diff(&[whole.as_bytes()], 10_000), whole);
        for size in 1..20 {
            let pieces: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            assert_eq!(truncate_diff(&pieces, 10_000), whole, "{size}");
        }
        assert_eq!(truncate_diff(&[], 100), "");
        assert_eq!(truncate_diff(&[b"warning"], 100), "warning");
    }

    // spec: V3
    #[test]
    fn a_huge_file_does_not_hide_another_one() {
        let whole = [file_diff("aaa", 1_000_000), file_diff("zzz", 1)].concat();
        let shown = truncate_diff(&[whole.as_bytes()], 10_000);
        assert!(shown.contains("+aaa 0\n") && shown.contains("+zzz 0\n"), "{shown}");
        assert!(shown.contains("bytes about this file, the rest is left out"));
        assert!(shown.len() < 10_200, "{}", shown.len());
    }

    // spec: V3
    #[test]
    fn many_files_share_the_limit_and_all_names_are_kept() {
        let whole: String = (0..300).map(|number| file_diff(&format!("name-{number:03}"), 10_000)).collect();
        let mut truncator = DiffTruncator::default();
        truncator.push(whole.as_bytes());
        assert!(truncator.kept_bytes < 2 * MAX_TOTAL_BYTES, "{}", truncator.kept_bytes);
        let shown = truncator.finish(100_000);
        assert!((0..300).all(|number| shown.contains(&format!("b/name-{number:03}"))));
        let too_many: String = (0..MAX_FILES + 7).map(|number| file_diff(&format!("{number}"), 1)).collect();
        assert!(truncate_diff(&[too_many.as_bytes()], 1 << 20).ends_with("[... 7 more files left out ...]\n"));
    }

    // spec: V3
    #[test]
    fn a_content_line_is_not_a_header() {
        let forged = "diff --git a/x b/x\n+diff --git a/y b/y\n diff --git a/z b/z\n";
        let mut truncator = DiffTruncator::default();
        truncator.push(forged.as_bytes());
        assert_eq!(truncator.files.len(), 1);
    }
}
