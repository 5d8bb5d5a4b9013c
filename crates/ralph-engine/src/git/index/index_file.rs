//! Reads the entries of an index file without starting git, and builds a new index from entries. It reads only
//! files that git has certainly written in one of the known versions; for other files, the caller asks git.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_util::digest::encode_hex;

use crate::git::TreeEntry;
use crate::git::head_file::find_git_dir;
use crate::git::work_files::exact_files::{open_regular_file, uses_sha256};

/// A larger index is read by git: about 500,000 files.
const MAX_INDEX_BYTES: u64 = 64 << 20;

const HEADER_BYTES: usize = 12;
/// The numbers before the name of the object.
const STAT_BYTES: usize = 40;
/// Times with whole seconds come from a file system that does not store more: FAT stores every second one.
const COARSE_CLOCK_SECONDS: i64 = 2;

/// The entries of an index.
pub struct IndexFile {
    pub entries: Vec<IndexEntry>,
    /// When the file was written: seconds and nanoseconds.
    modified: (i64, i64),
    is_coarse: bool,
}

pub struct IndexEntry {
    pub path: PathBuf,
    pub content: TreeEntry,
    /// The file times and so on, in the order of the file format.
    stat: [u32; 10],
    /// Whether the entry has no flags and is not part of a conflict.
    is_plain: bool,
}

impl IndexFile {
    /// Reads the index of a work tree, which is empty if nothing was ever added; `None` if it has another format.
    #[must_use]
    pub fn read(root: &Path) -> Option<Self> {
        let git_dir = find_git_dir(root)?;
        let file = match open_regular_file(&git_dir.join("index")) {
            Err(error) if error.kind() == ErrorKind::NotFound && git_dir.join("HEAD").is_file() => {
                return Some(Self { entries: Vec::new(), modified: (0, 0), is_coarse: true });
            }
            file => file.ok()?,
        };
        let found = file.metadata().ok().filter(|found| found.len() <= MAX_INDEX_BYTES)?;
        let mut bytes = Vec::new();
        file.take(MAX_INDEX_BYTES).read_to_end(&mut bytes).ok()?;
        let object_bytes = if uses_sha256(root) { 32 } else { 20 };
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { entries: parse_entries(&bytes, object_bytes)?, modified, is_coarse: modified.1 == 0 })
    }

    /// Returns whether a file is the same as when git wrote its entry, as far as its stamp shows. The file must have been changed
    /// before the index was written: a later change at the same time would have the same stamp.
    #[must_use]
    pub fn is_unchanged(&self, entry: &IndexEntry, found: &std::fs::Metadata) -> bool {
        let margin = if self.is_coarse || found.ctime_nsec() == 0 { COARSE_CLOCK_SECONDS } else { 0 };
        let is_settled = (found.ctime() + margin, found.ctime_nsec()) < self.modified;
        entry.is_plain && is_settled && entry.matches(found)
    }

    /// Returns whether no entry is a nested repository, is part of a conflict, or has flags.
    #[must_use]
    pub fn has_only_files(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_plain && entry.content.mode != "160000")
    }

    /// Returns the files of all entries except nested repositories; `None` if an entry is part of a conflict or has flags.
    #[must_use]
    pub fn plain_files(&self) -> Option<BTreeMap<PathBuf, TreeEntry>> {
        let is_plain = self.entries.iter().all(|entry| entry.is_plain);
        let files = self.entries.iter().filter(|entry| entry.content.mode != "160000");
        is_plain.then(|| files.map(|entry| (entry.path.clone(), entry.content.clone())).collect())
    }
}

impl IndexEntry {
    /// Compares everything that git compares, and the time of the inode whatever the settings are.
    fn matches(&self, found: &std::fs::Metadata) -> bool {
        let [ctime, ctime_nsec, mtime, mtime_nsec, _device, inode, _mode, user, group, size] = self.stat;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the index has only the low 32 bits"
        )]
        let now = [
            found.ctime() as u32,
            found.ctime_nsec() as u32,
            found.mtime() as u32,
            found.mtime_nsec() as u32,
            found.ino() as u32,
            found.size() as u32,
        ];
        now == [ctime, ctime_nsec, mtime, mtime_nsec, inode, size] && (found.uid(), found.gid()) == (user, group)
    }
}

