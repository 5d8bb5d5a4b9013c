//! Finds the files that git would not store byte by byte, as their attributes say.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::config_text::{ConfigText, system_files, user_file};
use crate::git::head_file::{find_common_dir, find_git_dir};
use crate::git::isolated_git::IsolatedGit;

/// How git may change the bytes of a file before it stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// Line ends or keywords, so that the content gets another size.
    Resizing,
    /// A filter or another encoding: the content may have the same size.
    Any,
}

const ATTRIBUTES: [&str; 6] = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];

/// Settings with which git changes the bytes or the kinds of files, or reads other attributes or settings.
const CONVERTING_SETTINGS: [&str; 7] =
    ["autocrlf", "eol=", "symlinks", "attributesfile", "[attr", "worktree", "[include"];

/// Returns whether git stores these files byte by byte, as far as that is known without starting git. `paths` also contains the
/// files of the index.
#[must_use]
pub fn keeps_all_bytes(root: &Path, paths: &BTreeSet<&Path>) -> bool {
    let is_simple = |config: &ConfigText| !config.mentions(&CONVERTING_SETTINGS) && config.has_only("filemode", "true");
    let configs = [ConfigText::of_repository(root), ConfigText::of_user()];
    configs.iter().all(|config| config.as_ref().is_some_and(is_simple))
        && paths.iter().all(|path| is_everyday_path(path))
        && !has_attributes(root, paths)
}

/// Returns whether there is a file with attributes, also an ignored one, or one that is only in the index.
fn has_attributes(root: &Path, paths: &BTreeSet<&Path>) -> bool {
    const FILE_NAME: &str = ".gitattributes";
    let of_repository = find_git_dir(root).map(|folder| find_common_dir(&folder).join("info/attributes"));
    let mut others = of_repository.into_iter().chain(user_file("attributes")).chain(system_files("gitattributes"));
    let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
    let folders: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    std::env::var_os("GIT_ATTR_SOURCE").is_some()
        || others.any(is_there)
        || paths.iter().any(|path| path.file_name() == Some(OsStr::new(FILE_NAME)))
        || folders.iter().any(|folder| is_there(root.join(folder).join(FILE_NAME)))
}

/// Returns whether git adds a file with this name: it refuses names that mean the `.git` folder on other systems.
fn is_everyday_path(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'\\' | b'~' | b':'))
}

/// Returns the files that git may convert by the attributes of this moment. Line ends that git finds in its index are kept,
/// so `text=auto` converts no file whose object has the same bytes.
pub fn list_converted_files(root: &Path, paths: &BTreeSet<&Path>) -> Result<BTreeMap<PathBuf, Conversion>, GitError> {
    if keeps_all_bytes(root, paths) {
        return Ok(BTreeMap::new());
    }
    let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let args = [&["check-attr", "--stdin", "-z"], &ATTRIBUTES[..]].concat();
    let listed = IsolatedGit::in_folder(root).with_long_timeout().read_stdout_with_input(&args, &input)?;
    let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let mut found = BTreeMap::new();
    for values in fields.chunks_exact(3 * ATTRIBUTES.len()) {
        let value = |attribute: usize| values.get(attribute * 3 + 2).copied().unwrap_or_default();
        let is_off = |attribute: usize| matches!(value(attribute), b"unspecified" | b"unset");
        // Git reads the two older attributes only if `text` is not set.
        let keeps_lines = match value(0) {
            b"auto" | b"unset" => true,
            b"unspecified" => [1, 2].map(value) == [b"unspecified"; 2],
            _ => false,
        };
        let conversion = if !is_off(4) || !is_off(5) {
            Conversion::Any
        } else if !keeps_lines || !is_off(3) {
            Conversion::Resizing
        } else {
            continue;
        };
        let path = values.first().copied().unwrap_or_default().to_vec();
        found.insert(OsString::from_vec(path).into(), conversion);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::new_repository;

    // finding: N41
    #[test]
    fn a_file_that_git_may_convert_is_found_wherever_its_attribute_is_set() {
        let (_temp, root) = new_repository();
        let attributes = "* text=auto eol=lf\n*.c text\n*.k ident\n*.f filter=f\n*.raw -text\n*.old !text !eol crlf\n";
        std::fs::write(root.join(".gitattributes"), attributes).unwrap();
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/attributes"), "*.e working-tree-encoding=UTF-16\n").unwrap();
        let paths = ["a", "b.c", "new\nline.k", "d.f", "e.e", "f.raw", "g.old"].map(Path::new).into();
        let found: Vec<_> = list_converted_files(&root, &paths).unwrap().into_iter().collect();
        let expected = [
            ("b.c", Conversion::Resizing),
            ("d.f", Conversion::Any),
            ("e.e", Conversion::Any),
            ("g.old", Conversion::Resizing),
            ("new\nline.k", Conversion::Resizing),
        ];
        assert_eq!(found, expected.map(|(path, conversion)| (PathBuf::from(path), conversion)));
    }
}
