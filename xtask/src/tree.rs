//! The files of the repository as git sees them: those it tracks and those it would track.
use std::fs;

use crate::failure::{Failure, Result};
use crate::rust;
use crate::shell::{Line, root};

/// A text file with its path from the root.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The lines of a Rust file, code and comment apart; empty for any other.
    pub(crate) lines: Vec<rust::Line>,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let lines = if is_rust(path) { rust::lines(text) } else { Vec::new() };
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
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the repository.
    pub(crate) fn read() -> Result<Self> {
        let mut files = Vec::new();
        for path in paths()? {
            let full = root().join(&path);
            // A file that was just removed is still listed, and a link may lead nowhere.
            if !full.is_file() {
                continue;
            }
            let bytes =
                fs::read(&full).map_err(|error| Failure::of(format!("{path} cannot be read"), error))?;
            files.push(File::new(&path, &String::from_utf8_lossy(&bytes)));
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| File::new(path, text)).collect() }
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn paths() -> Result<Vec<String>> {
    let line = Line::of("git ls-files -z --cached --others --exclude-standard");
    let output = line.command().output().map_err(|error| Failure::of("git cannot be started", error))?;
    if !output.status.success() {
        return Err(Failure::new("git does not list the files of this folder")
            .hint("work in a clone of the repository"));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut paths: Vec<String> =
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}
