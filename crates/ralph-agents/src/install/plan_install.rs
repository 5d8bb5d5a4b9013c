//! What installing changes: everything is read and thought out before the first file is touched.
use std::path::{Path, PathBuf};

use super::apply::{FileOutcome, InstallPlan};
use super::error::InstallError;
use super::hook_timeout::{self, HookTimeout};
use super::host::HostInstaller;
use super::install_part::{InstallPart, PartContent};
use super::install_record::{InstallRecord, InstallRecordFile, InstalledFile, InstalledFileKind};
use super::install_target::{InstallScope, InstallTarget};
use super::merge::{self, Hook, Made, Malformed};
use super::ralph_executable::{HookMatcher, RalphExecutable};
use super::settings_file::{FileSnapshot, ensure_writable, missing_folders, snapshot_file};
use ralph_util::digest::sha256_hex;

/// One file, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileChange {
    /// As the user knows it.
    pub(super) path: PathBuf,
    pub(super) real_path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) outcome: FileOutcome,
}

pub(super) fn plan_install(
    host: &HostInstaller,
    place: &InstallTarget<'_>,
    own: &RalphExecutable,
    patience: HookTimeout,
) -> Result<InstallPlan, InstallError> {
    let folder = host.settings_folder(place)?;
    let shelf = InstallRecordFile::for_host(place, host.name, &folder)?;
    let old = shelf.read()?;
    let mut record = InstallRecord::new(host.name, &folder)?;
    record.folders = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    let ours = HookMatcher::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let usual = host.build_parts(place, &folder, (own, hook_timeout::DEFAULT_HOOK_TIMEOUT_SECONDS));
    let standing = hook_timeout::resolve_timeout_seconds((host, &usual), &ours, old.as_ref())?;
    let seconds = match patience {
        HookTimeout::KeepExisting => standing,
        HookTimeout::Seconds(seconds) => seconds,
    };
    (record.program, record.seconds) = (Some(own.path().to_owned()), Some(seconds));
    let mut changes = Vec::new();
    for part in host.build_parts(place, &folder, (own, seconds)) {
        let found = snapshot_file(&part.path)?;
        ensure_inside_project(place, &part.path, &found.real_path)?;
        let known = old.as_ref().and_then(|old| old.find_file(&part.path));
        let (change, entry) = match &part.content {
            PartContent::WholeFile(text) => plan_whole_file(&part, found, (text, known))?,
            PartContent::Hooks(hooks) => plan_hooks_file(&part, found, (&ours, hooks, known))?,
        };
        if change.before != change.after {
            ensure_writable(&change.real_path)?;
        }
        let missing = missing_folders(&change.real_path).into_iter();
        record.folders.extend(missing.filter(|folder| !record.folders.contains(folder)).collect::<Vec<_>>());
        record.files.push(entry);
        changes.push(change);
    }
    // What an older ralph had put elsewhere stays known.
    let is_new = |entry: &&InstalledFile| record.files.iter().all(|new| new.path != entry.path);
    let left: Vec<_> = old.iter().flat_map(|old| &old.files).filter(is_new).cloned().collect();
    record.files.extend(left);
    Ok(InstallPlan {
        record_file: shelf,
        old_record: old,
        new_record: Some(record),
        changes,
        removable_folders: Vec::new(),
    })
}

/// A project that comes from somebody else may have links in it that lead to the user's own files.
pub(super) fn ensure_inside_project(place: &InstallTarget<'_>, path: &Path, real: &Path) -> Result<(), InstallError> {
    match &place.scope {
        InstallScope::Project(root) if !real.starts_with(root) => {
            Err(InstallError::UnusablePath { path: path.to_path_buf(), problem: "leads out of the project" })
        }
        InstallScope::User | InstallScope::Project(_) | InstallScope::Plugin(_) => Ok(()),
    }
}

fn plan_whole_file(
    part: &InstallPart,
    found: FileSnapshot,
    (text, known): (&String, Option<&InstalledFile>),
) -> Result<(FileChange, InstalledFile), InstallError> {
    let is_ours = |there: &String| there == text || known.is_some_and(|known| known.sha256 == sha256_hex(there));
    let done = match &found.text {
        None => FileOutcome::Created,
        Some(there) if there == text => FileOutcome::Unchanged,
        Some(there) if is_ours(there) => FileOutcome::Updated,
        Some(_) => return Err(InstallError::NotOurs { path: part.path.clone() }),
    };
    let entry = InstalledFile { path: part.path.clone(), sha256: sha256_hex(text), kind: InstalledFileKind::Whole };
    Ok((FileChange::new(&part.path, found, Some(text.clone()), done), entry))
}

