//! Plans an uninstallation, which reverts exactly the changes of the installation.
use super::apply::{FileOutcome, InstallPlan};
use super::contents::hook_timeout;
use super::contents::install_part::{InstallPart, PartContent};
use super::contents::settings_file::{FileSnapshot, ensure_writable, snapshot_file};
use super::error::InstallError;
use super::host::HostInstaller;
use super::install_record::{InstallRecordFile, InstalledFile, InstalledFileKind};
use super::install_target::InstallTarget;
use super::merge::Hook;
use super::plan_install::{FileChange, ensure_inside_project, strip_hooks};
use super::ralph_executable::{HookMatcher, RalphExecutable};
use ralph_util::digest::sha256_hex;

pub(crate) fn plan_uninstall(
    host: &HostInstaller,
    target: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Result<InstallPlan, InstallError> {
    let folder = host.settings_folder(target)?;
    let record_file = InstallRecordFile::for_host(target, host.name, &folder)?;
    let old = record_file.read()?;
    let matcher = HookMatcher::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let seconds = old.as_ref().and_then(|old| old.seconds).unwrap_or(hook_timeout::DEFAULT_HOOK_TIMEOUT_SECONDS);
    let parts = host.build_parts(target, &folder, own, seconds);
    let known = |part: &InstallPart| old.as_ref().and_then(|old| old.find_file(&part.path));
    let mut changes = Vec::new();
    for part in &parts {
        let found = snapshot_file(&part.path)?;
        ensure_inside_project(target, &part.path, &found.real_path)?;
        changes.push(match &part.content {
            PartContent::WholeFile(text) => plan_whole_file_removal(part, found, text, known(part)),
            PartContent::Hooks(hooks) => plan_hooks_removal(part, found, &matcher, hooks, known(part))?,
        });
    }
    // Files that an older ralph installed and this one would not.
    let is_obsolete = |entry: &&InstalledFile| parts.iter().all(|part| part.path != entry.path);
    for entry in old.iter().flat_map(|old| &old.files).filter(is_obsolete) {
        let part = InstallPart::whole_file(entry.path.clone(), String::new());
        match entry.kind {
            InstalledFileKind::Whole => {
                changes.push(plan_whole_file_removal(&part, snapshot_file(&entry.path)?, "", Some(entry)));
            }
            InstalledFileKind::Hooks { .. } => {
                changes.push(plan_hooks_removal(&part, snapshot_file(&entry.path)?, &matcher, &[], Some(entry))?);
            }
        }
    }
    changes.retain(|change| change.before.is_some() && change.outcome != FileOutcome::Unchanged);
    changes
        .iter()
        .filter(|change| change.before != change.after)
        .try_for_each(|change| ensure_writable(&change.real_path))?;
    let removable_folders = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    Ok(InstallPlan { record_file, old_record: old, new_record: None, changes, removable_folders })
}

fn plan_whole_file_removal(
    part: &InstallPart,
    found: FileSnapshot,
    text: &str,
    known: Option<&InstalledFile>,
) -> FileChange {
    let is_ours = |current: &str| current == text || known.is_some_and(|known| known.sha256 == sha256_hex(current));
    match found.text.clone() {
        Some(current) if is_ours(&current) => FileChange::new(&part.path, found, None, FileOutcome::Removed),
        current => FileChange::new(&part.path, found, current, FileOutcome::NotOurs),
    }
}

fn plan_hooks_removal(
    part: &InstallPart,
    found: FileSnapshot,
    matcher: &HookMatcher<'_>,
    hooks: &[Hook],
    known: Option<&InstalledFile>,
) -> Result<FileChange, InstallError> {
    let current = found.text.clone().unwrap_or_default();
    let malformed = |source| InstallError::MalformedSettings { path: part.path.clone(), source };
    let stripped = strip_hooks(&current, known, matcher, hooks).map_err(malformed)?;
    Ok(if stripped.was_created_by_us && is_empty_settings(&stripped.text) {
        FileChange::new(&part.path, found, None, FileOutcome::Removed)
    } else if stripped.text == current {
        FileChange::new(&part.path, found, Some(current), FileOutcome::Unchanged)
    } else {
        FileChange::new(&part.path, found, Some(stripped.text), FileOutcome::HooksRemoved)
    })
}

/// Returns whether the settings are empty apart from white space.
fn is_empty_settings(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    bare.is_empty() || bare == "{}"
}
