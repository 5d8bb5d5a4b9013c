//! Finds workflow files: in the repository, in the user's own folders, and those that are part of ralph.
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where a workflow comes from. A later one replaces an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowOrigin {
    BuiltIn,
    /// `~/.archon`.
    UserArchon,
    /// ralph's folder among the user's configuration.
    User,
    /// `.archon` of the repository.
    ProjectArchon,
    /// `.ralph` of the repository.
    Project,
    /// Named on the command line, or beside that file.
    File,
}

impl WorkflowOrigin {
    /// Returns whether the author may be another person than the user.
    #[must_use]
    pub fn is_project(self) -> bool {
        match self {
            Self::ProjectArchon | Self::Project | Self::File => true,
            Self::BuiltIn | Self::UserArchon | Self::User => false,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::UserArchon => "user (.archon)",
            Self::User => "user",
            Self::ProjectArchon => "project (.archon)",
            Self::Project => "project",
            Self::File => "file",
        }
    }
}

/// A folder with `workflows/`, `commands/` and `scripts/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowFolder {
    pub origin: WorkflowOrigin,
    pub path: PathBuf,
    pub layout: FolderLayout,
}

/// Which files of a folder are workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderLayout {
    /// All below it; a folder that also has `commands/` or `scripts/` is a package.
    Ralph,
    /// `*.yaml`, `GROUP/*.yaml`, and the packages `PACK/NAME/*.yaml`.
    Archon,
}

/// A workflow file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub path: PathBuf,
    /// The folder of the package that it belongs to: its commands and scripts are found only there.
    pub package: Option<PathBuf>,
}

/// The folders of a repository that contain `workflows/`.
const PROJECT_FOLDERS: [&str; 2] = [".archon", ".ralph"];
const MAX_DEPTH: usize = 16;
/// Most files of a folder.
const MAX_FILES: usize = 10_000;

/// Finds the workflow files of a folder, in the order of their paths.
pub(super) fn find_workflow_files(folder: &WorkflowFolder) -> Vec<FoundFile> {
    let mut search = FileSearch { layout: folder.layout, found: Vec::new() };
    search.visit(&folder.path.join("workflows"), 0);
    search.found.sort_by(|a, b| a.path.cmp(&b.path));
    search.found
}

/// Finds the workflow files below any folder. Of a repository with workflows, and of every repository below the folder,
/// these are the files of its `.archon/workflows` and `.ralph/workflows`.
pub(super) fn find_files_below(folder: &Path) -> Vec<FoundFile> {
    let mut search = FileSearch { layout: FolderLayout::Ralph, found: Vec::new() };
    let own: Vec<PathBuf> = project_workflow_folders(folder).collect();
    match own.is_empty() {
        true => search.visit(folder, 0),
        false => own.iter().for_each(|workflows| search.visit(workflows, 0)),
    }
    search.found.sort_by(|a, b| a.path.cmp(&b.path));
    search.found
}

/// Returns the workflow folders that a repository has.
pub(super) fn project_workflow_folders(root: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = PROJECT_FOLDERS.iter().map(|name| root.join(name).join("workflows"));
    folders.filter(|workflows| workflows.is_dir()).collect::<Vec<_>>().into_iter()
}

struct FileSearch {
    layout: FolderLayout,
    found: Vec<FoundFile>,
}

impl FileSearch {
    fn visit(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let package = self.package_of(folder, depth);
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                // Links to folders are not followed: they may lead out of the repository, or be circular.
                if is_project_folder(&path) {
                    self.visit(&path.join("workflows"), 0);
                } else if depth < self.max_depth() && !is_other_folder(&path) {
                    self.visit(&path, depth + 1);
                }
            } else if is_workflow_file(&path) && self.found.len() < MAX_FILES {
                self.found.push(FoundFile { path, package: package.clone() });
            }
        }
    }

    fn max_depth(&self) -> usize {
        match self.layout {
            FolderLayout::Ralph => MAX_DEPTH,
            FolderLayout::Archon => 2,
        }
    }

    fn package_of(&self, folder: &Path, depth: usize) -> Option<PathBuf> {
        let is_package = match self.layout {
            FolderLayout::Ralph => depth > 0 && (folder.join("commands").is_dir() || folder.join("scripts").is_dir()),
            FolderLayout::Archon => depth == 2,
        };
        is_package.then(|| folder.to_path_buf())
    }
}

fn is_project_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PROJECT_FOLDERS.iter().any(|project| name == *project))
}

/// Returns whether a folder holds something else than workflows.
fn is_other_folder(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.starts_with('.') || matches!(name.as_str(), "commands" | "scripts" | "node_modules")
}

/// Returns whether a file is a workflow by its name. Tests and stubs are beside workflows.
pub(super) fn is_workflow_file(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let Some(stem) = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")) else { return false };
    !name.starts_with('.') && !stem.ends_with(".test") && !stem.ends_with(".stubs")
}
