//! The seal: the files and git settings that must not change between the start of a run and a claim, so that the agent
//! cannot change its own acceptance criteria.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, EvidenceKind, Verdict};
use crate::protected::ProtectedBase;

/// The sealed files and settings, as they were when the run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The SHA-256 of everything that is sealed.
    pub digest: String,
    /// The SHA-256 of the resolved criteria.
    pub criteria_digest: String,
    /// The commit from which the run started, if there is one.
    pub base: Option<String>,
    pub files: Vec<SealedFile>,
    /// The folders above the sealed files, and links in place of folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<SealedFile>,
    /// Paths at which nothing exists and where a new file would change what a sealed command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Sealed files that the checks rewrite with the same content before any work is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// Repository settings that choose the programs that git starts and the files that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<SealedGitSetting>,
    /// Files and settings that would be sealed if the user had not allowed changes to them.
    #[serde(default, skip_serializing_if = "AllowedChanges::is_empty")]
    pub allowed: AllowedChanges,
    /// Uncommitted files at the start, in a run that checks only commits. They need not be committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// The protected tests before the work; `None` if they are not protected or could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedBase>,
    /// Notes for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Files and settings that may change, as they were when the run started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedChanges {
    /// Empty if there are more than [`Self::MAX_FILES`].
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

    /// Returns the changes since then, one sentence each.
    #[must_use]
    pub fn describe_changes(&self, now: &Self) -> Vec<String> {
        let mut changes = match self.too_many || now.too_many {
            true => [format!("more than {} files may change, so their changes are not listed", Self::MAX_FILES)].into(),
            false => describe_file_changes(&self.files, &now.files),
        };
        changes.extend(describe_setting_changes(&self.git, &now.git));
        changes
    }
}

/// A sealed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFile {
    /// Relative to the root of the work tree; absolute if it is outside.
    pub path: String,
    #[serde(rename = "is")]
    pub kind: SealedFileKind,
    /// Of the content; for a link, of its target path and the content there.
    pub sha256: String,
}

/// A sealed git setting.
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
    /// A folder above a sealed file.
    Folder,
    /// A pipe, a device, or a directory in place of a file.
    Other,
}

/// The result of sealing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sealing", rename_all = "snake_case")]
pub enum SealingResult {
    Done { seal: Box<Seal> },
    Impossible { why: String },
}

/// Returns the changes of sealed files, one sentence each.
#[must_use]
pub fn describe_file_changes(sealed: &[SealedFile], now: &[SealedFile]) -> Vec<String> {
    let by_path = |files: &[SealedFile]| -> BTreeMap<String, SealedFile> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, after) = (by_path(sealed), by_path(now));
    let removed_or_changed = before.iter().filter_map(|(path, was)| match after.get(path) {
        None => Some(format!("{path} was removed")),
        Some(is) => describe_difference(was, is),
    });
    let added = after.keys().filter(|path| !before.contains_key(*path));
    removed_or_changed.chain(added.map(|path| format!("{path} was added"))).collect()
}

/// Returns the changes of the folders above sealed files, one sentence each. Folders that are gone are left out: the files
/// in them are reported as removed.
#[must_use]
pub fn describe_folder_changes(sealed: &[SealedFile], now: &[SealedFile]) -> Vec<String> {
    let find_now = |was: &SealedFile| now.iter().find(|is| is.path == was.path);
    sealed.iter().filter_map(|was| describe_difference(was, find_now(was)?)).collect()
}

/// Returns one sentence for each path at which something exists that did not exist when it was sealed.
#[must_use]
pub fn describe_added_paths(added: &[String]) -> Vec<String> {
    added.iter().map(|path| format!("{path} was added")).collect()
}

/// Returns one sentence for each sealed file that was changed while a check ran and has its old content again.
#[must_use]
pub fn describe_restored_files(restored: &[String]) -> Vec<String> {
    restored.iter().map(|path| format!("{path} was changed and restored")).collect()
}

