//! Writes small objects into a repository without starting git: as git does, one file for each, named by its hash. They are not
//! compressed, which git accepts; `git gc` compresses them. Hand-written because a library for git is larger than ralph.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ralph_util::digest::encode_hex;
use rustix::fs::{AtFlags, Timespec, Timestamps};
use sha1::{Digest, Sha1};

use crate::git::TreeEntry;
use crate::git::config_text::ConfigText;
use crate::git::head_file::{find_common_dir, find_git_dir};
use crate::git::objects::pack_index::PackIndex;

/// Settings with which git does more than write a file into its object folder.
const OTHER_SETTINGS: [&str; 4] = ["objectformat", "partialclone", "sharedrepository", "[include"];

/// Git writes larger trees: it compresses them, and searches packs faster.
const MAX_TREE_FILES: usize = 5_000;

/// The object folder of a repository with SHA-1 names.
pub(in crate::git) struct ObjectWriter {
    objects: PathBuf,
    /// The packs, once they are needed.
    packs: RefCell<Option<Vec<PackIndex>>>,
}

impl ObjectWriter {
    /// Returns the objects of a repository; `None` if only git knows how to store them.
    pub(in crate::git) fn open(root: &Path) -> Option<Self> {
        let common = find_common_dir(&find_git_dir(root)?);
        let objects = common.join("objects");
        let is_simple = !ConfigText::of_repository(root)?.mentions(&OTHER_SETTINGS)
            && objects.symlink_metadata().is_ok_and(|found| found.is_dir())
            && objects.join("info/alternates").symlink_metadata().is_err();
        is_simple.then(|| Self { objects, packs: RefCell::new(None) })
    }

    /// Stores a file and returns the name of the object.
    pub(in crate::git) fn write_blob(&self, content: &[u8]) -> io::Result<String> {
        self.write_object("blob", content)
    }

    /// Stores a tree of these files, and returns its name. No entry may be below another one.
    pub(in crate::git) fn write_tree(&self, entries: &BTreeMap<PathBuf, TreeEntry>) -> io::Result<String> {
        if entries.len() > MAX_TREE_FILES {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut files: Vec<(&[u8], &TreeEntry)> =
            entries.iter().map(|(path, entry)| (path.as_os_str().as_bytes(), entry)).collect();
        // Paths are ordered by their parts. By its bytes, every folder is in one piece too, which does not depend on its name.
        files.sort_unstable_by_key(|(path, _)| *path);
        self.write_folder(&files, 0)
    }

    /// Stores the tree of a folder: of files whose paths have the same first `skipped` bytes.
    fn write_folder(&self, files: &[(&[u8], &TreeEntry)], skipped: usize) -> io::Result<String> {
        // Git orders folders as if their names ended with a slash.
        let mut items: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut rest = files;
        while let Some((path, entry)) = rest.first() {
            let name = path.get(skipped..).unwrap_or_default();
            let Some(slash) = memchr::memchr(b'/', name) else {
                items.push((name.to_vec(), tree_item(&entry.mode, name, &entry.object)?));
                rest = rest.get(1..).unwrap_or_default();
                continue;
            };
            let below = skipped + slash + 1;
            let is_below = |(other, _): &(&[u8], &TreeEntry)| other.get(..below) == path.get(..below);
            let (folder, others) = rest.split_at(rest.partition_point(is_below));
            let tree = self.write_folder(folder, below)?;
            let name = name.get(..slash).unwrap_or_default();
            items.push(([name, b"/"].concat(), tree_item("40000", name, &tree)?));
            rest = others;
        }
        items.sort_unstable();
        let content: Vec<u8> = items.into_iter().flat_map(|(_, item)| item).collect();
        self.write_object("tree", &content)
    }

    fn write_object(&self, kind: &str, content: &[u8]) -> io::Result<String> {
        let header = format!("{kind} {}\0", content.len());
        let hash: [u8; 20] = Sha1::new().chain_update(&header).chain_update(content).finalize().into();
        let name = encode_hex(hash);
        let (folder, file) = name.split_at(2);
        let folder = self.objects.join(folder);
        let path = folder.join(file);
        if renew_file_time(&path).is_ok() || self.is_in_pack(&hash)? {
            return Ok(name);
        }
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        // Git removes old files with this prefix.
        let draft = folder.join(format!("tmp_obj_{}", uuid::Uuid::new_v4().simple()));
        let written = write_draft(&draft, header.as_bytes(), content).and_then(|()| fs::rename(&draft, &path));
        written.inspect_err(|_| drop(fs::remove_file(&draft))).map(|()| name)
    }

    /// Returns whether a pack that stays contains an object.
    fn is_in_pack(&self, hash: &[u8; 20]) -> io::Result<bool> {
        let mut packs = self.packs.borrow_mut();
        let packs = match &mut *packs {
            Some(packs) => packs,
            none => none.insert(PackIndex::open_all(&self.objects.join("pack"))?),
        };
        for pack in packs {
            if pack.contains(hash)? && pack.keep_from_removal() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Sets the time of a file to now: git removes unused objects only if they are old. Fails if the file does not exist.
pub(in crate::git) fn renew_file_time(path: &Path) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?)
}

fn write_draft(draft: &Path, header: &[u8], content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o444).open(draft)?;
    file.write_all(&store_in_zlib_format(&[header, content].concat()))
}

/// Returns the line of a tree: the mode, the name, and the object.
fn tree_item(mode: &str, name: &[u8], object: &str) -> io::Result<Vec<u8>> {
    let hash: Option<Vec<u8>> = (0..object.len())
        .step_by(2)
        .map(|at| object.get(at..at + 2).and_then(|byte| u8::from_str_radix(byte, 16).ok()))
        .collect();
    let hash = hash.filter(|hash| hash.len() == 20 && !name.is_empty()).ok_or(io::ErrorKind::InvalidData)?;
    Ok([mode.as_bytes(), b" ", name, b"\0", &hash].concat())
}

/// Returns the bytes in the zlib format, in blocks that are stored as they are.
fn store_in_zlib_format(bytes: &[u8]) -> Vec<u8> {
    const HEADER: [u8; 2] = [0x78, 0x01];
    let mut stored = HEADER.to_vec();
    let mut blocks = bytes.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stored.push(u8::from(blocks.peek().is_none()));
        stored.extend(length.to_le_bytes());
        stored.extend((!length).to_le_bytes());
        stored.extend(block);
    }
    stored.extend(adler32(bytes).to_be_bytes());
    stored
}

