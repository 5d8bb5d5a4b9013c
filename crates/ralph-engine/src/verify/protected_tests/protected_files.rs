//! Protected tests: finds the protected files that the work changed, and runs the checks a second time in a copy of the
//! claimed files with the protected ones as they were before the work. The user's work tree is never changed.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{Evidence, Verdict};
use ralph_core::protected::{
    FileChange, IgnoredFile, InlineTestChange, ManifestContents, ProtectedBase, ProtectedChange, ProtectedFinding,
    ProtectedKind, ProtectedReport, TestProtection, UnprotectedChanges, classify_path, find_inline_test_change,
    find_protected_change, may_have_inline_tests, protected_tests_evidence,
};
use ralph_core::receipt::{WorkTreeSnapshot, program_criteria};
use ralph_core::seal::Seal;

use crate::git::{self, TreeDiffKind, TreeEntry, WorktreeListing};
use crate::verify::acceptance::{AcceptancePolicy, PathPatterns};
use crate::verify::checkouts::checkout_setup::enter_clean_checkout;
use crate::verify::checkouts::clean_checkout::CleanCheckoutSpec;
use crate::verify::protected_tests::protected_base::read_ignored_deciding_files;
use crate::verify::protected_tests::protected_copy::ProtectedCopy;
use crate::verify::protected_tests::protected_run_files::list_run_files;
use crate::verify::protected_tests::protected_watch::{ProtectedWatch, list_watched_paths};
use crate::verify::seals::file_sealer::FileSealer;
use crate::verify::verification_control::VerificationControl;
use crate::verify::{CheckCache, CheckContext, CheckEnvironment, SealMonitor, criteria};

/// The protected tests of one claim.
pub(in crate::verify) struct ProtectedTests {
    root: PathBuf,
    protection: TestProtection,
    isolation: CheckIsolation,
    share: Vec<String>,
    setup: Vec<String>,
    allowed: PathPatterns,
    /// `None` if it could not be recorded when the run started.
    base: Option<ProtectedBase>,
    /// The changes that were found before the checks ran, because they execute code of the work.
    found: Result<FoundChanges, String>,
    /// The protected files that must not change while the checks run.
    watched: Arc<Vec<String>>,
    /// The files that existed before the checks ran.
    files: Vec<PathBuf>,
    /// The protected files that changed while the checks ran.
    touched: Vec<String>,
    sealed: Option<(FileSealer, Seal)>,
}

/// The changed protected files in one state of the work tree.
#[derive(Debug, Clone, Default)]
struct FoundChanges {
    claimed_tree: String,
    changes: BTreeMap<PathBuf, ProtectedChange>,
    /// Changed files that git ignores. They are left out of the copy.
    ignored: BTreeMap<PathBuf, ProtectedChange>,
    inline: BTreeMap<PathBuf, InlineTestChange>,
    others: UnprotectedChanges,
    /// Protected files of the base that differ in any way.
    compared: Vec<PathBuf>,
}

impl FoundChanges {
    /// Replaces the changes of ignored files by those in a listing.
    fn with_ignored_files(self, root: &Path, base: &ProtectedBase, ignored: &[PathBuf]) -> Self {
        Self { ignored: compare_ignored_files(root, &base.ignored, ignored), ..self }
    }
}

