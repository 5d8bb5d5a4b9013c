//! What uninstalling changes: what install did is undone, and nothing else.
use super::apply::{FileOutcome, InstallPlan};
use super::error::InstallError;
use super::hook_timeout;
use super::host::HostInstaller;
use super::install_part::{InstallPart, PartContent};
use super::install_record::{InstallRecordFile, InstalledFile, InstalledFileKind};
use super::install_target::InstallTarget;
use super::merge::Hook;
use super::plan_install::{FileChange, ensure_inside_project, strip_hooks};
use super::ralph_executable::{HookMatcher, RalphExecutable};
use super::settings_file::{FileSnapshot, ensure_writable, snapshot_file};
use ralph_util::digest::sha256_hex;

pub(super) fn plan_uninstall(
    host: &HostInstaller,
    place: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Result<InstallPlan, InstallError> {
    let folder = host.settings_folder(place)?;
    let shelf = InstallRecordFile::for_host(place, host.name, &folder)?;
    let old = shelf.read()?;
    let ours = HookMatcher::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let seconds = old.as_ref().and_then(|old| old.seconds).unwrap_or(hook_timeout::DEFAULT_HOOK_TIMEOUT_SECONDS);
    let parts = host.build_parts(place, &folder, (own, seconds));
    let known = |part: &InstallPart| old.as_ref().and_then(|old| old.find_file(&part.path));
    let mut changes = Vec::new();
    for part in &parts {
        let found = snapshot_file(&part.path)?;
        ensure_inside_project(place, &part.path, &found.real_path)?;
        changes.push(match &part.content {
            PartContent::WholeFile(text) => plan_whole_file_removal(part, found, (text, known(part))),
            PartContent::Hooks(hooks) => plan_hooks_removal(part, found, (&ours, hooks, known(part)))?,
        });
    }
    // Files of an older ralph, which this one would not write.
    let is_old = |entry: &&InstalledFile| parts.iter().all(|part| part.path != entry.path);
    for entry in old.iter().flat_map(|old| &old.files).filter(is_old) {
        let part = InstallPart::whole_file(entry.path.clone(), String::new());
        match entry.kind {
            InstalledFileKind::Whole => {
                changes.push(plan_whole_file_removal(
                    &part,
                    snapshot_file(&entry.path)?,
                    (&String::new(), Some(entry)),
                ));
            }
            InstalledFileKind::Hooks { .. } => {
                changes.push(plan_hooks_removal(&part, snapshot_file(&entry.path)?, (&ours, &[], Some(entry)))?);
            }
        }
    }
    changes.retain(|change| change.before.is_some() && change.outcome != FileOutcome::Unchanged);
    changes
        .iter()
        .filter(|change| change.before != change.after)
        .try_for_each(|change| ensure_writable(&change.real_path))?;
    let emptied = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    Ok(InstallPlan { record_file: shelf, old_record: old, new_record: None, changes, removable_folders: emptied })
}

fn plan_whole_file_removal(
    part: &InstallPart,
    found: FileSnapshot,
    (text, known): (&String, Option<&InstalledFile>),
) -> FileChange {
    let is_ours = |there: &String| there == text || known.is_some_and(|known| known.sha256 == sha256_hex(there));
    match found.text.clone() {
        Some(there) if is_ours(&there) => FileChange::new(&part.path, found, None, FileOutcome::Removed),
        there => FileChange::new(&part.path, found, there, FileOutcome::NotOurs),
    }
}

fn plan_hooks_removal(
    part: &InstallPart,
    found: FileSnapshot,
    (ours, hooks, known): (&HookMatcher<'_>, &[Hook], Option<&InstalledFile>),
) -> Result<FileChange, InstallError> {
    let there = found.text.clone().unwrap_or_default();
    let malformed = |source| InstallError::MalformedSettings { path: part.path.clone(), source };
    let (clean, was_new) = strip_hooks(&there, known, (ours, hooks)).map_err(malformed)?;
    Ok(if was_new && is_empty_settings(&clean) {
        FileChange::new(&part.path, found, None, FileOutcome::Removed)
    } else if clean == there {
        FileChange::new(&part.path, found, Some(there), FileOutcome::Unchanged)
    } else {
        FileChange::new(&part.path, found, Some(clean), FileOutcome::HooksRemoved)
    })
}

/// Tells whether nothing is left of a file that we made.
fn is_empty_settings(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    bare.is_empty() || bare == "{}"
}
