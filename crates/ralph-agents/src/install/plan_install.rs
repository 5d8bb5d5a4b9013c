//! Plans an installation. All files are read and all changes are computed before the first file is written.
use std::path::{Path, PathBuf};

use super::apply::{FileOutcome, InstallPlan};
use super::contents::hook_timeout::{self, HookTimeout};
use super::contents::install_part::{InstallPart, PartContent};
use super::contents::settings_file::{FileSnapshot, ensure_writable, missing_folders, snapshot_file};
use super::error::InstallError;
use super::host::HostInstaller;
use super::install_record::{InstallRecord, InstallRecordFile, InstalledFile, InstalledFileKind};
use super::install_target::{InstallScope, InstallTarget};
use super::merge::{self, CreatedMembers, Hook, MalformedSettings};
use super::ralph_executable::{HookMatcher, RalphExecutable};
use ralph_util::digest::sha256_hex;

/// One file, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// The path before links are resolved.
    pub(crate) path: PathBuf,
    pub(crate) real_path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) outcome: FileOutcome,
}

pub(crate) fn plan_install(
    host: &HostInstaller,
    target: &InstallTarget<'_>,
    own: &RalphExecutable,
    timeout: HookTimeout,
) -> Result<InstallPlan, InstallError> {
    let folder = host.settings_folder(target)?;
    let record_file = InstallRecordFile::for_host(target, host.name, &folder)?;
    let old = record_file.read()?;
    let mut record = InstallRecord::new(host.name, &folder)?;
    record.folders = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    let matcher = HookMatcher::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let default_parts = host.build_parts(target, &folder, own, hook_timeout::DEFAULT_HOOK_TIMEOUT_SECONDS);
    let existing_timeout = hook_timeout::resolve_timeout_seconds(host, &default_parts, &matcher, old.as_ref())?;
    let seconds = match timeout {
        HookTimeout::KeepExisting => existing_timeout,
        HookTimeout::Seconds(seconds) => seconds,
    };
    (record.program, record.seconds) = (Some(own.path().to_owned()), Some(seconds));
    let mut changes = Vec::new();
    for part in host.build_parts(target, &folder, own, seconds) {
        let found = snapshot_file(&part.path)?;
        ensure_inside_project(target, &part.path, &found.real_path)?;
        let known = old.as_ref().and_then(|old| old.find_file(&part.path));
        let (change, entry) = match &part.content {
            PartContent::WholeFile(text) => plan_whole_file(&part, found, text, known)?,
            PartContent::Hooks(hooks) => plan_hooks_file(&part, found, &matcher, hooks, known)?,
        };
        if change.before != change.after {
            ensure_writable(&change.real_path)?;
        }
        let missing = missing_folders(&change.real_path).into_iter();
        record.folders.extend(missing.filter(|folder| !record.folders.contains(folder)).collect::<Vec<_>>());
        record.files.push(entry);
        changes.push(change);
    }
    // Keep the entries of files that an older ralph installed elsewhere.
    let is_obsolete = |entry: &&InstalledFile| record.files.iter().all(|new| new.path != entry.path);
    let obsolete: Vec<_> = old.iter().flat_map(|old| &old.files).filter(is_obsolete).cloned().collect();
    record.files.extend(obsolete);
    Ok(InstallPlan { record_file, old_record: old, new_record: Some(record), changes, removable_folders: Vec::new() })
}

/// Refuses a path that resolves to a file outside of the project. A foreign project may contain links to files of the
/// user.
pub(crate) fn ensure_inside_project(target: &InstallTarget<'_>, path: &Path, real: &Path) -> Result<(), InstallError> {
    match &target.scope {
        InstallScope::Project(root) if !real.starts_with(root) => Err(InstallError::UnusablePath {
            path: path.to_path_buf(),
            problem: "resolves to a path outside the project",
        }),
        InstallScope::User | InstallScope::Project(_) | InstallScope::Plugin(_) => Ok(()),
    }
}

fn plan_whole_file(
    part: &InstallPart,
    found: FileSnapshot,
    text: &str,
    known: Option<&InstalledFile>,
) -> Result<(FileChange, InstalledFile), InstallError> {
    let is_ours = |current: &str| known.is_some_and(|known| known.sha256 == sha256_hex(current));
    let outcome = match &found.text {
        None => FileOutcome::Created,
        Some(current) if current == text => FileOutcome::Unchanged,
        Some(current) if is_ours(current) => FileOutcome::Updated,
        Some(_) => return Err(InstallError::NotOurs { path: part.path.clone() }),
    };
    let entry = InstalledFile { path: part.path.clone(), sha256: sha256_hex(text), kind: InstalledFileKind::Whole };
    Ok((FileChange::new(&part.path, found, Some(text.to_owned()), outcome), entry))
}

