//! Protected tests: finds the protected files that the work changed, and runs the checks a second time in a copy of the
//! claimed files with the protected ones as they were before the work. The user's work tree is never changed.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::{Criterion, VerificationMethod};
use ralph_core::evidence::{CheckEvidence, Evidence, Verdict};
use ralph_core::protected::{
    FileChange, IgnoredFile, ManifestContents, ProtectedBase, ProtectedChange, ProtectedFinding, ProtectedKind,
    TestProtection, classify_path, find_protected_change, protected_tests_evidence,
};

use super::acceptance::{AcceptancePolicy, PathPatterns};
use super::protected_copy::ProtectedCopy;
use super::verification_control::VerificationControl;
use super::{CheckCache, CheckContext, CheckEnvironment, SealMonitor, criteria};
use crate::git::{self, TreeDiffKind, TreeEntry};

/// Reads the protected files before the work: `tree` contains all files that git does not ignore.
pub fn read_protected_base(root: &Path, tree: String) -> ProtectedBase {
    ProtectedBase { tree, ignored: list_ignored_deciding_files(root) }
}

/// Returns the ignored files that decide what a test command runs. Folders whose files are all ignored are not searched,
/// except those that tools read by their name.
fn list_ignored_deciding_files(root: &Path) -> Vec<IgnoredFile> {
    let listed = git::list_ignored_paths(root).unwrap_or_default();
    let mut found = Vec::new();
    for path in listed.iter().filter_map(|path| path.to_str()) {
        let names = match path.strip_suffix('/') {
            Some(folder) if folder.rsplit('/').next() == Some(".cargo") => {
                vec![format!("{folder}/config.toml"), format!("{folder}/config")]
            }
            Some(_) => Vec::new(),
            None => vec![path.to_owned()],
        };
        let deciding = names.into_iter().filter(|name| classify_path(name) == Some(ProtectedKind::Deciding));
        found.extend(deciding.filter_map(|path| {
            let content = std::fs::read(root.join(&path)).ok()?;
            Some(IgnoredFile { path, sha256: ralph_util::digest::sha256_hex(&content) })
        }));
    }
    found
}

/// The protected tests of one claim.
pub(super) struct ProtectedTests {
    root: PathBuf,
    protection: TestProtection,
    isolation: CheckIsolation,
    share: Vec<String>,
    base: ProtectedBase,
    allowed: PathPatterns,
    /// What was found before the checks ran, because they execute code of the work.
    found: Result<FoundChanges, String>,
}

/// The changed protected files in one state of the work tree.
#[derive(Debug, Clone, Default)]
struct FoundChanges {
    claimed_tree: String,
    changes: BTreeMap<PathBuf, ProtectedChange>,
    /// Changed files that git ignores. They are left out of the copy.
    ignored: BTreeMap<PathBuf, ProtectedChange>,
}

impl ProtectedTests {
    /// Compares the protected files with the base, before any check runs. Returns `None` if nothing is protected.
    pub(super) async fn compare(
        acceptance: &AcceptancePolicy,
        base: Option<ProtectedBase>,
        root: &Path,
        control: &mut VerificationControl,
    ) -> Option<Self> {
        let allowed = PathPatterns::compile(&acceptance.allow_changes).ok()?;
        let base = base.filter(|_| acceptance.tests != TestProtection::Off)?;
        let (root, isolation) = (root.to_path_buf(), acceptance.isolation);
        let found = find_changes(&root, &base, isolation, control).await;
        let (protection, share) = (acceptance.tests, acceptance.share.clone());
        Some(Self { root, protection, isolation, share, base, allowed, found })
    }

    /// Adds the evidence about protected tests to that of a claim which the checks accepted.
    pub(super) async fn append_evidence(
        self,
        second: CheckContext,
        criteria: &[Criterion],
        mut evidence: Evidence,
        control: &mut VerificationControl,
    ) -> Evidence {
        if evidence.verdict() == Verdict::Accepted && !criteria.is_empty() {
            evidence.checks.extend(self.verify(second, criteria, control).await);
        }
        evidence
    }