/// Reads all entries of an index of version 2, 3 or 4.
fn parse_entries(index: &[u8], object_bytes: usize) -> Option<Vec<IndexEntry>> {
    let version = read_number(index, 4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut reader = EntryReader { index, version, object_bytes, at: HEADER_BYTES, name: Vec::new() };
    let entries: Option<Vec<IndexEntry>> = (0..read_number(index, 8)?).map(|_| reader.read_entry()).collect();
    let extensions = index.get(reader.at..index.len().checked_sub(object_bytes)?)?;
    entries.filter(|_| only_optional_extensions(extensions))
}

struct EntryReader<'a> {
    index: &'a [u8],
    version: u32,
    object_bytes: usize,
    /// Where the next entry begins.
    at: usize,
    /// The name of the last entry.
    name: Vec<u8>,
}

impl EntryReader<'_> {
    fn read_entry(&mut self) -> Option<IndexEntry> {
        const EXTENDED: u16 = 0x4000;
        const FLAGS_AND_STAGE: u16 = 0xf000;
        let mut stat = [0; 10];
        for (number, value) in stat.iter_mut().enumerate() {
            *value = read_number(self.index, self.at + number * 4)?;
        }
        let object_at = self.at + STAT_BYTES;
        let flags_at = object_at + self.object_bytes;
        let object = encode_hex(self.index.get(object_at..flags_at)?);
        let flags = u16::from_be_bytes(self.index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        self.read_name(flags_at + if flags & EXTENDED == 0 { 2 } else { 4 })?;
        let path = OsString::from_vec(self.name.clone()).into();
        let content = TreeEntry { mode: format!("{:06o}", stat[6]), object };
        Some(IndexEntry { path, content, stat, is_plain: flags & FLAGS_AND_STAGE == 0 })
    }

    /// Reads the name at the end of an entry.
    fn read_name(&mut self, mut at: usize) -> Option<()> {
        let mut kept = 0;
        if self.version == 4 {
            let (dropped, length) = read_varint(self.index.get(at..)?)?;
            kept = self.name.len().checked_sub(dropped)?;
            at += length;
        }
        let rest = self.index.get(at..)?;
        let name = rest.get(..memchr::memchr(0, rest)?)?;
        self.name.truncate(kept);
        self.name.extend_from_slice(name);
        let end = at + name.len();
        // In the older versions, every entry ends with one to eight zero bytes, at a multiple of eight.
        self.at = if self.version == 4 { end + 1 } else { self.at + ((end - self.at + 8) & !7) };
        Some(())
    }
}

/// Returns whether git may ignore all extensions: others, such as that of a split index, change the meaning of the entries.
fn only_optional_extensions(mut rest: &[u8]) -> bool {
    const EXTENSION_HEADER_BYTES: usize = 8;
    while let Some(first) = rest.first() {
        let length = read_number(rest, 4).and_then(|length| usize::try_from(length).ok());
        let next = length.and_then(|length| rest.get(EXTENSION_HEADER_BYTES.checked_add(length)?..));
        match next {
            Some(next) if first.is_ascii_uppercase() => rest = next,
            _ => return false,
        }
    }
    true
}

fn read_number(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Reads a number as git writes offsets in packs, and returns how many bytes it has.
fn read_varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (number, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, number + 1));
        }
        value = value.checked_add(1)?;
    }
    None
}

