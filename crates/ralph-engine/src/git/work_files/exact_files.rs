//! Lists, stores and reads the files of a work tree byte by byte: without filters, line end conversion and attributes, which an
//! agent could change. Git uses a temporary git folder, so that the settings of the repository have no effect.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_process::{current_cancel_flag, with_cancel_flag};

use crate::git::head_file::{find_common_dir, find_git_dir};
use crate::git::index::index_file::{IndexFile, build_index};
use crate::git::isolated_git::IsolatedGit;
use crate::git::objects::object_writer::ObjectWriter;
use crate::git::temporary_folder::TemporaryFolder;
use crate::git::work_files::unignored_files::list_unignored_files;
use crate::git::{GitError, TreeEntry};

/// How long git may take to list or to store the files. A pipe in place of a file that git reads blocks it.
const EXACT_GIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest file of a git folder that is read.
pub(in crate::git) const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The files of a work tree, judged by the ignore rules of this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedFiles {
    /// Files that the index contains, ignored or not.
    pub tracked: Vec<PathBuf>,
    /// Files that are not ignored, tracked or not. A nested repository is listed as one path that ends with a slash.
    pub unignored: Vec<PathBuf>,
    /// Ignored files; an ignored folder is one path.
    pub ignored: Vec<PathBuf>,
}

/// A file to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactFile {
    pub path: PathBuf,
    pub kind: ExactFileKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactFileKind {
    Regular,
    Executable,
    /// A symbolic link with this target.
    Link(OsString),
}

impl ExactFileKind {
    fn tree_mode(&self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Link(_) => "120000",
        }
    }
}

/// Returns the object folder of a repository and whether its names are SHA-256.
pub(in crate::git) struct ObjectStore {
    objects: PathBuf,
    is_sha256: bool,
    /// The ignore file of the repository.
    pub(in crate::git) exclude: Vec<u8>,
}

impl ObjectStore {
    pub(in crate::git) fn find(root: &Path) -> Result<Self, GitError> {
        let missing =
            || GitError::Failed { command: "rev-parse".to_owned(), stderr: "not a git repository".to_owned() };
        let common = find_common_dir(&find_git_dir(root).ok_or_else(missing)?);
        let config = read_regular_file(&common.join("config"), MAX_SETTINGS_BYTES).unwrap_or_default();
        let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
        let is_sha256 = config.contains("objectformat") && config.contains("sha256");
        let exclude = read_regular_file(&common.join("info/exclude"), MAX_SETTINGS_BYTES).unwrap_or_default();
        Ok(Self { objects: common.join("objects"), is_sha256, exclude })
    }

    /// Creates a temporary git folder that uses the objects of the repository and none of its settings.
    fn create_git_folder(&self) -> Result<TemporaryFolder, GitError> {
        let folder = TemporaryFolder::create("exact")?;
        let format = if self.is_sha256 { "[extensions]\nobjectFormat = sha256\n" } else { "" };
        let config = format!("[core]\nrepositoryFormatVersion = 1\nbare = false\n{format}");
        let create = || {
            fs::create_dir(folder.path.join("refs"))?;
            fs::create_dir(folder.path.join("objects"))?;
            fs::create_dir(folder.path.join("info"))?;
            fs::write(folder.path.join("HEAD"), "ref: refs/heads/none\n")?;
            fs::write(folder.path.join("info/exclude"), &self.exclude)?;
            fs::write(folder.path.join("config"), config)
        };
        create().map_err(|source| folder.to_git_error(source))?;
        Ok(folder)
    }

    fn git<'a>(&self, root: &'a Path, folder: &TemporaryFolder) -> IsolatedGit<'a> {
        IsolatedGit::in_folder(root)
            .with_timeout(EXACT_GIT_TIMEOUT)
            .with_env("GIT_DIR", &folder.path)
            .with_env("GIT_WORK_TREE", root)
            .with_env("GIT_OBJECT_DIRECTORY", &self.objects)
    }
}

/// Returns whether the objects of a repository have SHA-256 names.
pub(in crate::git) fn uses_sha256(root: &Path) -> bool {
    ObjectStore::find(root).is_ok_and(|store| store.is_sha256)
}

/// Lists the files of a work tree.
pub fn list_exact_files(root: &Path) -> Result<ListedFiles, GitError> {
    let (tracked, untracked) = run_both(|| list_tracked_files(root), || list_untracked_files(root));
    let (tracked, mut listed) = (tracked?, untracked?);
    let paths: BTreeSet<&PathBuf> = tracked.iter().collect();
    listed.ignored.retain(|path| !paths.contains(path));
    Ok(ListedFiles { tracked, ..listed })
}

