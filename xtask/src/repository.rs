//! Reads the files of the repository: tracked files, and untracked files that are not ignored.
use std::fs;

use crate::command_line::{CommandLine, repository_root};
use crate::error::{Result, XtaskError};
use crate::rust_lexer;

/// A text file with its path relative to the root.
#[derive(Debug)]
pub(crate) struct RepositoryFile {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The lines of a Rust file, split into code and comment; empty for other files.
    pub(crate) lines: Vec<rust_lexer::SourceLine>,
}

impl RepositoryFile {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let lines = if is_rust(path) { rust_lexer::parse_lines(text) } else { Vec::new() };
        Self { path: path.to_owned(), text: text.to_owned(), lines }
    }

    pub(crate) fn is_rust(&self) -> bool {
        is_rust(&self.path)
    }
}

fn is_rust(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

#[derive(Debug, Default)]
pub(crate) struct RepositoryFiles {
    pub(crate) files: Vec<RepositoryFile>,
}

impl RepositoryFiles {
    /// Reads all text files of the repository.
    pub(crate) fn read() -> Result<Self> {
        let mut files = Vec::new();
        for path in list_paths()? {
            let full = repository_root().join(&path);
            // git still lists removed files, and a link may be dangling.
            if !full.is_file() {
                continue;
            }
            let bytes =
                fs::read(&full).map_err(|error| XtaskError::with_cause(format!("cannot read {path}"), error))?;
            files.push(RepositoryFile::new(&path, &String::from_utf8_lossy(&bytes)));
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(crate) fn from_texts(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| RepositoryFile::new(path, text)).collect() }
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &RepositoryFile> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub(crate) fn get(&self, path: &str) -> Option<&RepositoryFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn list_paths() -> Result<Vec<String>> {
    let line = CommandLine::parse("git ls-files -z --cached --others --exclude-standard");
    let output = line.to_command().output().map_err(|error| XtaskError::with_cause("cannot start git", error))?;
    if !output.status.success() {
        return Err(XtaskError::new("git cannot list the files of this folder")
            .with_hint("run xtask in a clone of the repository"));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut paths: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}
