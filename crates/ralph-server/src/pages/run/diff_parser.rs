//! Reads a diff as git prints it: files, hunks and lines with their numbers.
use crate::pages::display::DisplayText;

/// A longer diff is cut.
const MAX_LINES: usize = 5_000;

/// A file of a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::pages) struct DiffFile {
    pub(in crate::pages) name: DisplayText,
    pub(in crate::pages) added: usize,
    pub(in crate::pages) removed: usize,
    pub(in crate::pages) lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) struct DiffLine {
    pub(in crate::pages) kind: DiffLineKind,
    /// The number in the old file.
    pub(in crate::pages) old: Option<usize>,
    /// The number in the new file.
    pub(in crate::pages) new: Option<usize>,
    pub(in crate::pages) text: DisplayText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum DiffLineKind {
    Hunk,
    Context,
    Added,
    Removed,
}

impl DiffLineKind {
    pub(in crate::pages) fn class(self) -> &'static str {
        match self {
            Self::Hunk => "hunk",
            Self::Context => "",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }

    pub(in crate::pages) fn mark(self) -> &'static str {
        match self {
            Self::Hunk | Self::Context => " ",
            Self::Added => "+",
            Self::Removed => "-",
        }
    }
}

/// The files of a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::pages) struct ParsedDiff {
    pub(in crate::pages) files: Vec<DiffFile>,
    pub(in crate::pages) is_cut: bool,
}

impl ParsedDiff {
    pub(in crate::pages) fn parse(text: &str) -> Self {
        let mut parser = DiffParser::default();
        text.lines().take(MAX_LINES).for_each(|line| parser.read_line(line));
        Self { files: parser.files, is_cut: text.lines().count() > MAX_LINES }
    }
}

#[derive(Default)]
struct DiffParser {
    files: Vec<DiffFile>,
    /// The next numbers in the old and in the new file.
    old: usize,
    new: usize,
    /// How many lines of the hunk are left in the old and in the new file. Without any, a line belongs to a heading.
    old_left: usize,
    new_left: usize,
}

impl DiffParser {
    fn read_line(&mut self, line: &str) {
        if self.old_left == 0 && self.new_left == 0 {
            return self.read_heading(line);
        }
        let text = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'+') => self.add_line(DiffLineKind::Added, text),
            Some(b'-') => self.add_line(DiffLineKind::Removed, text),
            Some(b'\\') => {}
            Some(_) | None => self.add_line(DiffLineKind::Context, text),
        }
    }

    fn read_heading(&mut self, line: &str) {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            self.files.push(DiffFile { name: DisplayText::new(name.trim_matches('"')), ..DiffFile::default() });
        } else if let Some(ranges) = line.strip_prefix("@@ ") {
            self.start_hunk(ranges);
            let Some(file) = self.files.last_mut() else { return };
            file.lines.push(DiffLine { kind: DiffLineKind::Hunk, old: None, new: None, text: DisplayText::new(line) });
        }
    }

    fn start_hunk(&mut self, ranges: &str) {
        let mut ranges = ranges.split_whitespace();
        let mut read = |sign: char| -> Option<HunkRange> { HunkRange::parse(ranges.next()?.strip_prefix(sign)?) };
        let (old, new) = (read('-').unwrap_or_default(), read('+').unwrap_or_default());
        (self.old, self.old_left) = (old.start, old.length);
        (self.new, self.new_left) = (new.start, new.length);
    }

    fn add_line(&mut self, kind: DiffLineKind, text: &str) {
        let is_old = kind != DiffLineKind::Added;
        let is_new = kind != DiffLineKind::Removed;
        let line = DiffLine {
            kind,
            old: is_old.then_some(self.old),
            new: is_new.then_some(self.new),
            text: DisplayText::new(text),
        };
        if is_old {
            self.old += 1;
            self.old_left = self.old_left.saturating_sub(1);
        }
        if is_new {
            self.new += 1;
            self.new_left = self.new_left.saturating_sub(1);
        }
        let Some(file) = self.files.last_mut() else { return };
        file.added += usize::from(kind == DiffLineKind::Added);
        file.removed += usize::from(kind == DiffLineKind::Removed);
        file.lines.push(line);
    }
}

#[derive(Default)]
struct HunkRange {
    start: usize,
    length: usize,
}

impl HunkRange {
    /// Reads `12,3`, or `12` for one line.
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(',') {
            Some((start, length)) => Some(Self { start: start.parse().ok()?, length: length.parse().ok()? }),
            None => Some(Self { start: text.parse().ok()?, length: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3,3 @@ fn main\n one\n\
                        --- two\n+two\n+++ three\n\\ No newline at end of file\ndiff --git a/new b/new\nnew file mode 100644\n";

    // spec: U5
    #[test]
    fn lines_have_the_numbers_of_both_files() {
        let diff = ParsedDiff::parse(DIFF);
        let numbers: Vec<(Option<usize>, Option<usize>)> =
            diff.files[0].lines.iter().map(|line| (line.old, line.new)).collect();
        assert_eq!(numbers, [(None, None), (Some(3), Some(3)), (Some(4), None), (None, Some(4)), (None, Some(5))]);
        assert_eq!((diff.files[0].added, diff.files[0].removed), (2, 1));
    }

    #[test]
    fn changed_lines_that_look_like_a_heading_are_lines() {
        let diff = ParsedDiff::parse(DIFF);
        let texts: Vec<&str> = diff.files[0].lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts[2..], ["-- two", "two", "++ three"]);
        assert_eq!(diff.files[1], DiffFile { name: "new".into(), ..DiffFile::default() });
    }

    // fault: 107
    #[test]
    fn a_file_name_with_markup_stays_text() {
        let diff = ParsedDiff::parse("diff --git a/<img onerror=x> b/<img onerror=x>\n");
        assert_eq!(diff.files[0].name.as_str(), "<img onerror=x>");
    }
}
