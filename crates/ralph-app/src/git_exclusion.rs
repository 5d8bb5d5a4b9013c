//! Keeps a file of one machine out of git, with a line in `info/exclude` of the repository. That file belongs to the
//! clone, unlike `.gitignore`, which would change the project for everyone.
use std::fs;
use std::path::{Path, PathBuf};

use ralph_engine::git;

/// Whether git ignores a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitExclusion {
    /// It is ignored already, or no repository exists.
    Unchanged,
    /// A line in this file excludes it, or would.
    Added(PathBuf),
    /// The line was removed from this file.
    Removed(PathBuf),
    /// git tracks the file, so that no exclusion has an effect.
    Tracked,
}

/// Whether the exclusion is only planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusionMode {
    Apply,
    Plan,
}

/// Excludes the file from git, unless git ignores it already.
#[must_use]
pub fn exclude_file(file: &Path, mode: ExclusionMode) -> GitExclusion {
    let Some(target) = ExclusionTarget::find(file) else { return GitExclusion::Unchanged };
    if git::run_git(&target.root, &["ls-files", "--error-unmatch", "--", &target.name]).is_ok() {
        return GitExclusion::Tracked;
    }
    if git::run_git(&target.root, &["check-ignore", "--quiet", "--", &target.name]).is_ok() {
        return GitExclusion::Unchanged;
    }
    let text = fs::read_to_string(&target.exclude_file).unwrap_or_default();
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match target.write_lines(&format!("{text}{line_break}{}\n", target.line), mode) {
        true => GitExclusion::Added(target.exclude_file),
        false => GitExclusion::Unchanged,
    }
}

/// Removes the line that [`exclude_file`] has written, if the file does not exist any more.
#[must_use]
pub fn remove_exclusion(file: &Path, mode: ExclusionMode) -> GitExclusion {
    let target = ExclusionTarget::find(file).filter(|_| !file.exists());
    let Some(target) = target else { return GitExclusion::Unchanged };
    let text = fs::read_to_string(&target.exclude_file).unwrap_or_default();
    let kept: String = text.split_inclusive('\n').filter(|line| line.trim_end() != target.line).collect();
    match kept != text && target.write_lines(&kept, mode) {
        true => GitExclusion::Removed(target.exclude_file),
        false => GitExclusion::Unchanged,
    }
}

/// A file, and where it is excluded.
struct ExclusionTarget {
    /// The root of the work tree.
    root: PathBuf,
    /// The file relative to the root.
    name: String,
    exclude_file: PathBuf,
    line: String,
}

impl ExclusionTarget {
    /// Returns `None` outside a repository, and for a name that is not UTF-8.
    fn find(file: &Path) -> Option<Self> {
        let folder = file.ancestors().skip(1).find(|folder| folder.is_dir())?;
        let root = PathBuf::from(git::run_git(folder, &["rev-parse", "--show-toplevel"]).ok()?.trim_end());
        let name = fs::canonicalize(folder).ok()?.join(file.strip_prefix(folder).ok()?);
        let name = name.strip_prefix(fs::canonicalize(&root).ok()?).ok()?.to_str()?.to_owned();
        let exclude_file = git::run_git(&root, &["rev-parse", "--git-path", "info/exclude"]).ok()?;
        let exclude_file = root.join(exclude_file.trim_end());
        Some(Self { line: format!("/{name}"), root, name, exclude_file })
    }

    /// Returns whether the lines were written, or would be.
    fn write_lines(&self, lines: &str, mode: ExclusionMode) -> bool {
        match mode {
            ExclusionMode::Plan => true,
            ExclusionMode::Apply => {
                let folder = self.exclude_file.parent().map_or(Ok(()), fs::create_dir_all);
                folder.and_then(|()| fs::write(&self.exclude_file, lines)).is_ok()
            }
        }
    }
}