impl ProtectedTests {
    /// Compares the protected files with the base, before any check runs. Returns `None` if nothing is protected.
    /// `snapshot` is the current state of the work tree, if it is known.
    pub(in crate::verify) async fn compare(
        acceptance: &AcceptancePolicy,
        base: Option<ProtectedBase>,
        root: &Path,
        snapshot: Option<&WorkTreeSnapshot>,
        control: &mut VerificationControl,
    ) -> Option<Self> {
        let allowed = PathPatterns::compile(&acceptance.allow_changes).ok()?;
        if acceptance.tests == TestProtection::Off {
            return None;
        }
        let (root, isolation) = (root.to_path_buf(), acceptance.isolation);
        let (mut found, mut watched, mut files) = (Ok(FoundChanges::default()), Vec::new(), Vec::new());
        if let Some(base) = base.clone() {
            let unchanged = snapshot.filter(|snapshot| is_unchanged(snapshot, &base, isolation));
            let (root, unchanged) = (root.clone(), unchanged.map(|snapshot| snapshot.tree.clone()));
            let compared = control.run_blocking(move || {
                let list_files = || list_claimed_files(&root, isolation);
                let (found, listing) = git::run_both(|| find_changes(&root, &base, isolation, unchanged), list_files);
                let files = listing.files;
                let found = found.map(|found| found.with_ignored_files(&root, &base, &listing.ignored));
                (found, list_watched_paths(files.iter().map(PathBuf::as_path)), files)
            });
            (found, watched, files) = compared.await.unwrap_or_else(|error| (Err(error), Vec::new(), Vec::new()));
        }
        Some(Self {
            root,
            protection: acceptance.tests,
            isolation,
            share: acceptance.share.clone(),
            setup: acceptance.setup.clone(),
            allowed,
            base,
            found,
            watched: Arc::new(watched),
            files,
            touched: Vec::new(),
            sealed: None,
        })
    }

    /// Adds the seal, whose files are restored in a clean checkout.
    pub(in crate::verify) fn with_seal(self, sealer: &FileSealer, seal: &Seal) -> Self {
        Self { sealed: Some((sealer.clone(), seal.clone())), ..self }
    }

    /// Adds the protected files that changed while the checks ran.
    pub(in crate::verify) fn with_touched_files(self, touched: Vec<String>) -> Self {
        Self { touched, ..self }
    }

    /// Watches the protected files in a work tree or checkout.
    pub(in crate::verify) fn watch(&self, root: &Path) -> ProtectedWatch {
        ProtectedWatch::new(root, self.watched.clone())
    }

    /// Adds the evidence about protected tests to that of a claim which the checks accepted.
    pub(in crate::verify) async fn append_evidence(
        self,
        second: CheckContext,
        criteria: &[Criterion],
        mut evidence: Evidence,
        control: &mut VerificationControl,
    ) -> Evidence {
        let is_silent = self.base.is_none() && program_criteria(criteria).is_empty();
        if evidence.verdict() == Verdict::Accepted && !criteria.is_empty() && !is_silent {
            let report = self.verify(second, criteria, control).await;
            evidence.checks.extend(protected_tests_evidence(report));
        }
        evidence
    }

    async fn verify(
        self,
        second: CheckContext,
        criteria: &[Criterion],
        control: &mut VerificationControl,
    ) -> ProtectedReport {
        let without_changes = |finding| ProtectedReport {
            changes: Vec::new(),
            allowed: Vec::new(),
            inline: Vec::new(),
            run_files: Vec::new(),
            finding,
        };
        let Some(base) = &self.base else { return without_changes(ProtectedFinding::NoBase) };
        let AfterChecks { found: after, folders } = self.look_after_checks(base, control).await;
        let mut found = match (self.found.clone(), after) {
            (Ok(before), Ok(mut after)) => {
                after.changes.extend(before.changes);
                after.ignored.extend(before.ignored);
                after.inline.extend(before.inline);
                after.others.extend(before.others);
                after
            }
            (Err(reason), _) | (_, Err(reason)) => return without_changes(ProtectedFinding::BaseMissing { reason }),
        };
        let genuine = match folders {
            Ok(()) => ensure_genuine_files(&self.root, &base.tree, &found, control).await,
            Err(reason) => Err(reason),
        };
        if let Err(reason) = genuine {
            return without_changes(ProtectedFinding::BaseMissing { reason });
        }
        let mut allowed = Vec::new();
        for all in [&mut found.changes, &mut found.ignored] {
            let is_allowed = |change: &ProtectedChange| self.allowed.matches(&change.path);
            allowed.extend(all.values().filter(|change| is_allowed(change)).cloned());
            all.retain(|_, change| !is_allowed(change));
        }
        let changes: Vec<ProtectedChange> = found.changes.values().chain(found.ignored.values()).cloned().collect();
        let inline = found.inline.values().cloned().collect();
        let run_files = list_run_files(&self.root, base, &found.others, criteria, control).await;
        let restored = self.find_restored_files(&found);
        let finding = match self.protection {
            TestProtection::Protect if !restored.is_empty() => ProtectedFinding::ChangedByChecks { paths: restored },
            TestProtection::Protect | TestProtection::Report if changes.is_empty() => ProtectedFinding::NothingLeft,
            TestProtection::Report | TestProtection::Off => ProtectedFinding::Reported,
            TestProtection::Protect => self.run_again(found, second, criteria, control).await,
        };
        ProtectedReport { changes, allowed, inline, run_files, finding }
    }

