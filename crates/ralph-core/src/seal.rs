//! What must not change between the start of a run and a claim: the acceptance is written before the work, and whoever
//! does the work does not write it.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Kind, Verdict};

/// How a run's acceptance looked when it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The SHA-256 over all that is sealed.
    pub digest: String,
    /// The SHA-256 of the criteria, as they were resolved.
    pub criteria_digest: String,
    /// The commit from which the run started, where there is one.
    pub base: Option<String>,
    pub files: Vec<SealedFile>,
    /// What the repository's settings say about the programs that git starts, and the files that it looks at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<SealedSetting>,
    /// What would be sealed, had nobody allowed that it changes.
    #[serde(default, skip_serializing_if = "Allowed::is_empty")]
    pub allowed: Allowed,
    /// Files that were changed or new and not committed then, where only commits are checked: nobody asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// What people should know of this acceptance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What may change, as it was when the run started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// None where they are more than [`Self::MOST`]: nobody would read which of them have changed.
    pub files: Vec<SealedFile>,
    #[serde(default)]
    pub too_many: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<SealedSetting>,
}

impl Allowed {
    pub const MOST: usize = 1_000;

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.git.is_empty() && !self.too_many
    }

    /// Returns what has changed since, one sentence each.
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = match self.too_many || now.too_many {
            true => [format!("more than {} files may change, and which of them did is not told", Self::MOST)]
                .into(),
            false => changes(&self.files, &now.files),
        };
        changes.extend(setting_changes(&self.git, &now.git));
        changes
    }
}

/// A sealed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFile {
    /// From the root of the work tree; absolute where it lies elsewhere.
    pub path: String,
    #[serde(rename = "is")]
    pub kind: FileKind,
    /// Of its contents; of a link, of where it leads and what is there.
    pub sha256: String,
}

/// A sealed setting of git's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSetting {
    pub name: String,
    /// Of its value.
    pub sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Executable,
    Link,
    /// A pipe, a device, a folder where a file was.
    Other,
}

/// What came of the attempt to seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sealing", rename_all = "snake_case")]
pub enum Sealing {
    Done { seal: Seal },
    Impossible { why: String },
}

/// Returns what is not as it was sealed, one sentence for each file.
#[must_use]
pub fn changes(sealed: &[SealedFile], now: &[SealedFile]) -> Vec<String> {
    let by_path = |files: &[SealedFile]| -> BTreeMap<String, SealedFile> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, after) = (by_path(sealed), by_path(now));
    let lost_or_changed = before.iter().filter_map(|(path, was)| match after.get(path) {
        None => Some(format!("{path} was removed")),
        Some(is) => difference(was, is),
    });
    let added = after.keys().filter(|path| !before.contains_key(*path));
    lost_or_changed.chain(added.map(|path| format!("{path} was added"))).collect()
}

/// Returns which settings of git's are not as they were sealed, one sentence for each.
#[must_use]
pub fn setting_changes(sealed: &[SealedSetting], now: &[SealedSetting]) -> Vec<String> {
    let value = |among: &[SealedSetting], name: &str| {
        among.iter().find(|setting| setting.name == name).map(|setting| setting.sha256.clone())
    };
    let lost_or_changed = sealed.iter().filter_map(|was| match value(now, &was.name) {
        None => Some(format!("the git setting {} was removed", was.name)),
        Some(sha256) if sha256 != was.sha256 => Some(format!("the git setting {} was changed", was.name)),
        Some(_) => None,
    });
    let added = now.iter().filter(|is| value(sealed, &is.name).is_none());
    lost_or_changed.chain(added.map(|is| format!("the git setting {} was added", is.name))).collect()
}

fn difference(was: &SealedFile, is: &SealedFile) -> Option<String> {
    let path = &was.path;
    match (was.kind, is.kind) {
        (FileKind::File, FileKind::Executable) => Some(format!("{path} was made executable")),
        (FileKind::Executable, FileKind::File) => Some(format!("{path} is not executable any more")),
        (FileKind::File | FileKind::Executable | FileKind::Other, FileKind::Link) => {
            Some(format!("{path} was replaced by a link"))
        }
        (was_kind, is_kind) if was_kind != is_kind => Some(format!("{path} was replaced")),
        (_, _) if was.sha256 != is.sha256 => Some(format!("{path} was changed")),
        (_, _) => None,
    }
}

/// How many files a reason names; the evidence holds the rest.
const NAMED: usize = 10;

/// Returns what the seal says about a claim.
#[must_use]
pub fn judge(changes: &[String]) -> CheckEvidence {
    let changed = |named: &str| {
        format!(
            "what decides whether the work is done was changed by the work: {named}; put it back as it was"
        )
    };
    say(changes, changed)
}

/// Returns what the seal says after a check has run: the work's own code ran in it.
#[must_use]
pub fn judge_meanwhile(changes: &[String]) -> CheckEvidence {
    let changed = |named: &str| {
        format!(
            "what decides whether the work is done was changed while the checks ran: {named}; put it back as it was, and let the \
             work leave it alone (what a check itself writes is left out of a guard by `!` before its name)"
        )
    };
    say(changes, changed)
}

/// Returns what the seal says of changes that are allowed; nothing where there are none.
#[must_use]
pub fn tell_allowed(changes: &[String]) -> Option<CheckEvidence> {
    let reason = format!("Changed by the work, as it may be (allow_changes): {}", named(changes));
    let evidence = CheckEvidence::plain(Kind::Seal, "the seal".into(), Verdict::Accepted, reason);
    (!changes.is_empty()).then(|| CheckEvidence { tail: changes.join("\n"), ..evidence })
}

