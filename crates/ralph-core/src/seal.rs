//! What must not change between the start of a run and a claim: the acceptance is written before the work, and whoever
//! does the work does not write it.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, EvidenceKind, Verdict};

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
    pub git: Vec<SealedGitSetting>,
    /// What would be sealed, had nobody allowed that it changes.
    #[serde(default, skip_serializing_if = "AllowedChanges::is_empty")]
    pub allowed: AllowedChanges,
    /// Files that were changed or new and not committed then, where only commits are checked: nobody asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// What people should know of this acceptance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What may change, as it was when the run started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedChanges {
    /// None where they are more than [`Self::MOST`]: nobody would read which of them have changed.
    pub files: Vec<SealedFile>,
    #[serde(default)]
    pub too_many: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<SealedGitSetting>,
}

impl AllowedChanges {
    pub const MAX_FILES: usize = 1_000;

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.git.is_empty() && !self.too_many
    }

    /// Returns what has changed since, one sentence each.
    #[must_use]
    pub fn describe_changes(&self, now: &Self) -> Vec<String> {
        let mut changes = match self.too_many || now.too_many {
            true => {
                [format!("more than {} files may change, and which of them did is not told", Self::MAX_FILES)].into()
            }
            false => describe_file_changes(&self.files, &now.files),
        };
        changes.extend(describe_setting_changes(&self.git, &now.git));
        changes
    }
}

/// A sealed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFile {
    /// From the root of the work tree; absolute where it lies elsewhere.
    pub path: String,
    #[serde(rename = "is")]
    pub kind: SealedFileKind,
    /// Of its contents; of a link, of where it leads and what is there.
    pub sha256: String,
}

/// A sealed setting of git's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedGitSetting {
    pub name: String,
    /// Of its value.
    pub sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SealedFileKind {
    File,
    Executable,
    Link,
    /// A pipe, a device, a folder where a file was.
    Other,
}

/// What came of the attempt to seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sealing", rename_all = "snake_case")]
pub enum SealingResult {
    Done { seal: Seal },
    Impossible { why: String },
}

/// Returns what is not as it was sealed, one sentence for each file.
#[must_use]
pub fn describe_file_changes(sealed: &[SealedFile], now: &[SealedFile]) -> Vec<String> {
    let by_path = |files: &[SealedFile]| -> BTreeMap<String, SealedFile> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, after) = (by_path(sealed), by_path(now));
    let lost_or_changed = before.iter().filter_map(|(path, was)| match after.get(path) {
        None => Some(format!("{path} was removed")),
        Some(is) => describe_difference(was, is),
    });
    let added = after.keys().filter(|path| !before.contains_key(*path));
    lost_or_changed.chain(added.map(|path| format!("{path} was added"))).collect()
}

