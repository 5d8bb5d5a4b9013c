//! What installing changes: everything is read and thought out before the first file is touched.
use std::path::{Path, PathBuf};

use super::apply::{Apply, Done};
use super::error::InstallError;
use super::file::{Found, look, may_write, missing_folders};
use super::host::Host;
use super::merge::{self, Hook, Made, Malformed};
use super::own::{Ours, Own};
use super::part::{Content, Part};
use super::patience::{self, Patience};
use super::place::{Place, Scope};
use super::record::{Entry, EntryKind, Record, Shelf};
use ralph_util::digest::sha256;

/// One file, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// As the user knows it.
    pub(super) path: PathBuf,
    pub(super) real: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) done: Done,
}

pub(super) fn put_in(
    host: &Host,
    place: &Place<'_>,
    own: &Own,
    patience: Patience,
) -> Result<Apply, InstallError> {
    let folder = host.folder(place)?;
    let shelf = Shelf::of(place, host.name, &folder)?;
    let old = shelf.read()?;
    let mut record = Record::new(host.name, &folder)?;
    record.folders = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    let ours = Ours::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let usual = host.parts(place, &folder, (own, patience::USUAL));
    let standing = patience::seconds((host, &usual), &ours, old.as_ref())?;
    let seconds = match patience {
        Patience::Kept => standing,
        Patience::Seconds(seconds) => seconds,
    };
    (record.program, record.seconds) = (Some(own.path().to_owned()), Some(seconds));
    let mut changes = Vec::new();
    for part in host.parts(place, &folder, (own, seconds)) {
        let found = look(&part.path)?;
        within(place, &part.path, &found.real)?;
        let known = old.as_ref().and_then(|old| old.entry(&part.path));
        let (change, entry) = match &part.content {
            Content::Whole(text) => whole(&part, found, (text, known))?,
            Content::Hooks(hooks) => hooked(&part, found, (&ours, hooks, known))?,
        };
        if change.before != change.after {
            may_write(&change.real)?;
        }
        let missing = missing_folders(&change.real).into_iter();
        record.folders.extend(missing.filter(|folder| !record.folders.contains(folder)).collect::<Vec<_>>());
        record.files.push(entry);
        changes.push(change);
    }
    // What an older ralph had put elsewhere stays known.
    let is_new = |entry: &&Entry| record.files.iter().all(|new| new.path != entry.path);
    let left: Vec<_> = old.iter().flat_map(|old| &old.files).filter(is_new).cloned().collect();
    record.files.extend(left);
    Ok(Apply { shelf, old, new: Some(record), changes, emptied: Vec::new() })
}

/// A project that comes from somebody else may have links in it that lead to the user's own files.
pub(super) fn within(place: &Place<'_>, path: &Path, real: &Path) -> Result<(), InstallError> {
    match &place.scope {
        Scope::Project(root) if !real.starts_with(root) => {
            Err(InstallError::Unfit { path: path.to_path_buf(), what: "leads out of the project" })
        }
        Scope::User | Scope::Project(_) | Scope::Plugin(_) => Ok(()),
    }
}

fn whole(
    part: &Part,
    found: Found,
    (text, known): (&String, Option<&Entry>),
) -> Result<(Change, Entry), InstallError> {
    let is_ours = |there: &String| there == text || known.is_some_and(|known| known.sha256 == sha256(there));
    let done = match &found.text {
        None => Done::Wrote,
        Some(there) if there == text => Done::Kept,
        Some(there) if is_ours(there) => Done::Changed,
        Some(_) => return Err(InstallError::Foreign { path: part.path.clone() }),
    };
    let entry = Entry { path: part.path.clone(), sha256: sha256(text), kind: EntryKind::Whole };
    Ok((Change::new(&part.path, found, Some(text.clone()), done), entry))
}