/// Returns the paths in the index, sorted by their bytes.
fn list_tracked_files(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    if let Some(index) = IndexFile::read(root) {
        return Ok(index.entries.into_iter().map(|entry| entry.path).collect());
    }
    let git = IsolatedGit::in_folder(root).with_timeout(EXACT_GIT_TIMEOUT);
    let listed = git.read_stdout(&["ls-files", "-z", "--cached", "--full-name"])?;
    Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(to_path).collect())
}

/// Lists the files of a work tree without regard to the index: tracked files are among the others.
pub fn list_untracked_files(root: &Path) -> Result<ListedFiles, GitError> {
    let store = ObjectStore::find(root)?;
    match list_unignored_files(root, &store.exclude) {
        Some(listed) => Ok(listed),
        None => list_files_with_git(root, &store),
    }
}

pub(in crate::git) fn list_files_with_git(root: &Path, store: &ObjectStore) -> Result<ListedFiles, GitError> {
    let folder = store.create_git_folder()?;
    let args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching"];
    let status = store.git(root, &folder).read_stdout(&args)?;
    let mut listed = ListedFiles::default();
    for entry in status.split(|byte| *byte == 0) {
        match entry {
            [b'?', b'?', b' ', path @ ..] => listed.unignored.push(to_path(path)),
            [b'!', b'!', b' ', path @ ..] => listed.ignored.push(to_path(path)),
            _ => {}
        }
    }
    Ok(listed)
}

/// Runs two pieces of work at the same time. A stop of the run cancels both.
pub fn run_both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    let cancel_flag = current_cancel_flag();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| match cancel_flag {
            Some(cancel_flag) => with_cancel_flag(cancel_flag, first),
            None => first(),
        });
        let second = second();
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

/// Stores the exact bytes of files as objects, and returns the entry of each. Regular files must be readable.
pub fn store_exact_files(root: &Path, files: &[ExactFile]) -> Result<BTreeMap<PathBuf, TreeEntry>, GitError> {
    if files.is_empty() {
        return Ok(BTreeMap::new());
    }
    match store_small_files(root, files) {
        Some(stored) => Ok(stored),
        None => store_files_with_git(root, files),
    }
}

/// Stores files without starting git. `None`: they are too large, or only git knows how to store them.
fn store_small_files(root: &Path, files: &[ExactFile]) -> Option<BTreeMap<PathBuf, TreeEntry>> {
    const MAX_TOTAL_BYTES: u64 = 4 << 20;
    let objects = ObjectWriter::open(root)?;
    let mut free_bytes = MAX_TOTAL_BYTES;
    let store = |file: &ExactFile| {
        let content = match &file.kind {
            ExactFileKind::Link(target) => target.as_bytes().to_vec(),
            ExactFileKind::Regular | ExactFileKind::Executable => {
                let content = read_regular_file(&root.join(&file.path), free_bytes).ok()?;
                free_bytes = free_bytes.checked_sub(content.len() as u64).filter(|free| *free > 0)?;
                content
            }
        };
        let object = objects.write_blob(&content).ok().filter(|_| !ralph_process::is_cancelled())?;
        Some((file.path.clone(), TreeEntry { mode: file.kind.tree_mode().to_owned(), object }))
    };
    files.iter().map(store).collect()
}

fn store_files_with_git(root: &Path, files: &[ExactFile]) -> Result<BTreeMap<PathBuf, TreeEntry>, GitError> {
    let store = ObjectStore::find(root)?;
    let folder = store.create_git_folder()?;
    let mut input = Vec::new();
    for (number, file) in files.iter().enumerate() {
        match &file.kind {
            ExactFileKind::Regular | ExactFileKind::Executable => push_quoted_line(&mut input, file.path.as_os_str()),
            ExactFileKind::Link(target) => {
                let copy = folder.path.join(format!("link-{number}"));
                fs::write(&copy, target.as_bytes()).map_err(|source| folder.to_git_error(source))?;
                push_quoted_line(&mut input, copy.as_os_str());
            }
        }
    }
    let args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let stored = store.git(root, &folder).read_stdout_with_input(&args, &input)?;
    let stored = String::from_utf8_lossy(&stored).into_owned();
    let entries = files.iter().zip(stored.lines()).map(|(file, object)| {
        (file.path.clone(), TreeEntry { mode: file.kind.tree_mode().to_owned(), object: object.to_owned() })
    });
    Ok(entries.collect())
}