/// Returns the checksum of the zlib format.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// So many bytes cannot overflow the sums.
    const BYTES_PER_REDUCTION: usize = 5_552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for part in bytes.chunks(BYTES_PER_REDUCTION) {
        for byte in part {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    (high << 16) | low
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    fn object_files(root: &Path) -> usize {
        let counted = run_git(root, &["count-objects"]).unwrap();
        counted.split(' ').next().unwrap().parse().unwrap()
    }

    // finding: N42
    #[test]
    fn git_reads_what_was_written_and_finds_no_fault() {
        let (_temp, root) = new_repository();
        let objects = ObjectWriter::open(&root).unwrap();
        for content in [&b""[..], b"text\n", &[0, 255, 10], &vec![b'x'; 200_000]] {
            let name = objects.write_blob(content).unwrap();
            let size = run_git(&root, &["cat-file", "-s", &name]).unwrap();
            assert_eq!(size.trim(), content.len().to_string());
            fs::write(root.join("same"), content).unwrap();
            assert_eq!(run_git(&root, &["hash-object", "same"]).unwrap().trim(), name);
        }
        assert_eq!(run_git(&root, &["fsck", "--strict", "--no-dangling"]).unwrap(), "");
    }

    // finding: N42
    #[test]
    fn a_tree_is_the_one_that_git_writes() {
        let (_temp, root) = new_repository();
        for name in ["a-b", "a.b", "a/x", "a/y/z", "a0", "b/c", "B", "é/ü", "new\nline/f"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        fs::set_permissions(root.join("B"), Permissions::from_mode(0o755)).unwrap();
        commit_all(&root);
        let tree = run_git(&root, &["rev-parse", "HEAD^{tree}"]).unwrap();
        let entries = crate::git::list_tree_entries(&root, tree.trim()).unwrap();
        let objects = ObjectWriter::open(&root).unwrap();
        assert_eq!(objects.write_tree(&entries).unwrap(), tree.trim());
        let part = entries.into_iter().filter(|(path, _)| !path.starts_with("a")).collect();
        let other = objects.write_tree(&part).unwrap();
        assert_eq!(crate::git::list_tree_entries(&root, &other).unwrap(), part);
        assert_eq!(run_git(&root, &["fsck", "--strict", "--no-dangling"]).unwrap(), "");
        let empty = objects.write_tree(&BTreeMap::new()).unwrap();
        assert_eq!(run_git(&root, &["ls-tree", &empty]).unwrap(), "");
    }

    // finding: N42
    #[test]
    fn an_object_of_a_pack_is_not_written_again() {
        let (_temp, root) = new_repository();
        for number in 0..300 {
            fs::write(root.join(format!("f{number}")), number.to_string()).unwrap();
        }
        commit_all(&root);
        run_git(&root, &["gc", "--quiet"]).unwrap();
        assert_eq!(object_files(&root), 0);
        let objects = ObjectWriter::open(&root).unwrap();
        for number in 0..300 {
            objects.write_blob(number.to_string().as_bytes()).unwrap();
        }
        assert_eq!(object_files(&root), 0);
        objects.write_blob(b"new").unwrap();
        assert_eq!(object_files(&root), 1);
    }

    /// Makes all object files and packs as old as those that git removes if nothing uses them.
    fn age_objects(folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                age_objects(&path);
            } else {
                let old = SystemTime::now() - Duration::from_secs(100 * 24 * 3600);
                File::open(&path).unwrap().set_modified(old).unwrap();
            }
        }
    }

    // finding: N42
    #[test]
    fn an_old_object_that_is_written_again_survives_a_collection_of_garbage() {
        let (_temp, root) = new_repository();
        let name = ObjectWriter::open(&root).unwrap().write_blob(b"unused").unwrap();
        age_objects(&root.join(".git/objects"));
        assert_eq!(ObjectWriter::open(&root).unwrap().write_blob(b"unused").unwrap(), name);
        run_git(&root, &["prune", "--expire", "2.weeks.ago"]).unwrap();
        assert_eq!(run_git(&root, &["cat-file", "blob", &name]).unwrap(), "unused");
        age_objects(&root.join(".git/objects"));
        run_git(&root, &["prune", "--expire", "2.weeks.ago"]).unwrap();
        assert!(run_git(&root, &["cat-file", "blob", &name]).is_err(), "the time decides");
    }

    /// Writes an old object again that nothing uses, and collects garbage.
    fn write_again_and_collect(root: &Path, content: &str) {
        assert_eq!(object_files(root), 0);
        age_objects(&root.join(".git/objects"));
        let name = ObjectWriter::open(root).unwrap().write_blob(content.as_bytes()).unwrap();
        run_git(root, &["gc", "--quiet", "--prune=2.weeks.ago"]).unwrap();
        assert_eq!(run_git(root, &["cat-file", "blob", &name]).unwrap(), content);
    }

    // finding: N42
    #[test]
    fn an_object_of_an_old_pack_survives_a_collection_of_garbage() {
        let (_temp, root) = new_repository();
        fs::write(root.join("unused"), "of a pack").unwrap();
        commit_all(&root);
        run_git(&root, &["gc", "--quiet"]).unwrap();
        run_git(&root, &["update-ref", "-d", "HEAD"]).unwrap();
        run_git(&root, &["reflog", "expire", "--expire=now", "--all"]).unwrap();
        fs::remove_file(root.join(".git/index")).unwrap();
        write_again_and_collect(&root, "of a pack");
    }

    // finding: N42
    #[test]
    fn an_object_of_a_pack_of_garbage_survives_a_collection_of_garbage() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        ObjectWriter::open(&root).unwrap().write_blob(b"garbage").unwrap();
        run_git(&root, &["gc", "--quiet", "--cruft", "--prune=never"]).unwrap();
        write_again_and_collect(&root, "garbage");
    }

    // finding: N42
    #[test]
    fn an_index_without_its_pack_contains_nothing() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        run_git(&root, &["gc", "--quiet"]).unwrap();
        let packs: Vec<PathBuf> =
            fs::read_dir(root.join(".git/objects/pack")).unwrap().map(|e| e.unwrap().path()).collect();
        let pack = packs.iter().find(|path| path.extension().is_some_and(|name| name == "pack")).unwrap();
        let name = run_git(&root, &["hash-object", "file"]).unwrap();
        fs::remove_file(pack).unwrap();
        let content = fs::read(root.join("file")).unwrap();
        assert_eq!(ObjectWriter::open(&root).unwrap().write_blob(&content).unwrap(), name.trim());
        assert!(run_git(&root, &["cat-file", "-e", name.trim()]).is_ok());
    }

    // finding: N42
    #[test]
    fn git_itself_writes_objects_with_other_names_or_of_other_repositories() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "--quiet", "--object-format=sha256"]).unwrap();
        assert!(ObjectWriter::open(root).is_none());
        let (_temp, origin) = new_repository();
        commit_all(&origin);
        let clone = origin.with_file_name("clone");
        let paths = [&origin, &clone].map(|path| path.to_str().unwrap().to_owned());
        run_git(&origin, &["clone", "--quiet", "--shared", &paths[0], &paths[1]]).unwrap();
        assert!(ObjectWriter::open(&clone).is_none());
    }
}