/// Returns which settings of git's are not as they were sealed, one sentence for each.
#[must_use]
pub fn describe_setting_changes(sealed: &[SealedGitSetting], now: &[SealedGitSetting]) -> Vec<String> {
    let value = |among: &[SealedGitSetting], name: &str| {
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

fn describe_difference(was: &SealedFile, is: &SealedFile) -> Option<String> {
    let path = &was.path;
    match (was.kind, is.kind) {
        (SealedFileKind::File, SealedFileKind::Executable) => Some(format!("{path} was made executable")),
        (SealedFileKind::Executable, SealedFileKind::File) => Some(format!("{path} is not executable any more")),
        (SealedFileKind::File | SealedFileKind::Executable | SealedFileKind::Other, SealedFileKind::Link) => {
            Some(format!("{path} was replaced by a link"))
        }
        (was_kind, is_kind) if was_kind != is_kind => Some(format!("{path} was replaced")),
        (_, _) if was.sha256 != is.sha256 => Some(format!("{path} was changed")),
        (_, _) => None,
    }
}

/// How many files a reason names; the evidence holds the rest.
const MAX_LISTED_CHANGES: usize = 10;

/// Returns what the seal says about a claim.
#[must_use]
pub fn seal_evidence(changes: &[String]) -> CheckEvidence {
    let changed = |named: &str| {
        format!("what decides whether the work is done was changed by the work: {named}; put it back as it was")
    };
    build_seal_evidence(changes, changed)
}

/// Returns what the seal says after a check has run: the work's own code ran in it.
#[must_use]
pub fn seal_evidence_after_check(changes: &[String]) -> CheckEvidence {
    let changed = |named: &str| {
        format!(
            "what decides whether the work is done was changed while the checks ran: {named}; put it back as it was, and let the \
             work leave it alone (what a check itself writes is left out of a guard by `!` before its name)"
        )
    };
    build_seal_evidence(changes, changed)
}

/// Returns what the seal says of changes that are allowed; nothing where there are none.
#[must_use]
pub fn allowed_changes_evidence(changes: &[String]) -> Option<CheckEvidence> {
    let reason = format!("Changed by the work, as it may be (allow_changes): {}", list_changes(changes));
    let evidence = CheckEvidence::without_output(EvidenceKind::Seal, "the seal".into(), Verdict::Accepted, reason);
    (!changes.is_empty()).then(|| CheckEvidence { tail: changes.join("\n"), ..evidence })
}

fn build_seal_evidence(changes: &[String], describe_rejection: impl Fn(&str) -> String) -> CheckEvidence {
    let seal = |verdict, reason| CheckEvidence::without_output(EvidenceKind::Seal, "the seal".into(), verdict, reason);
    if changes.is_empty() {
        return seal(Verdict::Accepted, "Nothing that was sealed has changed".into());
    }
    CheckEvidence { tail: changes.join("\n"), ..seal(Verdict::Rejected, describe_rejection(&list_changes(changes))) }
}

fn list_changes(changes: &[String]) -> String {
    let first: Vec<&str> = changes.iter().take(MAX_LISTED_CHANGES).map(String::as_str).collect();
    match changes.len().saturating_sub(MAX_LISTED_CHANGES) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

/// Returns what people should know if the checks change what is sealed by themselves, before any work.
#[must_use]
pub fn describe_changes_by_checks(before: &[SealedFile], after: &[SealedFile]) -> Option<String> {
    let changes = describe_file_changes(before, after);
    (!changes.is_empty()).then(|| {
        format!(
            "the checks themselves change what must not change: {}; leave it out of the guard by `!` before its name, or claims will be \
             rejected",
            list_changes(&changes)
        )
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn sealed_file(path: &str, kind: SealedFileKind, sha256: &str) -> SealedFile {
        SealedFile { path: path.to_string(), kind, sha256: sha256.to_string() }
    }

    // spec: V9
    #[test]
    fn an_unchanged_seal_is_accepted() {
        let sealed = [sealed_file("b", SealedFileKind::Executable, "1"), sealed_file("a", SealedFileKind::Link, "2")];
        let now = [sealed[1].clone(), sealed[0].clone()];
        assert_eq!(describe_file_changes(&sealed, &now), Vec::<String>::new());
        assert_eq!(seal_evidence(&[]).verdict, Verdict::Accepted);
    }

    // spec: V9
    // fault: 76
    #[test]
    fn every_kind_of_change_is_named_with_its_file() {
        use SealedFileKind::{Executable, File, Link, Other};
        let sealed = [
            sealed_file("contents", File, "1"),
            sealed_file("gone", File, "1"),
            sealed_file("linked", File, "1"),
            sealed_file("made", Link, "1"),
            sealed_file("mode", Executable, "1"),
            sealed_file("runs", File, "1"),
        ];
        let now = [
            sealed_file("contents", File, "2"),
            sealed_file("linked", Link, "1"),
            sealed_file("made", Other, "1"),
            sealed_file("mode", File, "1"),
            sealed_file("new", File, "1"),
            sealed_file("runs", Executable, "1"),
        ];
        assert_eq!(
            describe_file_changes(&sealed, &now),
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
            |name: &str, sha256: &str| SealedGitSetting { name: name.to_string(), sha256: sha256.to_string() };
        let sealed = [setting("filter.a.clean", "1"), setting("filter.b.clean", "1"), setting("same", "1")];
        let now = [setting("core.worktree", "1"), setting("filter.a.clean", "2"), setting("same", "1")];
        assert_eq!(
            describe_setting_changes(&sealed, &now),
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
        let evidence = seal_evidence(&many);
        assert_eq!((evidence.method, evidence.verdict), (EvidenceKind::Seal, Verdict::Rejected));
        assert!(evidence.reason.contains("test-9 was changed, and 2 more"), "{}", evidence.reason);
        assert!(evidence.tail.contains("test-11 was changed"));
    }

    // spec: V9
    #[test]
    fn allowed_changes_are_reported_and_accepted() {
        let setting = |sha256: &str| SealedGitSetting { name: "core.x".to_string(), sha256: sha256.to_string() };
        let was = AllowedChanges {
            files: [sealed_file("verify.sh", SealedFileKind::File, "1")].into(),
            too_many: false,
            git: [setting("1")].into(),
        };
        let now = AllowedChanges {
            files: [
                sealed_file("verify.sh", SealedFileKind::File, "2"),
                sealed_file("tests/new", SealedFileKind::File, "1"),
            ]
            .into(),
            too_many: false,
            git: [setting("2")].into(),
        };
        assert_eq!(allowed_changes_evidence(&was.describe_changes(&was)), None);
        let told = allowed_changes_evidence(&was.describe_changes(&now)).unwrap();
        assert_eq!((told.method, told.verdict), (EvidenceKind::Seal, Verdict::Accepted));
        assert_eq!(
            told.reason,
            "Changed by the work, as it may be (allow_changes): verify.sh was changed, tests/new was added, the git \
             setting core.x was changed"
        );
        assert_eq!(told.tail.lines().count(), 3);
        let full = AllowedChanges { too_many: true, ..AllowedChanges::default() };
        assert_eq!(
            full.describe_changes(&AllowedChanges { git: Vec::new(), ..now }),
            ["more than 1000 files may change, and which of them did is not told"]
        );
    }

    // spec: V9
    #[test]
    fn files_that_checks_write_themselves_are_reported_before_any_work() {
        let before = [sealed_file("tests/a", SealedFileKind::File, "1")];
        let after = [before[0].clone(), sealed_file("tests/report", SealedFileKind::File, "1")];
        assert_eq!(describe_changes_by_checks(&before, &before), None);
        assert!(
            describe_changes_by_checks(&before, &after).is_some_and(|note| note.contains("tests/report was added"))
        );
        assert_eq!(seal_evidence_after_check(&[]).verdict, Verdict::Accepted);
        let seen = seal_evidence_after_check(&["verify.sh was changed".to_string()]);
        assert!(seen.verdict == Verdict::Rejected && seen.reason.contains("while the checks ran: verify.sh"));
    }
}