    async fn verify(
        self,
        second: CheckContext,
        criteria: &[Criterion],
        control: &mut VerificationControl,
    ) -> Option<CheckEvidence> {
        let after = find_changes(&self.root, &self.base, self.isolation, control).await;
        let mut found = match (self.found.clone(), after) {
            (Ok(before), Ok(mut after)) => {
                after.changes.extend(before.changes);
                after.ignored.extend(before.ignored);
                after
            }
            (Err(reason), _) | (_, Err(reason)) => {
                let unknown = ["unknown files were changed".to_owned()];
                return protected_tests_evidence(&unknown, &[], ProtectedFinding::BaseMissing { reason });
            }
        };
        let mut allowed = Vec::new();
        for all in [&mut found.changes, &mut found.ignored] {
            let is_allowed = |change: &ProtectedChange| self.allowed.matches(&change.path);
            allowed.extend(all.values().filter(|change| is_allowed(change)).map(ProtectedChange::describe));
            all.retain(|_, change| !is_allowed(change));
        }
        let changes: Vec<String> =
            found.changes.values().chain(found.ignored.values()).map(ProtectedChange::describe).collect();
        let finding = match self.protection {
            TestProtection::Protect | TestProtection::Report if changes.is_empty() => ProtectedFinding::NothingLeft,
            TestProtection::Report | TestProtection::Off => ProtectedFinding::Reported,
            TestProtection::Protect => self.run_again(found, second, criteria, control).await,
        };
        protected_tests_evidence(&changes, &allowed, finding)
    }

    /// Runs the checks that start programs in a copy with the protected files of the base.
    async fn run_again(
        &self,
        found: FoundChanges,
        second: CheckContext,
        criteria: &[Criterion],
        control: &mut VerificationControl,
    ) -> ProtectedFinding {
        let criteria: Vec<Criterion> = criteria.iter().filter(|criterion| starts_program(criterion)).cloned().collect();
        if criteria.is_empty() {
            return ProtectedFinding::NotEvaluated { reason: "no check starts a program".to_owned() };
        }
        let (root, base, isolation, share) =
            (self.root.clone(), self.base.tree.clone(), self.isolation, self.share.clone());
        let copied = control.run_blocking(move || {
            let entries = git::list_tree_entries(&root, &base).map_err(|error| error.to_string())?;
            let is_test = |path: &PathBuf| classify_path(&path.to_string_lossy()) == Some(ProtectedKind::Test);
            let base_has_tests = entries.keys().any(is_test);
            let edits = restore_base_files(&root, &base, &found, &entries).map_err(|error| error.to_string())?;
            let left_out = found.ignored.keys().cloned().collect();
            let copy = ProtectedCopy { root, claimed_tree: found.claimed_tree, edits, isolation, share, left_out };
            Ok((copy.create()?, base_has_tests))
        });
        let (checkout, base_has_tests) = match copied.await.flatten() {
            Ok(copied) => copied,
            Err(reason) => return ProtectedFinding::NotEvaluated { reason },
        };
        let environment = CheckEnvironment { root: checkout.path().to_path_buf(), ..second.environment };
        let context = CheckContext { environment, ..second };
        let evidence = criteria::verify_criteria(&context, &criteria, control).await;
        ProtectedFinding::RanAgain { evidence, base_has_tests }
    }
}

/// Returns the context of the second run. Results of the first run are not reused, and nothing in the copy is sealed.
pub(super) fn second_run_context(context: &CheckContext) -> CheckContext {
    CheckContext {
        keeper: context.keeper.clone(),
        environment: CheckEnvironment {
            root: context.environment.root.clone(),
            env: context.environment.env.clone(),
            run_id: context.environment.run_id.clone(),
        },
        cache: CheckCache::default(),
        seal_monitor: SealMonitor::default(),
        log_folder: context.log_folder.clone(),
        log_prefix: format!("{}.protected", context.log_prefix),
        log_budget: context.log_budget.clone(),
        plugin_folder: context.plugin_folder.clone(),
        claim: context.claim.clone(),
        judge: None,
    }
}