fn plan_hooks_file(
    part: &InstallPart,
    found: FileSnapshot,
    matcher: &HookMatcher<'_>,
    hooks: &[Hook],
    known: Option<&InstalledFile>,
) -> Result<(FileChange, InstalledFile), InstallError> {
    let malformed = |source| InstallError::MalformedSettings { path: part.path.clone(), source };
    let current = found.text.clone().unwrap_or_default();
    if merge::has_exactly_hooks(&current, hooks, |command| matcher.matches_command(command)).map_err(malformed)?
        && found.text.is_some()
    {
        let unknown = || InstalledFile {
            path: part.path.clone(),
            sha256: sha256_hex(&current),
            kind: InstalledFileKind::Hooks { is_new: false, inserted: Vec::new(), created: assume_created(hooks) },
        };
        let entry = known.cloned().unwrap_or_else(unknown);
        return Ok((FileChange::new(&part.path, found, Some(current), FileOutcome::Unchanged), entry));
    }
    let stripped = strip_hooks(&current, known, matcher, hooks).map_err(malformed)?;
    let merged = merge::add_hooks(&stripped.text, hooks).map_err(malformed)?;
    ensure_hooks_readable(&part.path, &merged.text, matcher, hooks)?;
    let is_new = found.text.is_none() || stripped.was_created_by_us;
    let kind = InstalledFileKind::Hooks { is_new, inserted: merged.inserted, created: merged.created };
    let entry = InstalledFile { path: part.path.clone(), sha256: sha256_hex(&merged.text), kind };
    let outcome = if found.text.is_none() { FileOutcome::Created } else { FileOutcome::Updated };
    Ok((FileChange::new(&part.path, found, Some(merged.text), outcome), entry))
}

/// Parses the text that would be written, and fails if it is malformed or a hook is missing.
fn ensure_hooks_readable(
    path: &Path,
    text: &str,
    matcher: &HookMatcher<'_>,
    hooks: &[Hook],
) -> Result<(), InstallError> {
    match merge::has_exactly_hooks(text, hooks, |command| matcher.matches_command(command)) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => {
            let problem = "has a structure to which ralph cannot add its hooks: please report this";
            Err(InstallError::UnusablePath { path: path.to_path_buf(), problem })
        }
    }
}

/// Settings without ralph's hooks.
pub(crate) struct StrippedSettings {
    pub(crate) text: String,
    /// Whether ralph created the file.
    pub(crate) was_created_by_us: bool,
}

/// Removes ralph's hooks from settings. If the file is unchanged since the installation, its original text is restored.
pub(crate) fn strip_hooks(
    current: &str,
    known: Option<&InstalledFile>,
    matcher: &HookMatcher<'_>,
    hooks: &[Hook],
) -> Result<StrippedSettings, MalformedSettings> {
    let matcher = |command: &str| matcher.matches_command(command);
    let Some(InstalledFile { sha256: recorded, kind: InstalledFileKind::Hooks { is_new, inserted, created }, .. }) =
        known
    else {
        let text = merge::remove_hooks(current, &assume_created(hooks), matcher)?;
        return Ok(StrippedSettings { text, was_created_by_us: false });
    };
    let original =
        (*recorded == sha256_hex(current) && !inserted.is_empty()).then(|| merge::undo_insertions(current, inserted));
    let text = match original.flatten() {
        Some(original) => original,
        None => merge::remove_hooks(current, created, matcher)?,
    };
    Ok(StrippedSettings { text, was_created_by_us: *is_new })
}

/// Without a record, an empty list of hooks is assumed to be created by ralph, but not the object that contains it.
fn assume_created(hooks: &[Hook]) -> CreatedMembers {
    CreatedMembers { hooks: false, events: hooks.iter().map(|hook| hook.event.to_owned()).collect() }
}

impl FileChange {
    pub(crate) fn new(path: &Path, found: FileSnapshot, after: Option<String>, outcome: FileOutcome) -> Self {
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
        let matcher = HookMatcher::new("claude", &own, None);
        let command = crate::install::contents::hook_command::hook_command_by_path(&own, "claude");
        let hook = |event| Hook { event, entry: json!({ "hooks": [{ "type": "command", "command": command }] }) };
        let hooks = [hook("Stop"), hook("StopFailure")];
        let is_accepted =
            |text: &str| ensure_hooks_readable(Path::new("/settings.json"), text, &matcher, &hooks).is_ok();
        let whole = merge::add_hooks("// mine\n", &hooks).unwrap().text;
        assert!(is_accepted(&whole), "{whole}");
        let half = merge::add_hooks("// mine\n", &hooks[..1]).unwrap().text;
        assert!(
            !is_accepted(&half)
                && !is_accepted("// mine {}")
                && !is_accepted("")
                && !is_accepted(&format!("{whole}}}"))
        );
    }
}