/// Returns which settings of git's are not as they were sealed, one sentence for each.
#[must_use]
pub fn describe_setting_changes(sealed: &[SealedGitSetting], now: &[SealedGitSetting]) -> Vec<String> {
    let value = |settings: &[SealedGitSetting], name: &str| {
        settings.iter().find(|setting| setting.name == name).map(|setting| setting.sha256.clone())
    };
    let removed_or_changed = sealed.iter().filter_map(|was| match value(now, &was.name) {
        None => Some(format!("the git setting {} was removed", was.name)),
        Some(sha256) if sha256 != was.sha256 => Some(format!("the git setting {} was changed", was.name)),
        Some(_) => None,
    });
    let added = now.iter().filter(|is| value(sealed, &is.name).is_none());
    removed_or_changed.chain(added.map(|is| format!("the git setting {} was added", is.name))).collect()
}

fn describe_difference(was: &SealedFile, is: &SealedFile) -> Option<String> {
    let path = &was.path;
    match (was.kind, is.kind) {
        (SealedFileKind::File, SealedFileKind::Executable) => Some(format!("{path} was made executable")),
        (SealedFileKind::Executable, SealedFileKind::File) => Some(format!("{path} is no longer executable")),
        (
            SealedFileKind::File | SealedFileKind::Executable | SealedFileKind::Folder | SealedFileKind::Other,
            SealedFileKind::Link,
        ) => Some(format!("{path} was replaced by a link")),
        (was_kind, is_kind) if was_kind != is_kind => Some(format!("{path} was replaced")),
        (_, _) if was.sha256 != is.sha256 => Some(format!("{path} was changed")),
        (_, _) => None,
    }
}

/// How many changes a reason lists. The output of the evidence contains all of them.
const MAX_LISTED_CHANGES: usize = 10;

/// Returns the evidence of the seal for a claim.
#[must_use]
pub fn seal_evidence(changes: &[String]) -> CheckEvidence {
    build_seal_evidence(changes, |listed| {
        format!("the work changed sealed files or settings: {listed}; undo these changes")
    })
}

/// Returns the evidence of the seal after a check has run, because the check executes code of the work.
#[must_use]
pub fn seal_evidence_after_check(changes: &[String]) -> CheckEvidence {
    build_seal_evidence(changes, |listed| {
        format!(
            "sealed files or settings changed while the checks ran: {listed}; undo these changes, and make sure that \
             the work does not change them (exclude files that a check writes from the guard with `!` before the name)"
        )
    })
}