/// Builds an index of version 2 with these files. The times are unknown, so git would read every file again.
pub(in crate::git) fn build_index(files: &BTreeMap<PathBuf, TreeEntry>, is_sha256: bool) -> Option<Vec<u8>> {
    const MAX_NAME_LENGTH: usize = 0xfff;
    let mut files: Vec<(&[u8], &TreeEntry)> =
        files.iter().map(|(path, entry)| (path.as_os_str().as_bytes(), entry)).collect();
    // Paths are ordered by their parts, and an index by its bytes.
    files.sort_unstable_by_key(|(path, _)| *path);
    let mut index = [&b"DIRC"[..], &2_u32.to_be_bytes(), &u32::try_from(files.len()).ok()?.to_be_bytes()].concat();
    for (path, entry) in files {
        let start = index.len();
        let mut stat = [0_u8; STAT_BYTES];
        stat.get_mut(24..28)?.copy_from_slice(&u32::from_str_radix(&entry.mode, 8).ok()?.to_be_bytes());
        index.extend(stat);
        for at in (0..entry.object.len()).step_by(2) {
            index.push(u8::from_str_radix(entry.object.get(at..at + 2)?, 16).ok()?);
        }
        index.extend(u16::try_from(path.len().min(MAX_NAME_LENGTH)).ok()?.to_be_bytes());
        index.extend(path);
        let length = index.len() - start;
        index.resize(start + ((length + 8) & !7), 0);
    }
    // Git does not verify the checksum of an index.
    index.extend(vec![0; if is_sha256 { 32 } else { 20 }]);
    Some(index)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    /// Returns the index as git lists it, and as it was read.
    fn listed_and_read(root: &Path) -> (String, String) {
        let listed =
            run_git(root, &["-c", "core.quotePath=false", "ls-files", "--format=%(objectmode) %(objectname) %(path)"]);
        let line =
            |entry: &IndexEntry| format!("{} {} {}\n", entry.content.mode, entry.content.object, entry.path.display());
        (listed.unwrap(), IndexFile::read(root).unwrap().entries.iter().map(line).collect())
    }

    // finding: N42
    #[test]
    fn every_version_of_the_index_is_read_as_git_reads_it() {
        let (_temp, root) = new_repository();
        for name in ["a", "dir/b", "dir/b-much-longer-name", "dir.x", "dir/sub/c", "éa b", &"long".repeat(60)] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        commit_all(&root);
        for version in ["2", "3", "4"] {
            run_git(&root, &["update-index", "--index-version", version]).unwrap();
            let (listed, read) = listed_and_read(&root);
            assert_eq!(read, listed, "version {version}");
        }
        fs::write(root.join("planned"), "").unwrap();
        run_git(&root, &["add", "--intent-to-add", "planned"]).unwrap();
        let (listed, read) = listed_and_read(&root);
        assert_eq!(read, listed);
        assert!(IndexFile::read(&root).unwrap().plain_files().is_none(), "one entry has a flag");
    }

    // finding: N42
    #[test]
    fn an_index_of_sha256_objects_is_read_and_written() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "--quiet", "--object-format=sha256"]).unwrap();
        fs::write(root.join("file"), "text").unwrap();
        commit_all(root);
        let (listed, read) = listed_and_read(root);
        assert_eq!(read, listed);
        let files = IndexFile::read(root).unwrap().plain_files().unwrap();
        let tree = run_git(root, &["rev-parse", "HEAD^{tree}"]).unwrap();
        assert_eq!(crate::git::write_exact_tree(root, &files).unwrap(), tree.trim());
    }

    // finding: N42
    #[test]
    fn a_split_and_a_truncated_index_are_not_read_and_a_missing_one_is_empty() {
        let (temp, root) = new_repository();
        assert!(IndexFile::read(temp.path()).is_none(), "there is no repository");
        assert!(IndexFile::read(&root).unwrap().entries.is_empty());
        commit_all(&root);
        let whole = fs::read(root.join(".git/index")).unwrap();
        let one_entry_and_checksum = HEADER_BYTES + 72 + 20;
        for length in 0..one_entry_and_checksum {
            assert!(parse_entries(&whole[..length], 20).is_none(), "{length} of {} bytes", whole.len());
        }
        run_git(&root, &["update-index", "--split-index"]).unwrap();
        assert!(IndexFile::read(&root).is_none());
    }
}