/// Stores a text as an object.
pub fn store_exact_text(root: &Path, text: &[u8]) -> Result<String, GitError> {
    if let Some(object) = ObjectWriter::open(root).and_then(|objects| objects.write_blob(text).ok()) {
        return Ok(object);
    }
    let store = ObjectStore::find(root)?;
    let folder = store.create_git_folder()?;
    let stored = store.git(root, &folder).read_stdout_with_input(&["hash-object", "-w", "--stdin"], text)?;
    Ok(String::from_utf8_lossy(&stored).trim_end().to_owned())
}

/// Writes a tree of these entries. No entry may be below another one.
pub fn write_exact_tree(root: &Path, entries: &BTreeMap<PathBuf, TreeEntry>) -> Result<String, GitError> {
    match ObjectWriter::open(root).and_then(|objects| objects.write_tree(entries).ok()) {
        Some(tree) => Ok(tree),
        None => write_tree_with_git(root, entries),
    }
}

fn write_tree_with_git(root: &Path, entries: &BTreeMap<PathBuf, TreeEntry>) -> Result<String, GitError> {
    let store = ObjectStore::find(root)?;
    let folder = store.create_git_folder()?;
    let invalid =
        || GitError::Failed { command: "write-tree".to_owned(), stderr: "an entry has an unknown form".to_owned() };
    let index = build_index(entries, store.is_sha256).ok_or_else(invalid)?;
    fs::write(folder.path.join("index"), index).map_err(|source| folder.to_git_error(source))?;
    // The objects were stored just now, so git need not look for each of them.
    store.git(root, &folder).read_line(&["write-tree", "--missing-ok"])
}

/// Returns the sizes of those objects that the repository contains.
pub fn read_object_sizes(root: &Path, objects: &BTreeSet<&str>) -> Result<BTreeMap<String, u64>, GitError> {
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let store = ObjectStore::find(root)?;
    let folder = store.create_git_folder()?;
    let input: String = objects.iter().flat_map(|object| [object, "\n"]).collect();
    let args = ["cat-file", "--buffer", "--batch-check=%(objectname) %(objectsize)"];
    let listed = store.git(root, &folder).read_stdout_with_input(&args, input.as_bytes())?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let sizes = listed.lines().filter_map(|line| {
        let (object, size) = line.split_once(' ')?;
        Some((object.to_owned(), size.parse().ok()?))
    });
    Ok(sizes.collect())
}

/// Returns the contents of objects, in their order.
pub fn read_objects(root: &Path, objects: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let store = ObjectStore::find(root)?;
    let folder = store.create_git_folder()?;
    let input = objects.join("\n") + "\n";
    let output = store.git(root, &folder).read_stdout_with_input(&["cat-file", "--batch"], input.as_bytes())?;
    let mut rest = output.as_slice();
    let read_content = |_| Some(read_batch_object(&mut rest)?.1.to_vec());
    let contents: Option<Vec<Vec<u8>>> = objects.iter().map(read_content).collect();
    contents.ok_or_else(|| GitError::Failed {
        command: "cat-file --batch".to_owned(),
        stderr: "an object of the snapshot is missing".to_owned(),
    })
}

/// Reads one object of the output of `cat-file --batch`: a line with its name, its kind and its size, then its content and a line
/// break. Returns the line and the content; `None` if the object is missing.
pub(in crate::git) fn read_batch_object<'a>(rest: &mut &'a [u8]) -> Option<(&'a str, &'a [u8])> {
    let end = memchr::memchr(b'\n', rest)?;
    let header = std::str::from_utf8(rest.get(..end)?).ok()?;
    let size: usize = header.rsplit(' ').next()?.parse().ok()?;
    let content = rest.get(end + 1..(end + 1).checked_add(size)?)?;
    *rest = rest.get(end + size + 2..)?;
    Some((header, content))
}

/// Opens a file without waiting for the writer of a pipe; fails if it is not a regular file.
pub fn open_regular_file(path: &Path) -> io::Result<fs::File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = fs::File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

pub(in crate::git) fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular_file(path)?.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

/// Appends a path as git reads it from a line: quoted if it would be ambiguous.
fn push_quoted_line(input: &mut Vec<u8>, path: &OsStr) {
    let bytes = path.as_bytes();
    if bytes.starts_with(b"\"") || bytes.contains(&b'\n') || bytes.ends_with(b"\r") {
        input.push(b'"');
        for byte in bytes {
            input.extend_from_slice(format!("\\{byte:03o}").as_bytes());
        }
        input.push(b'"');
    } else {
        input.extend_from_slice(bytes);
    }
    input.push(b'\n');
}

fn to_path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}