fn say(changes: &[String], changed: impl Fn(&str) -> String) -> CheckEvidence {
    let seal = |verdict, reason| CheckEvidence::plain(Kind::Seal, "the seal".into(), verdict, reason);
    if changes.is_empty() {
        return seal(Verdict::Accepted, "Nothing that was sealed has changed".into());
    }
    CheckEvidence { tail: changes.join("\n"), ..seal(Verdict::Rejected, changed(&named(changes))) }
}

fn named(changes: &[String]) -> String {
    let first: Vec<&str> = changes.iter().take(NAMED).map(String::as_str).collect();
    match changes.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

/// Returns what people should know if the checks change what is sealed by themselves, before any work.
#[must_use]
pub fn written_by_checks(before: &[SealedFile], after: &[SealedFile]) -> Option<String> {
    let changes = changes(before, after);
    (!changes.is_empty()).then(|| {
        format!(
            "the checks themselves change what must not change: {}; leave it out of the guard by `!` before its name, or claims will be \
             rejected",
            named(&changes)
        )
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn file(path: &str, kind: FileKind, sha256: &str) -> SealedFile {
        SealedFile { path: path.to_string(), kind, sha256: sha256.to_string() }
    }

    // spec: V9
    #[test]
    fn what_stays_as_it_was_is_accepted() {
        let sealed = [file("b", FileKind::Executable, "1"), file("a", FileKind::Link, "2")];
        let now = [sealed[1].clone(), sealed[0].clone()];
        assert_eq!(changes(&sealed, &now), Vec::<String>::new());
        assert_eq!(judge(&[]).verdict, Verdict::Accepted);
    }

    // spec: V9
    // fault: 76
    #[test]
    fn every_kind_of_change_is_named_with_its_file() {
        use FileKind::{Executable, File, Link, Other};
        let sealed = [
            file("contents", File, "1"),
            file("gone", File, "1"),
            file("linked", File, "1"),
            file("made", Link, "1"),
            file("mode", Executable, "1"),
            file("runs", File, "1"),
        ];
        let now = [
            file("contents", File, "2"),
            file("linked", Link, "1"),
            file("made", Other, "1"),
            file("mode", File, "1"),
            file("new", File, "1"),
            file("runs", Executable, "1"),
        ];
        assert_eq!(
            changes(&sealed, &now),
            [
                "contents was changed",
                "gone was removed",
                "linked was replaced by a link",
                "made was replaced",
                "mode is not executable any more",
                "runs was made executable",
                "new was added",
            ]
        );
    }

    // spec: V9
    #[test]
    fn settings_with_which_git_would_start_programs_are_named_too() {
        let setting =
            |name: &str, sha256: &str| SealedSetting { name: name.to_string(), sha256: sha256.to_string() };
        let sealed = [setting("filter.a.clean", "1"), setting("filter.b.clean", "1"), setting("same", "1")];
        let now = [setting("core.worktree", "1"), setting("filter.a.clean", "2"), setting("same", "1")];
        assert_eq!(
            setting_changes(&sealed, &now),
            [
                "the git setting filter.a.clean was changed",
                "the git setting filter.b.clean was removed",
                "the git setting core.worktree was added",
            ]
        );
    }

    // spec: V9
    #[test]
    fn a_change_rejects_with_the_names_of_the_files() {
        let many: Vec<String> = (0..12).map(|number| format!("test-{number} was changed")).collect();
        let evidence = judge(&many);
        assert_eq!((evidence.method, evidence.verdict), (Kind::Seal, Verdict::Rejected));
        assert!(evidence.reason.contains("test-9 was changed, and 2 more"), "{}", evidence.reason);
        assert!(evidence.tail.contains("test-11 was changed"));
    }

    // spec: V9
    #[test]
    fn what_may_change_and_did_is_told_and_accepted() {
        let setting = |sha256: &str| SealedSetting { name: "core.x".to_string(), sha256: sha256.to_string() };
        let was = Allowed {
            files: [file("verify.sh", FileKind::File, "1")].into(),
            too_many: false,
            git: [setting("1")].into(),
        };
        let now = Allowed {
            files: [file("verify.sh", FileKind::File, "2"), file("tests/new", FileKind::File, "1")].into(),
            too_many: false,
            git: [setting("2")].into(),
        };
        assert_eq!(tell_allowed(&was.changes(&was)), None);
        let told = tell_allowed(&was.changes(&now)).unwrap();
        assert_eq!((told.method, told.verdict), (Kind::Seal, Verdict::Accepted));
        assert_eq!(
            told.reason,
            "Changed by the work, as it may be (allow_changes): verify.sh was changed, tests/new was added, the git \
             setting core.x was changed"
        );
        assert_eq!(told.tail.lines().count(), 3);
        let full = Allowed { too_many: true, ..Allowed::default() };
        assert_eq!(
            full.changes(&Allowed { git: Vec::new(), ..now }),
            ["more than 1000 files may change, and which of them did is not told"]
        );
    }

    // spec: V9
    #[test]
    fn what_checks_write_by_themselves_is_told_before_any_work() {
        let before = [file("tests/a", FileKind::File, "1")];
        let after = [before[0].clone(), file("tests/report", FileKind::File, "1")];
        assert_eq!(written_by_checks(&before, &before), None);
        assert!(
            written_by_checks(&before, &after).is_some_and(|note| note.contains("tests/report was added"))
        );
        assert_eq!(judge_meanwhile(&[]).verdict, Verdict::Accepted);
        let seen = judge_meanwhile(&["verify.sh was changed".to_string()]);
        assert!(seen.verdict == Verdict::Rejected && seen.reason.contains("while the checks ran: verify.sh"));
    }
}