/// Judges read the work and do not depend on the tests, so they are not asked twice.
fn starts_program(criterion: &Criterion) -> bool {
    match &criterion.method {
        VerificationMethod::External(_) | VerificationMethod::Plugin(_) => true,
        VerificationMethod::MultiStage(staged) => staged.stages.iter().all(|stage| starts_program(&stage.criterion)),
        VerificationMethod::StringMatch | VerificationMethod::Semantic(_) => false,
    }
}

async fn find_changes(
    root: &Path,
    base: &ProtectedBase,
    isolation: CheckIsolation,
    control: &mut VerificationControl,
) -> Result<FoundChanges, String> {
    let (root, base) = (root.to_path_buf(), base.clone());
    let found = control.run_blocking(move || {
        let claimed_tree = match isolation {
            CheckIsolation::Workspace => git::write_worktree_tree(&root),
            CheckIsolation::Clean => git::snapshot_head(&root).map(|snapshot| snapshot.tree),
        };
        let claimed_tree = claimed_tree.map_err(|error| error.to_string())?;
        let mut found = FoundChanges { claimed_tree, ..FoundChanges::default() };
        if found.claimed_tree != base.tree {
            found.changes = compare_trees(&root, &base.tree, &found.claimed_tree).map_err(|error| error.to_string())?;
        }
        if isolation == CheckIsolation::Workspace {
            found.ignored = compare_ignored_files(&root, &base.ignored);
        }
        Ok(found)
    });
    found.await.flatten()
}

fn compare_trees(root: &Path, base: &str, claimed: &str) -> Result<BTreeMap<PathBuf, ProtectedChange>, git::GitError> {
    let mut found = BTreeMap::new();
    for entry in git::diff_trees(root, base, claimed)? {
        let change = match entry.kind {
            TreeDiffKind::Added => FileChange::Added,
            TreeDiffKind::Removed => FileChange::Removed,
            TreeDiffKind::Modified => FileChange::Modified,
        };
        let read = |tree: &str| match git::read_tree_file(root, tree, &entry.path) {
            Ok(content) => String::from_utf8(content.unwrap_or_default()).ok(),
            Err(_) => None,
        };
        let contents = || Some(ManifestContents { base: read(base)?, claimed: read(claimed)? });
        if let Some(change) = find_protected_change(&entry.path.to_string_lossy(), change, contents) {
            found.insert(entry.path, change);
        }
    }
    Ok(found)
}

fn compare_ignored_files(root: &Path, before: &[IgnoredFile]) -> BTreeMap<PathBuf, ProtectedChange> {
    let kind = ProtectedKind::Deciding;
    let changed = list_ignored_deciding_files(root).into_iter().filter_map(|now| {
        let change = match before.iter().find(|file| file.path == now.path) {
            None => FileChange::Added,
            Some(file) if file.sha256 != now.sha256 => FileChange::Modified,
            Some(_) => return None,
        };
        Some((now.path.clone().into(), ProtectedChange { path: now.path, change, kind }))
    });
    changed.collect()
}

/// Returns the edits of the claimed tree that restore the changed protected files. Of a manifest only the deciding parts
/// are restored, or the whole file if they cannot be separated.
fn restore_base_files(
    root: &Path,
    base: &str,
    found: &FoundChanges,
    entries: &BTreeMap<PathBuf, TreeEntry>,
) -> Result<BTreeMap<PathBuf, Option<TreeEntry>>, git::GitError> {
    let mut edits = BTreeMap::new();
    for (path, change) in &found.changes {
        let original = entries.get(path).cloned();
        let restored = match (change.kind, original) {
            (ProtectedKind::Manifest(kind), Some(original)) => {
                let read = |tree: &str| -> Result<Option<String>, git::GitError> {
                    let content = git::read_tree_file(root, tree, path)?;
                    Ok(content.and_then(|content| String::from_utf8(content).ok()))
                };
                let merged = match (read(base)?, read(&found.claimed_tree)?) {
                    (Some(base), Some(claimed)) => kind.with_deciding_parts_of(&base, &claimed),
                    (_, _) => None,
                };
                match merged {
                    Some(text) => Some(TreeEntry { object: git::write_object(root, text.as_bytes())?, ..original }),
                    None => Some(original),
                }
            }
            (_, original) => original,
        };
        edits.insert(path.clone(), restored);
    }
    Ok(edits)
}
