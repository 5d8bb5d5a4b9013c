//! May the workflows of this repository be run? Their files come with the repository, so another person may have written
//! them: they are shown, and run only after the user has approved them.
use std::collections::BTreeMap;
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
    refuse_command_by_agent(project, "approve the workflows of the project that it works on")?;
    let files = workflow_files(project)?;
    if files.is_empty() {
        return Ok(());
    }
    Ok(open_list()?.approve_commands(&trust_key(project), &fingerprint(&files))?)
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
    let folders = WorkflowFolders::find(Some(project), |_| None).folders;
    let mut files = BTreeMap::new();
    for folder in folders.iter().filter(|folder| folder.origin.is_project()) {
        for name in FOLDERS {
            collect_files(&folder.path.join(name), &mut files)?;
        }
    }
    Ok(files)
}

fn collect_files(folder: &Path, files: &mut BTreeMap<PathBuf, String>) -> AppResult<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if metadata.is_dir() && !path.is_symlink() {
            collect_files(&path, files)?;
        } else if metadata.is_file() {
            if files.len() >= MAX_FILES {
                return Err(AppError::preflight(format!("more than {MAX_FILES} files in the folders of workflows")));
            }
            let content = std::fs::read(&path).unwrap_or_default();
            files.insert(path, sha256_hex(content));
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