    /// Compares the protected files again, and checks the folders of the base. If no check touched a file, and none added or
    /// removed one, the first comparison still holds.
    async fn look_after_checks(&self, base: &ProtectedBase, control: &mut VerificationControl) -> AfterChecks {
        let (root, base, isolation) = (self.root.clone(), base.clone(), self.isolation);
        let is_untouched = isolation == CheckIsolation::Workspace && self.touched.is_empty();
        let first = self.found.clone().ok().filter(|_| is_untouched).map(|found| (found, self.files.clone()));
        let looked = control.run_blocking(move || {
            let look = || {
                let listing = list_claimed_files(&root, isolation);
                let found = match first {
                    Some((found, known_files)) if listing.files == known_files => Ok(found),
                    Some(_) | None => find_changes(&root, &base, isolation, None),
                };
                found.map(|found| found.with_ignored_files(&root, &base, &listing.ignored))
            };
            let (found, folders) = git::run_both(look, || ensure_genuine_folders(&root, &base.tree));
            AfterChecks { found, folders }
        });
        looked.await.unwrap_or_else(|error| AfterChecks { found: Err(error), folders: Ok(()) })
    }

    /// Returns the files that were changed while the checks ran and are as before the work again. In a clean checkout the
    /// changes are gone with it.
    fn find_restored_files(&self, found: &FoundChanges) -> Vec<String> {
        let is_known = |name: &str| {
            let path = Path::new(name);
            let is_in_worktree = self.isolation == CheckIsolation::Workspace;
            is_in_worktree && (found.changes.contains_key(path) || found.ignored.contains_key(path))
        };
        let touched = self.touched.iter().filter(|name| !self.may_touch(name));
        touched.filter(|name| !is_known(name)).cloned().collect()
    }

    /// Returns whether checks may touch a file: the user allows it, or they did so before any work.
    fn may_touch(&self, name: &str) -> bool {
        let by_baseline = self.sealed.as_ref().is_some_and(|(_, seal)| seal.touched.iter().any(|known| known == name));
        by_baseline || self.allowed.matches(name)
    }

    /// Runs the checks that start programs in a copy with the protected files of the base.
    async fn run_again(
        &self,
        found: FoundChanges,
        second: CheckContext,
        criteria: &[Criterion],
        control: &mut VerificationControl,
    ) -> ProtectedFinding {
        // Judges read the work and do not depend on the tests, so they are not asked twice.
        let criteria = program_criteria(criteria);
        if criteria.is_empty() {
            return ProtectedFinding::NotEvaluated { reason: "no check starts a program".to_owned() };
        }
        let Some(ProtectedBase { tree, .. }) = self.base.clone() else { return ProtectedFinding::NoBase };
        let (root, isolation) = (self.root.clone(), self.isolation);
        let copied = control.run_blocking(move || {
            let entries = git::list_tree_entries(&root, &tree).map_err(|error| error.to_string())?;
            let is_test = |path: &PathBuf| classify_path(&path.to_string_lossy()) == Some(ProtectedKind::Test);
            let base_has_tests = entries.keys().any(is_test);
            let edits = restore_base_files(&root, &tree, &found, &entries).map_err(|error| error.to_string())?;
            let left_out = found.ignored.keys().cloned().collect();
            let copy = ProtectedCopy { root, claimed_tree: found.claimed_tree, edits, left_out };
            let commit = copy.commit()?;
            let checkout = match isolation {
                CheckIsolation::Workspace => Some(copy.check_out(&commit)?),
                CheckIsolation::Clean => None,
            };
            Ok((commit, checkout, base_has_tests))
        });
        let (commit, checkout, base_has_tests) = match copied.await.flatten() {
            Ok(copied) => copied,
            Err(reason) => return ProtectedFinding::NotEvaluated { reason },
        };
        let (evidence, touched) = match checkout {
            Some(checkout) => verify_in_copy(second, checkout.path(), &criteria, control).await,
            None => self.verify_in_clean_checkout(second, commit, &criteria, control).await,
        };
        let touched: Vec<String> = touched.into_iter().filter(|name| !self.may_touch(name)).collect();
        if evidence.verdict() == Verdict::Accepted && !touched.is_empty() {
            return ProtectedFinding::ChangedByChecks { paths: touched };
        }
        ProtectedFinding::RanAgain { evidence, base_has_tests }
    }

