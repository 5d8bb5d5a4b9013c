//! What uninstalling changes: what install did is undone, and nothing else.
use super::apply::{Apply, Done};
use super::change::{Change, within, without};
use super::error::InstallError;
use super::file::{Found, look, may_write};
use super::host::Host;
use super::merge::Hook;
use super::own::{Ours, Own};
use super::part::{Content, Part};
use super::patience;
use super::place::Place;
use super::record::{Entry, EntryKind, Shelf};
use ralph_util::digest::sha256;

pub(super) fn take_out(host: &Host, place: &Place<'_>, own: &Own) -> Result<Apply, InstallError> {
    let folder = host.folder(place)?;
    let shelf = Shelf::of(place, host.name, &folder)?;
    let old = shelf.read()?;
    let ours = Ours::new(host.name, own, old.as_ref().and_then(|old| old.program.as_deref()));
    let seconds = old.as_ref().and_then(|old| old.seconds).unwrap_or(patience::USUAL);
    let parts = host.parts(place, &folder, (own, seconds));
    let known = |part: &Part| old.as_ref().and_then(|old| old.entry(&part.path));
    let mut changes = Vec::new();
    for part in &parts {
        let found = look(&part.path)?;
        within(place, &part.path, &found.real)?;
        changes.push(match &part.content {
            Content::Whole(text) => whole(part, found, (text, known(part))),
            Content::Hooks(hooks) => hooked(part, found, (&ours, hooks, known(part)))?,
        });
    }
    // Files of an older ralph, which this one would not write.
    let is_old = |entry: &&Entry| parts.iter().all(|part| part.path != entry.path);
    for entry in old.iter().flat_map(|old| &old.files).filter(is_old) {
        let part = Part::whole(entry.path.clone(), String::new());
        match entry.kind {
            EntryKind::Whole => changes.push(whole(&part, look(&entry.path)?, (&String::new(), Some(entry)))),
            EntryKind::Hooks { .. } => {
                changes.push(hooked(&part, look(&entry.path)?, (&ours, &[], Some(entry)))?);
            }
        }
    }
    changes.retain(|change| change.before.is_some() && change.done != Done::Kept);
    changes
        .iter()
        .filter(|change| change.before != change.after)
        .try_for_each(|change| may_write(&change.real))?;
    let emptied = old.as_ref().map(|old| old.folders.clone()).unwrap_or_default();
    Ok(Apply { shelf, old, new: None, changes, emptied })
}

fn whole(part: &Part, found: Found, (text, known): (&String, Option<&Entry>)) -> Change {
    let is_ours = |there: &String| there == text || known.is_some_and(|known| known.sha256 == sha256(there));
    match found.text.clone() {
        Some(there) if is_ours(&there) => Change::new(&part.path, found, None, Done::Removed),
        there => Change::new(&part.path, found, there, Done::Foreign),
    }
}

fn hooked(
    part: &Part,
    found: Found,
    (ours, hooks, known): (&Ours<'_>, &[Hook], Option<&Entry>),
) -> Result<Change, InstallError> {
    let there = found.text.clone().unwrap_or_default();
    let malformed = |source| InstallError::Settings { path: part.path.clone(), source };
    let (clean, was_new) = without(&there, known, (ours, hooks)).map_err(malformed)?;
    Ok(if was_new && is_empty(&clean) {
        Change::new(&part.path, found, None, Done::Removed)
    } else if clean == there {
        Change::new(&part.path, found, Some(there), Done::Kept)
    } else {
        Change::new(&part.path, found, Some(clean), Done::Restored)
    })
}

/// Tells whether nothing is left of a file that we made.
fn is_empty(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    bare.is_empty() || bare == "{}"
}