fn plan_hooks_file(
    part: &InstallPart,
    found: FileSnapshot,
    (ours, hooks, known): (&HookMatcher<'_>, &[Hook], Option<&InstalledFile>),
) -> Result<(FileChange, InstalledFile), InstallError> {
    let malformed = |source| InstallError::MalformedSettings { path: part.path.clone(), source };
    let there = found.text.clone().unwrap_or_default();
    if merge::has(&there, hooks, |command| ours.matches_command(command)).map_err(malformed)? && found.text.is_some() {
        let unknown = || InstalledFile {
            path: part.path.clone(),
            sha256: sha256_hex(&there),
            kind: InstalledFileKind::Hooks { is_new: false, inserted: Vec::new(), made: assume_made(hooks) },
        };
        let entry = known.cloned().unwrap_or_else(unknown);
        return Ok((FileChange::new(&part.path, found, Some(there), FileOutcome::Unchanged), entry));
    }
    let (clean, was_new) = strip_hooks(&there, known, (ours, hooks)).map_err(malformed)?;
    let merged = merge::add(&clean, hooks).map_err(malformed)?;
    ensure_hooks_readable(&part.path, &merged.text, (ours, hooks))?;
    let is_new = found.text.is_none() || was_new;
    let kind = InstalledFileKind::Hooks { is_new, inserted: merged.inserted, made: merged.made };
    let entry = InstalledFile { path: part.path.clone(), sha256: sha256_hex(&merged.text), kind };
    let done = if found.text.is_none() { FileOutcome::Created } else { FileOutcome::Updated };
    Ok((FileChange::new(&part.path, found, Some(merged.text), done), entry))
}

/// Reads what would be written, and refuses it where a hook is missing or nobody could read it.
fn ensure_hooks_readable(
    path: &Path,
    text: &str,
    (ours, hooks): (&HookMatcher<'_>, &[Hook]),
) -> Result<(), InstallError> {
    match merge::has(text, hooks, |command| ours.matches_command(command)) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => {
            let what = "has a shape into which ralph cannot put its hooks: please report that";
            Err(InstallError::UnusablePath { path: path.to_path_buf(), problem: what })
        }
    }
}

/// Returns settings without our hooks: as they were before where nobody has edited them since, else without what is ours.
/// Tells also whether there was no file before.
pub(super) fn strip_hooks(
    there: &str,
    known: Option<&InstalledFile>,
    (ours, hooks): (&HookMatcher<'_>, &[Hook]),
) -> Result<(String, bool), Malformed> {
    let ours = |command: &str| ours.matches_command(command);
    let Some(InstalledFile { sha256: left, kind: InstalledFileKind::Hooks { is_new, inserted, made }, .. }) = known
    else {
        return Ok((merge::remove(there, &assume_made(hooks), ours)?, false));
    };
    let untouched = (*left == sha256_hex(there) && !inserted.is_empty()).then(|| merge::undo(there, inserted));
    match untouched.flatten() {
        Some(before) => Ok((before, *is_new)),
        None => Ok((merge::remove(there, made, ours)?, *is_new)),
    }
}

/// Where nobody knows what was there before us, an empty list counts as ours; the object around it may be the user's.
fn assume_made(hooks: &[Hook]) -> Made {
    Made { hooks: false, events: hooks.iter().map(|hook| hook.event.to_owned()).collect() }
}

impl FileChange {
    pub(super) fn new(path: &Path, found: FileSnapshot, after: Option<String>, outcome: FileOutcome) -> Self {
        Self { path: path.to_path_buf(), real_path: found.real_path, before: found.text, after, outcome }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: H2
    #[test]
    fn settings_with_a_missing_hook_or_invalid_json_are_not_written() {
        let program = std::env::current_exe().unwrap();
        let own = RalphExecutable::locate(Some(program)).unwrap();
        let ours = HookMatcher::new("claude", &own, None);
        let command = crate::install::hook_command::hook_command_by_path(&own, "claude");
        let hook = |event| Hook { event, entry: json!({ "hooks": [{ "type": "command", "command": command }] }) };
        let hooks = [hook("Stop"), hook("StopFailure")];
        let fit = |text: &str| ensure_hooks_readable(Path::new("/settings.json"), text, (&ours, &hooks)).is_ok();
        let whole = merge::add("// mine\n", &hooks).unwrap().text;
        assert!(fit(&whole), "{whole}");
        let half = merge::add("// mine\n", &hooks[..1]).unwrap().text;
        assert!(!fit(&half) && !fit("// mine {}") && !fit("") && !fit(&format!("{whole}}}")));
    }
}