    /// Returns the evidence of the checks in a clean checkout, with its setup commands and sealed files, and the protected files
    /// that they touched.
    async fn verify_in_clean_checkout(
        &self,
        second: CheckContext,
        commit: String,
        criteria: &[Criterion],
        control: &mut VerificationControl,
    ) -> (Evidence, Vec<String>) {
        let Some((sealer, seal)) = self.sealed.clone() else { return (Evidence::default(), Vec::new()) };
        let spec = CleanCheckoutSpec { root: self.root.clone(), commit, share: self.share.clone(), seal };
        match enter_clean_checkout(second, sealer, spec, &self.setup, control).await {
            Ok((context, _checkout)) => {
                let watch = ProtectedWatch::of_folder(&context.environment.root);
                let seal_monitor = context.seal_monitor.watching(Some(watch.clone()));
                let context = CheckContext { seal_monitor, ..context };
                let evidence = criteria::verify_criteria(&context, criteria, control).await;
                (evidence, watch.touched_files())
            }
            Err(evidence) => (Evidence { checks: vec![*evidence] }, Vec::new()),
        }
    }
}

/// Returns the evidence of the checks in a copy of the work tree, and the protected files that they touched.
async fn verify_in_copy(
    second: CheckContext,
    copy: &Path,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> (Evidence, Vec<String>) {
    let environment = CheckEnvironment { root: copy.to_path_buf(), ..second.environment };
    let watch = ProtectedWatch::of_folder(copy);
    let seal_monitor = second.seal_monitor.watching(Some(watch.clone()));
    let context = CheckContext { environment, seal_monitor, ..second };
    let evidence = criteria::verify_criteria(&context, criteria, control).await;
    (evidence, watch.touched_files())
}

/// Returns the context of the second run. Results of the first run are not reused, and nothing in the copy is sealed.
pub(in crate::verify) fn second_run_context(context: &CheckContext) -> CheckContext {
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

/// The findings after the checks.
struct AfterChecks {
    found: Result<FoundChanges, String>,
    /// Whether git has the folders of the base as they were recorded.
    folders: Result<(), String>,
}

/// Compares the claimed files, except for ignored ones, with the base. `unchanged` is their tree, if it is known that only ignored files may differ.
fn find_changes(
    root: &Path,
    base: &ProtectedBase,
    isolation: CheckIsolation,
    unchanged: Option<String>,
) -> Result<FoundChanges, String> {
    if let Some(claimed_tree) = unchanged {
        return Ok(FoundChanges { claimed_tree, ..FoundChanges::default() });
    }
    let claimed_tree = match isolation {
        CheckIsolation::Workspace => git::write_worktree_tree(root),
        CheckIsolation::Clean => git::snapshot_head(root).map(|snapshot| snapshot.tree),
    };
    let claimed_tree = claimed_tree.map_err(|error| error.to_string())?;
    let mut found = FoundChanges { claimed_tree, ..FoundChanges::default() };
    if found.claimed_tree != base.tree {
        compare_trees(root, &base.tree, &mut found).map_err(|error| error.to_string())?;
    }
    Ok(found)
}

/// Returns whether a snapshot of all files has the tree of the base, so that no file needs to be compared.
fn is_unchanged(snapshot: &WorkTreeSnapshot, base: &ProtectedBase, isolation: CheckIsolation) -> bool {
    let is_base_tree = snapshot.tree == base.tree;
    let is_base_commit = snapshot.is_committed && snapshot.commit.as_ref() == Some(&base.tree);
    isolation == CheckIsolation::Workspace && snapshot.left_out.is_none() && (is_base_tree || is_base_commit)
}

/// Checks that git has the folders of the base as they were recorded. Also if nothing differs: git compares with what the
/// objects contain now.
fn ensure_genuine_folders(root: &Path, base: &str) -> Result<(), String> {
    let objects = git::list_folder_objects(root, base).map_err(|error| error.to_string())?;
    ensure_genuine_objects(root, &objects)
}

fn ensure_genuine_objects(root: &Path, objects: &[String]) -> Result<(), String> {
    match git::find_forged_object(root, objects).map_err(|error| error.to_string())? {
        Some(object) => Err(format!("the git object {object} was overwritten with other content")),
        None => Ok(()),
    }
}

/// Checks that git has the changed protected files of the base as they were recorded.
async fn ensure_genuine_files(
    root: &Path,
    base: &str,
    found: &FoundChanges,
    control: &mut VerificationControl,
) -> Result<(), String> {
    if found.compared.is_empty() {
        return Ok(());
    }
    let (root, base, compared) = (root.to_path_buf(), base.to_owned(), found.compared.clone());
    let checked = control.run_blocking(move || {
        let entries = git::list_tree_entries(&root, &base).map_err(|error| error.to_string())?;
        let objects = compared.iter().filter_map(|path| entries.get(path)).map(|entry| entry.object.clone());
        ensure_genuine_objects(&root, &objects.collect::<Vec<_>>())
    });
    checked.await.flatten()
}

/// Finds the changed protected files and the changed source files with inline tests.
fn compare_trees(root: &Path, base: &str, found: &mut FoundChanges) -> Result<(), git::GitError> {
    let claimed = found.claimed_tree.clone();
    for entry in git::diff_trees(root, base, &claimed)? {
        let change = match entry.kind {
            TreeDiffKind::Added => FileChange::Added,
            TreeDiffKind::Removed => FileChange::Removed,
            TreeDiffKind::Modified => FileChange::Modified,
        };
        let read = |tree: &str| match git::read_tree_file(root, tree, &entry.path) {
            Ok(content) => String::from_utf8(content.unwrap_or_default()).ok(),
            Err(_) => None,
        };
        let contents = || Some(ManifestContents { base: read(base)?, claimed: read(&claimed)? });
        let name = entry.path.to_string_lossy();
        let is_added = change == FileChange::Added;
        match classify_path(&name) {
            Some(_) if is_added => {}
            Some(_) => found.compared.push(entry.path.clone()),
            None => found.others.insert(name.clone().into_owned(), change),
        }
        let is_source = !is_added && classify_path(&name).is_none() && may_have_inline_tests(&name);
        let inline = is_source.then(contents).flatten();
        let inline = inline.and_then(|text| find_inline_test_change(&name, &text.base, &text.claimed));
        found.inline.extend(inline.map(|change| (entry.path.clone(), change)));
        let change = find_protected_change(&name, change, contents);
        found.changes.extend(change.map(|change| (entry.path.clone(), change)));
    }
    Ok(())
}

/// Lists the files of the work tree. A clean checkout does not contain ignored files.
fn list_claimed_files(root: &Path, isolation: CheckIsolation) -> WorktreeListing {
    let listing = git::list_worktree(root).unwrap_or_default();
    match isolation {
        CheckIsolation::Workspace => listing,
        CheckIsolation::Clean => WorktreeListing { ignored: Vec::new(), ..listing },
    }
}

fn compare_ignored_files(
    root: &Path,
    before: &[IgnoredFile],
    ignored: &[PathBuf],
) -> BTreeMap<PathBuf, ProtectedChange> {
    let kind = ProtectedKind::Deciding;
    let changed = read_ignored_deciding_files(root, ignored).into_iter().filter_map(|now| {
        let change = match before.iter().find(|file| file.path == now.path) {
            None => FileChange::Added,
            Some(file) if file.sha256 != now.sha256 => FileChange::Modified,
            Some(_) => return None,
        };
        Some((now.path.clone().into(), ProtectedChange::new(now.path, change, kind)))
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
