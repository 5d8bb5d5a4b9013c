//! Matches the simple patterns of ignore files, as git does. With any other pattern the caller must ask git. Hand-written
//! because the crates for these patterns differ from git in rare cases, and do not say in which.
use std::path::Path;

use crate::git::work_files::exact_files::{MAX_SETTINGS_BYTES, read_regular_file};

/// The patterns of one file.
#[derive(Debug, Default)]
pub(in crate::git) struct IgnorePatterns {
    /// In the order of the file: the last one that matches decides.
    patterns: Vec<IgnorePattern>,
}

#[derive(Debug, PartialEq, Eq)]
struct IgnorePattern {
    /// Whether matching paths are ignored. `!` at the beginning of a pattern makes exceptions.
    ignores: bool,
    only_folders: bool,
    scope: PatternScope,
}

#[derive(Debug, PartialEq, Eq)]
enum PatternScope {
    /// A pattern without a slash matches the names of files in all folders.
    Name(Vec<u8>),
    /// The parts of a pattern that matches paths, relative to the folder of the file.
    Path(Vec<Vec<u8>>),
}

impl IgnorePatterns {
    /// Reads a file of patterns. A missing file has none. `None`: git must be asked.
    pub(in crate::git) fn read(path: &Path) -> Option<Self> {
        match path.symlink_metadata() {
            Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then(Self::default),
            Ok(found) if found.is_file() && found.len() < MAX_SETTINGS_BYTES => {
                Self::parse(&read_regular_file(path, MAX_SETTINGS_BYTES).ok()?)
            }
            Ok(_) => None,
        }
    }

    /// Parses the patterns of a file. `None`: one of them is not simple.
    pub(in crate::git) fn parse(text: &[u8]) -> Option<Self> {
        if text.starts_with(b"\xef\xbb\xbf") {
            return None;
        }
        let mut patterns = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let end = line.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
            match line.get(..end).unwrap_or_default() {
                [] | [b'#', ..] => {}
                line => patterns.push(parse_pattern(line)?),
            }
        }
        Some(Self { patterns })
    }

    /// Returns whether a path is ignored, `None` if no pattern matches it. The path is relative to the folder of the file.
    pub(in crate::git) fn decide(&self, path: &[u8], is_folder: bool) -> Option<bool> {
        let matching = self.patterns.iter().rev().find(|pattern| pattern.matches(path, is_folder));
        matching.map(|pattern| pattern.ignores)
    }
}

impl IgnorePattern {
    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.only_folders && !is_folder {
            return false;
        }
        match &self.scope {
            PatternScope::Name(name) => {
                let start = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
                matches_name(name, path.get(start..).unwrap_or_default())
            }
            PatternScope::Path(parts) => {
                let path: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
                matches_path(parts, &path)
            }
        }
    }
}

fn parse_pattern(line: &[u8]) -> Option<IgnorePattern> {
    let (ignores, rest) = line.strip_prefix(b"!").map_or((true, line), |rest| (false, rest));
    let (only_folders, rest) = rest.strip_suffix(b"/").map_or((false, rest), |rest| (true, rest));
    if rest.is_empty() || rest.iter().any(|byte| matches!(byte, b'\\' | b'[' | 0)) {
        return None;
    }
    if !rest.contains(&b'/') {
        let scope = PatternScope::Name(rest.to_vec());
        return Some(IgnorePattern { ignores, only_folders, scope });
    }
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let parts: Vec<Vec<u8>> = rest.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
    // Two stars have a special meaning only as a whole part, and git's rules for several of them are intricate.
    let is_simple = |part: &Vec<u8>| !part.is_empty() && (part == b"**" || !part.windows(2).any(|pair| pair == b"**"));
    let stars = parts.iter().filter(|part| *part == b"**").count();
    (parts.iter().all(is_simple) && stars <= 1).then_some(IgnorePattern {
        ignores,
        only_folders,
        scope: PatternScope::Path(parts),
    })
}

/// Matches all parts of a path. `**` matches any number of folders; at the end, everything below a folder.
fn matches_path(parts: &[Vec<u8>], path: &[&[u8]]) -> bool {
    match (parts, path) {
        ([], []) => true,
        ([stars], path) if stars == b"**" => !path.is_empty(),
        ([stars, rest @ ..], path) if stars == b"**" => {
            (0..path.len()).any(|skipped| matches_path(rest, path.get(skipped..).unwrap_or_default()))
        }
        ([part, parts @ ..], [name, path @ ..]) => matches_name(part, name) && matches_path(parts, path),
        ([], _) | (_, []) => false,
    }
}

/// Matches a name: `*` matches any bytes, `?` matches one.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    // The last star, and how far the name had been matched there.
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = name.get(position) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, position));
                at += 1;
            }
            Some(expected) if *expected == b'?' || expected == byte => {
                at += 1;
                position += 1;
            }
            _ => {
                let Some((star_at, matched)) = star else { return false };
                star = Some((star_at, matched + 1));
                at = star_at + 1;
                position = matched + 1;
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}