/// Returns the evidence of allowed changes, or `None` if there are none.
#[must_use]
pub fn allowed_changes_evidence(changes: &[String]) -> Option<CheckEvidence> {
    let reason = format!("Changed by the work, as allow_changes permits: {}", list_changes(changes));
    let evidence = CheckEvidence::without_output(EvidenceKind::Seal, "the seal".into(), Verdict::Accepted, reason);
    let proof_limit = Some("sealed files or settings changed, as allow_changes permits".into());
    (!changes.is_empty()).then(|| CheckEvidence { tail: changes.join("\n"), proof_limit, ..evidence })
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

/// Returns a warning if the checks change sealed files before any work is done.
#[must_use]
pub fn describe_changes_by_checks(before: &[SealedFile], after: &[SealedFile]) -> Option<String> {
    let changes = describe_file_changes(before, after);
    (!changes.is_empty()).then(|| {
        format!(
            "the checks themselves change sealed files: {}; exclude these files from the guard with `!` before the \
             name, or claims will be rejected",
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
                "mode is no longer executable",
                "runs was made executable",
                "new was added",
            ]
        );
    }

    // spec: V9
    // finding: N6
    #[test]
    fn a_folder_above_a_sealed_file_that_becomes_something_else_is_named() {
        use SealedFileKind::{Folder, Link, Other};
        let sealed = [
            sealed_file("a", Folder, ""),
            sealed_file("b", Folder, ""),
            sealed_file("c", Link, "1"),
            sealed_file("gone", Folder, ""),
            sealed_file("same", Folder, ""),
        ];
        let now = [
            sealed_file("a", Link, "1"),
            sealed_file("b", Other, ""),
            sealed_file("c", Link, "2"),
            sealed_file("same", Folder, ""),
        ];
        assert_eq!(
            describe_folder_changes(&sealed, &now),
            ["a was replaced by a link", "b was replaced", "c was changed"]
        );
    }

    // spec: V9
    #[test]
    fn a_seal_of_an_older_version_can_be_read() {
        let old = r#"{"digest":"d","criteria_digest":"c","base":null,"files":[{"path":"a","is":"file","sha256":"1"}]}"#;
        let seal: Seal = serde_json::from_str(old).unwrap();
        assert_eq!(seal.files.len(), 1);
        assert!(seal.folders.is_empty() && seal.absent.is_empty() && seal.touched.is_empty());
    }

    // spec: V9
    #[test]
    fn changed_git_settings_are_listed() {
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
    fn a_change_rejects_the_claim_and_names_the_files() {
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
        let evidence = allowed_changes_evidence(&was.describe_changes(&now)).unwrap();
        assert_eq!((evidence.method, evidence.verdict), (EvidenceKind::Seal, Verdict::Accepted));
        assert_eq!(
            evidence.reason,
            "Changed by the work, as allow_changes permits: verify.sh was changed, tests/new was added, the git \
             setting core.x was changed"
        );
        assert_eq!(evidence.tail.lines().count(), 3);
        assert_eq!(
            evidence.proof_limit.as_deref(),
            Some("sealed files or settings changed, as allow_changes permits"),
            "it limits the proof level"
        );
        let full = AllowedChanges { too_many: true, ..AllowedChanges::default() };
        assert_eq!(
            full.describe_changes(&AllowedChanges { git: Vec::new(), ..now }),
            ["more than 1000 files may change, so their changes are not listed"]
        );
    }

    // spec: V9
    #[test]
    fn allowed_changes_are_stored_with_the_seal_unless_nothing_may_change() {
        let old = r#"{"digest":"d","criteria_digest":"c","base":null,"files":[]}"#;
        let seal: Seal = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&seal).unwrap(), old);
        let setting = SealedGitSetting { name: "core.x".to_string(), sha256: "1".to_string() };
        let cases = [
            AllowedChanges { files: [sealed_file("a", SealedFileKind::File, "1")].into(), ..AllowedChanges::default() },
            AllowedChanges { git: [setting].into(), ..AllowedChanges::default() },
            AllowedChanges { too_many: true, ..AllowedChanges::default() },
        ];
        for allowed in cases {
            let seal = Seal { allowed, ..seal.clone() };
            let stored = serde_json::to_string(&seal).unwrap();
            assert_eq!(serde_json::from_str::<Seal>(&stored).unwrap(), seal, "{stored}");
        }
    }

    // spec: V9
    // finding: N3, N7
    #[test]
    fn new_paths_and_restored_files_are_named() {
        let paths = ["conftest.py".to_string(), "tests/a".to_string()];
        assert_eq!(describe_added_paths(&paths), ["conftest.py was added", "tests/a was added"]);
        assert_eq!(
            describe_restored_files(&paths),
            ["conftest.py was changed and restored", "tests/a was changed and restored"]
        );
    }

    // spec: V9
    #[test]
    fn sealed_files_that_the_checks_change_are_reported_before_any_work() {
        let before = [sealed_file("tests/a", SealedFileKind::File, "1")];
        let after = [before[0].clone(), sealed_file("tests/report", SealedFileKind::File, "1")];
        assert_eq!(describe_changes_by_checks(&before, &before), None);
        assert!(
            describe_changes_by_checks(&before, &after).is_some_and(|note| note.contains("tests/report was added"))
        );
        assert_eq!(seal_evidence_after_check(&[]).verdict, Verdict::Accepted);
        let evidence = seal_evidence_after_check(&["verify.sh was changed".to_string()]);
        assert_eq!(evidence.verdict, Verdict::Rejected);
        assert!(evidence.reason.contains("while the checks ran: verify.sh"));
    }
}
