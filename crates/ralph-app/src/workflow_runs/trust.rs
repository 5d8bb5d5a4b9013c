//! May the workflows of this repository be run? Their files come with the repository, so another person may have written
//! them: they are shown, and run only after the user has approved them.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ralph_engine::project::Project;
use ralph_util::digest::sha256_hex;

use crate::advice::Advice;
use crate::config::{FileLayer, ProjectCommand, SettingOrigin};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::run::refuse_command_by_agent;
use crate::trust::{CommandFingerprint, TrustList, TrustStatus};
use crate::workflows::WorkflowFolders;

/// The folders whose files a workflow can run.
const FOLDERS: [&str; 3] = ["workflows", "commands", "scripts"];
/// More files than that are refused as a mistake.
const MAX_FILES: usize = 10_000;
/// The contents of all files together are shown up to this size.
const MAX_SHOWN_BYTES: usize = 1024 * 1024;

/// Refuses workflows of the repository that the user has not approved as they are now. A person who is there is asked.
pub fn ensure_workflows_approved(project: &Project, person: &dyn Interaction) -> AppResult<()> {
    let files = workflow_files(project)?;
    let fingerprint = fingerprint(&files);
    let list = open_list()?;
    let status = list.trust_status(&trust_key(project), &fingerprint)?;
    match status {
        TrustStatus::Approved => Ok(()),
        TrustStatus::Changed | TrustStatus::Unknown => {
            if person.approve_commands(&shown_files(&files)) {
                return approve_workflows(project);
            }
            let message = match status {
                TrustStatus::Changed => "the workflows of this project have changed since you approved them",
                TrustStatus::Unknown | TrustStatus::Approved => "you have not approved the workflows of this project",
            };
            let failure = AppError::preflight(message);
            let shown = files.keys().map(|path| path.display().to_string());
            Err(shown.fold(failure, AppError::with_cause).with_advice(Advice::ApproveCommands))
        }
    }
}

/// Returns whether the repository has workflows that the user has not approved as they are now.
pub fn has_unapproved_workflows(project: &Project) -> AppResult<bool> {
    let files = workflow_files(project)?;
    let status = open_list()?.trust_status(&trust_key(project), &fingerprint(&files))?;
    Ok(!files.is_empty() && status != TrustStatus::Approved)
}

/// Returns the files that an approval covers, for people.
pub fn list_workflow_files(project: &Project) -> AppResult<Vec<ProjectCommand>> {
    Ok(shown_files(&workflow_files(project)?))
}

/// Records that the user has approved the workflows as they are now.
pub fn approve_workflows(project: &Project) -> AppResult<()> {
    approve_hashes(project, &workflow_files(project)?)
}

fn approve_hashes(project: &Project, hashes: &BTreeMap<PathBuf, String>) -> AppResult<()> {
    refuse_command_by_agent(project, "approve the workflows of the project that it works on")?;
    if hashes.is_empty() {
        return Ok(());
    }
    Ok(open_list()?.approve_commands(&trust_key(project), &fingerprint(hashes))?)
}

/// The files that an approval covers, with their contents at one moment.
pub struct WorkflowFiles {
    hashes: BTreeMap<PathBuf, String>,
    shown: Vec<ShownFile>,
}

/// A file as a person sees it before the approval.
pub struct ShownFile {
    pub command: ProjectCommand,
    /// The text of the file. Bytes that are not text, and very long text, are replaced by a description.
    pub content: String,
}

impl WorkflowFiles {
    pub fn read(project: &Project) -> AppResult<Self> {
        let (mut hashes, mut contents, mut room) = (BTreeMap::new(), Vec::new(), MAX_SHOWN_BYTES);
        visit_files(project, &mut |path, bytes| {
            hashes.insert(path, sha256_hex(&bytes));
            let shown = match String::from_utf8(bytes) {
                Ok(text) if text.len() <= room => text,
                Ok(text) => format!("({} bytes that are too long to show; the hash covers them)", text.len()),
                Err(error) => format!("({} bytes that are no text; the hash covers them)", error.as_bytes().len()),
            };
            room = room.saturating_sub(shown.len());
            contents.push(shown);
        })?;
        let commands = shown_files(&hashes).into_iter().zip(contents);
        let shown = commands.map(|(command, content)| ShownFile { command, content }).collect();
        Ok(Self { hashes, shown })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    #[must_use]
    pub fn shown_files(&self) -> &[ShownFile] {
        &self.shown
    }

    /// Changes with every byte of every file.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.hashes).as_str().to_owned()
    }
}

/// Records that the user has approved the workflows with these contents.
pub fn approve_workflow_files(project: &Project, files: &WorkflowFiles) -> AppResult<()> {
    approve_hashes(project, &files.hashes)
}

/// The workflows of a project have their own entry in the list, next to that of its commands.
fn trust_key(project: &Project) -> PathBuf {
    project.root.join("workflows of this project")
}

fn open_list() -> AppResult<TrustList> {
    Ok(TrustList::for_user(|name| std::env::var_os(name))?)
}

/// Returns the hashes of the files by their path.
fn workflow_files(project: &Project) -> AppResult<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    visit_files(project, &mut |path, bytes| {
        files.insert(path, sha256_hex(bytes));
    })?;
    Ok(files)
}

type FileVisitor<'a> = dyn FnMut(PathBuf, Vec<u8>) + 'a;

/// Visits all files in the order of their paths.
fn visit_files(project: &Project, visit: &mut FileVisitor<'_>) -> AppResult<()> {
    let folders = WorkflowFolders::find(Some(project), |_| None).folders;
    let mut paths = BTreeSet::new();
    for folder in folders.iter().filter(|folder| folder.origin.is_project()) {
        for name in FOLDERS {
            collect_paths(&folder.path.join(name), &mut paths)?;
        }
    }
    for path in paths {
        let content = std::fs::read(&path).unwrap_or_default();
        visit(path, content);
    }
    Ok(())
}

fn collect_paths(folder: &Path, paths: &mut BTreeSet<PathBuf>) -> AppResult<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if metadata.is_dir() && !path.is_symlink() {
            collect_paths(&path, paths)?;
        } else if metadata.is_file() {
            if paths.len() >= MAX_FILES {
                return Err(AppError::preflight(format!("more than {MAX_FILES} files in the folders of workflows")));
            }
            paths.insert(path);
        }
    }
    Ok(())
}

fn fingerprint(files: &BTreeMap<PathBuf, String>) -> CommandFingerprint {
    let entries: Vec<(String, &String)> =
        files.iter().map(|(path, hash)| (path.to_string_lossy().into_owned(), hash)).collect();
    CommandFingerprint::from_commands(entries.iter().map(|(path, hash)| (path.as_str(), hash.as_str())))
}

fn shown_files(files: &BTreeMap<PathBuf, String>) -> Vec<ProjectCommand> {
    let shown = files.iter().map(|(path, hash)| ProjectCommand {
        key: "workflow file".to_owned(),
        value: format!("sha256 {}", hash.get(..16).unwrap_or(hash)),
        origin: SettingOrigin::File { layer: FileLayer::Project, path: path.clone(), line: 1 },
    });
    shown.collect()
}