fn hooked(
    part: &Part,
    found: Found,
    (ours, hooks, known): (&Ours<'_>, &[Hook], Option<&Entry>),
) -> Result<(Change, Entry), InstallError> {
    let malformed = |source| InstallError::Settings { path: part.path.clone(), source };
    let there = found.text.clone().unwrap_or_default();
    if merge::has(&there, hooks, |command| ours.is(command)).map_err(malformed)? && found.text.is_some() {
        let unknown = || Entry {
            path: part.path.clone(),
            sha256: sha256(&there),
            kind: EntryKind::Hooks { is_new: false, inserted: Vec::new(), made: made_by(hooks) },
        };
        let entry = known.cloned().unwrap_or_else(unknown);
        return Ok((Change::new(&part.path, found, Some(there), Done::Kept), entry));
    }
    let (clean, was_new) = without(&there, known, (ours, hooks)).map_err(malformed)?;
    let merged = merge::add(&clean, hooks).map_err(malformed)?;
    whole_again(&part.path, &merged.text, (ours, hooks))?;
    let is_new = found.text.is_none() || was_new;
    let kind = EntryKind::Hooks { is_new, inserted: merged.inserted, made: merged.made };
    let entry = Entry { path: part.path.clone(), sha256: sha256(&merged.text), kind };
    let done = if found.text.is_none() { Done::Wrote } else { Done::Changed };
    Ok((Change::new(&part.path, found, Some(merged.text), done), entry))
}

/// Reads what would be written, and refuses it where a hook is missing or nobody could read it.
fn whole_again(path: &Path, text: &str, (ours, hooks): (&Ours<'_>, &[Hook])) -> Result<(), InstallError> {
    match merge::has(text, hooks, |command| ours.is(command)) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => {
            let what = "has a shape into which ralph cannot put its hooks: please report that";
            Err(InstallError::Unfit { path: path.to_path_buf(), what })
        }
    }
}

/// Returns settings without our hooks: as they were before where nobody has edited them since, else without what is ours.
/// Tells also whether there was no file before.
pub(super) fn without(
    there: &str,
    known: Option<&Entry>,
    (ours, hooks): (&Ours<'_>, &[Hook]),
) -> Result<(String, bool), Malformed> {
    let ours = |command: &str| ours.is(command);
    let Some(Entry { sha256: left, kind: EntryKind::Hooks { is_new, inserted, made }, .. }) = known else {
        return Ok((merge::remove(there, &made_by(hooks), ours)?, false));
    };
    let untouched = (*left == sha256(there) && !inserted.is_empty()).then(|| merge::undo(there, inserted));
    match untouched.flatten() {
        Some(before) => Ok((before, *is_new)),
        None => Ok((merge::remove(there, made, ours)?, *is_new)),
    }
}

/// Where nobody knows what was there before us, an empty list counts as ours; the object around it may be the user's.
fn made_by(hooks: &[Hook]) -> Made {
    Made { hooks: false, events: hooks.iter().map(|hook| hook.event.to_owned()).collect() }
}

impl Change {
    pub(super) fn new(path: &Path, found: Found, after: Option<String>, done: Done) -> Self {
        Self { path: path.to_path_buf(), real: found.real, before: found.text, after, done }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: H2
    #[test]
    fn settings_in_which_a_hook_would_be_missing_or_that_nobody_could_read_are_not_written() {
        let program = std::env::current_exe().unwrap();
        let own = Own::find(Some(program)).unwrap();
        let ours = Ours::new("claude", &own, None);
        let command = crate::install::call::by_path(&own, "claude");
        let hook =
            |event| Hook { event, entry: json!({ "hooks": [{ "type": "command", "command": command }] }) };
        let hooks = [hook("Stop"), hook("StopFailure")];
        let fit = |text: &str| whole_again(Path::new("/settings.json"), text, (&ours, &hooks)).is_ok();
        let whole = merge::add("// mine\n", &hooks).unwrap().text;
        assert!(fit(&whole), "{whole}");
        let half = merge::add("// mine\n", &hooks[..1]).unwrap().text;
        assert!(!fit(&half) && !fit("// mine {}") && !fit("") && !fit(&format!("{whole}}}")));
    }
}
