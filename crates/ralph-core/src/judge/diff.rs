//! Keeps of a difference what a judge can read: something of every file, so that none can hide behind another.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::text::head_of;

/// How git begins what it says of a file. No line of a file's content can begin so: each has a sign before it.
const HEADER: &[u8] = b"diff --git ";
/// How much of one file is kept at most, and of all files together.
const FILE_BYTES: usize = 64 * 1024;
const ALL_BYTES: usize = 4 * 1024 * 1024;
/// What is kept of every file, whatever the others have: its names and the beginning.
const LEAST: usize = 512;
const MOST_FILES: usize = 4_000;

/// A difference that comes in pieces.
#[derive(Debug, Default)]
pub struct DiffKeeper {
    files: Vec<File>,
    /// How many bytes are kept.
    kept: usize,
    /// How many files there is no room for.
    more: usize,
    /// The beginning of a line of which nobody can say yet whether it is a header.
    undecided: Vec<u8>,
    is_inside_a_line: bool,
}

#[derive(Debug, Default)]
struct File {
    text: Vec<u8>,
    /// How much there was.
    bytes: usize,
}

impl DiffKeeper {
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_inside_a_line {
                self.keep(piece);
            } else {
                self.undecided.extend_from_slice(piece);
                if self.undecided.len() < HEADER.len() && !piece.ends_with(b"\n") {
                    continue;
                }
                self.decide();
            }
            self.is_inside_a_line = !piece.ends_with(b"\n");
        }
    }

    fn decide(&mut self) {
        let line = core::mem::take(&mut self.undecided);
        if line.starts_with(HEADER) {
            if self.files.len() < MOST_FILES {
                self.files.push(File::default());
            } else {
                self.more += 1;
            }
        }
        self.keep(&line);
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.more > 0 {
            return;
        }
        if self.files.is_empty() {
            self.files.push(File::default());
        }
        let most = if self.kept < ALL_BYTES { FILE_BYTES } else { LEAST };
        let Some(file) = self.files.last_mut() else { return };
        let room = most.saturating_sub(file.text.len()).min(piece.len());
        file.text.extend_from_slice(piece.get(..room).unwrap_or_default());
        file.bytes += piece.len();
        self.kept += room;
    }

    /// Returns at most so many bytes, shared out among the files: small ones are shown whole.
    #[must_use]
    pub fn finish(mut self, most: usize) -> String {
        self.decide();
        let sizes: Vec<usize> = self.files.iter().map(|file| file.text.len()).collect();
        let share = share(sizes, most);
        let mut shown: String = self.files.iter().map(|file| file.shown(share)).collect();
        if self.more > 0 {
            shown.push_str(&format!("[... {} more files left out ...]\n", self.more));
        }
        shown
    }
}

impl File {
    fn shown(&self, most: usize) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let shown = head_of(&text, most);
        if self.bytes <= self.text.len() && shown.len() == text.len() {
            return text.into_owned();
        }
        format!("{shown}\n[... of {} bytes about this file, the rest is left out ...]\n", self.bytes)
    }
}

/// Returns how much each may have, so that all together have no more than `budget`.
fn share(mut sizes: Vec<usize>, budget: usize) -> usize {
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

    fn kept(pieces: &[&[u8]], most: usize) -> String {
        let mut keeper = DiffKeeper::default();
        pieces.iter().for_each(|piece| keeper.push(piece));
        keeper.finish(most)
    }

    fn file(name: &str, lines: usize) -> String {
        let mut text = format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n");
        (0..lines).for_each(|line| text.push_str(&format!("+{name} {line}\n")));
        text
    }

    // spec: V3
    #[test]
    fn a_small_difference_is_kept_as_it_is_however_it_is_cut_into_pieces() {
        let whole = [file("a", 2), file("b", 3)].concat();
        assert_eq!(kept(&[whole.as_bytes()], 10_000), whole);
        for size in 1..20 {
            let pieces: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            assert_eq!(kept(&pieces, 10_000), whole, "{size}");
        }
        assert_eq!(kept(&[], 100), "");
        assert_eq!(kept(&[b"warning"], 100), "warning");
    }

    // spec: V3
    #[test]
    fn no_file_hides_behind_a_huge_one() {
        let whole = [file("aaa", 1_000_000), file("zzz", 1)].concat();
        let shown = kept(&[whole.as_bytes()], 10_000);
        assert!(shown.contains("+aaa 0\n") && shown.contains("+zzz 0\n"), "{shown}");
        assert!(shown.contains("bytes about this file, the rest is left out"));
        assert!(shown.len() < 10_200, "{}", shown.len());
    }

    // spec: V3
    #[test]
    fn many_files_share_the_room_and_the_names_of_all_are_there() {
        let whole: String = (0..300).map(|number| file(&format!("name-{number:03}"), 10_000)).collect();
        let mut keeper = DiffKeeper::default();
        keeper.push(whole.as_bytes());
        assert!(keeper.kept < 2 * ALL_BYTES, "{}", keeper.kept);
        let shown = keeper.finish(100_000);
        assert!((0..300).all(|number| shown.contains(&format!("b/name-{number:03}"))));
        let countless: String = (0..MOST_FILES + 7).map(|number| file(&format!("{number}"), 1)).collect();
        assert!(kept(&[countless.as_bytes()], 1 << 20).ends_with("[... 7 more files left out ...]\n"));
    }

    // spec: V3
    #[test]
    fn a_line_of_a_file_is_no_header() {
        let forged = "diff --git a/x b/x\n+diff --git a/y b/y\n diff --git a/z b/z\n";
        let mut keeper = DiffKeeper::default();
        keeper.push(forged.as_bytes());
        assert_eq!(keeper.files.len(), 1);
    }
}
