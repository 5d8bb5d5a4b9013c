//! Finds the files that git would not store byte by byte, as their attributes say.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::GitError;
use super::isolated_git::IsolatedGit;

/// How git may change the bytes of a file before it stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// Line ends or keywords, so that the content gets another size.
    Resizing,
    /// A filter or another encoding: the content may have the same size.
    Any,
}

const ATTRIBUTES: [&str; 6] = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];

/// Returns the files that git may convert by the attributes of this moment. Line ends that git finds in its index are kept,
/// so `text=auto` converts no file whose object has the same bytes.
pub fn list_converted_files(root: &Path, paths: &[&Path]) -> Result<BTreeMap<PathBuf, Conversion>, GitError> {
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
        let paths = ["a", "b.c", "new\nline.k", "d.f", "e.e", "f.raw", "g.old"].map(Path::new);
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
