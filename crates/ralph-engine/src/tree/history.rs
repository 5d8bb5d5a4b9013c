//! What a work tree held before and after a run, so that it can be compared and undone. Only the newest runs are remembered.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::TreeError;
use super::land::remove_file;
use super::obstacle::obstacles;
use crate::git::{self, Change, ChangeKind, RefChange, Was};

/// So many runs are remembered.
const MOST: usize = 50;

/// More that is not committed is not copied into the repository.
const MOST_BYTES: u64 = 64 << 20;

const ALL: &str = "refs/ralph/_runs/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Before,
    After,
}

impl Moment {
    fn reference(self, run: &str) -> String {
        let name = match self {
            Self::Before => "before",
            Self::After => "after",
        };
        format!("{ALL}{run}/{name}")
    }
}

/// What is known of a run's work: trees of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub before: String,
    /// Nothing where the run was cut short, or goes on.
    pub after: Option<String>,
}

/// Remembers what a work tree holds at this moment, unless that would fill the repository with what nobody has committed.
pub fn remember(root: &Path, run: &str, moment: Moment) -> Result<(), TreeError> {
    if git::uncommitted_bytes(root)? > MOST_BYTES {
        return Err(TreeError::TooMuch);
    }
    let to = git::keep_files(root)?;
    let mut changes = vec![RefChange::Put { name: moment.reference(run), to, was: Was::Anything }];
    if moment == Moment::Before {
        changes.extend(forgotten(root)?);
    }
    Ok(git::change_refs(root, &changes, "ralph: a run")?)
}

/// Returns what is not remembered any longer. The ids of runs are in the order of their beginnings. What an undoing kept stays.
fn forgotten(root: &Path) -> Result<Vec<RefChange>, TreeError> {
    let of = |name: &str| name.strip_prefix(ALL)?.split('/').next().map(str::to_owned);
    let all = git::refs_below(root, ALL)?;
    let runs: BTreeSet<String> = all.iter().filter_map(|found| of(&found.name)).collect();
    let old: BTreeSet<&String> = runs.iter().rev().skip(MOST - 1).collect();
    let is_old = |name: &str| of(name).is_some_and(|run| old.contains(&run)) && !name.contains("/undone/");
    let names = all.into_iter().map(|found| found.name).filter(|name| is_old(name));
    Ok(names.map(|name| RefChange::Drop { name }).collect())
}

/// Returns what is known of a run's work, if anything is.
pub fn span(root: &Path, run: &str) -> Result<Option<Span>, TreeError> {
    let at = |moment: Moment| git::object_at(root, &moment.reference(run));
    let Some(before) = at(Moment::Before)? else { return Ok(None) };
    Ok(Some(Span { before, after: at(Moment::After)? }))
}

/// What an undoing did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    pub files: Vec<PathBuf>,
    /// The reference to what lay there.
    pub kept: String,
}

/// Puts the files that a run changed back as they were before it. Commits, branches and the index stay as they are.
pub fn undo(root: &Path, run: &str) -> Result<Undone, TreeError> {
    let nothing = || TreeError::NotRemembered { run: run.to_owned() };
    let Span { before, after } = span(root, run)?.ok_or_else(nothing)?;
    let after = after.ok_or_else(|| TreeError::NoEnd { run: run.to_owned() })?;
    let now = git::keep_files(root)?;
    let changed = git::changes(root, &before, &after)?;
    refuse_changed_since(root, (&after, &now), &changed)?;
    let back: Vec<Change> = changed.iter().map(reversed).collect();
    let files = obstacles(root, &back);
    if !files.is_empty() {
        return Err(TreeError::ChangedSince { files });
    }
    let kept = keep(root, run, &now)?;
    let (added, rest): (Vec<&Change>, Vec<&Change>) =
        changed.iter().partition(|change| change.kind == ChangeKind::Added);
    added.iter().try_for_each(|change| remove_file(root, &change.path))?;
    let rest: Vec<PathBuf> = rest.iter().map(|change| change.path.clone()).collect();
    git::restore_files(root, &before, &rest)?;
    Ok(Undone { files: changed.into_iter().map(|change| change.path).collect(), kept })
}

fn reversed(change: &Change) -> Change {
    let kind = match change.kind {
        ChangeKind::Added => ChangeKind::Removed,
        ChangeKind::Removed => ChangeKind::Added,
        ChangeKind::Changed => ChangeKind::Changed,
    };
    Change { kind, path: change.path.clone() }
}

/// What others changed in the same files would be lost.
fn refuse_changed_since(
    root: &Path,
    (after, now): (&str, &str),
    changed: &[Change],
) -> Result<(), TreeError> {
    let since: BTreeSet<PathBuf> = git::changes(root, after, now)?.into_iter().map(|one| one.path).collect();
    let files: Vec<PathBuf> =
        changed.iter().map(|change| change.path.clone()).filter(|path| since.contains(path)).collect();
    if files.is_empty() { Ok(()) } else { Err(TreeError::ChangedSince { files }) }
}

fn keep(root: &Path, run: &str, tree: &str) -> Result<String, TreeError> {
    let prefix = format!("{ALL}{run}/undone/");
    let number = git::refs_below(root, &prefix)?.len() + 1;
    let name = format!("{prefix}{number}");
    git::change_refs(root, &[RefChange::new(&name, tree)], "ralph: undone")?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::git;
    use crate::git::testing::commit_all;
    use crate::tree::testing::Scene;

    /// A run that changes a file, makes one, removes one, and commits some of it.
    fn ran(scene: &Scene) {
        fs::write(scene.root.join("mine"), "uncommitted before").unwrap();
        remember(&scene.root, "r1", Moment::Before).unwrap();
        fs::write(scene.root.join("file"), "work").unwrap();
        fs::remove_file(scene.root.join("old")).unwrap();
        commit_all(&scene.root);
        fs::create_dir(scene.root.join("sub")).unwrap();
        fs::write(scene.root.join("sub/new"), "work").unwrap();
        remember(&scene.root, "r1", Moment::After).unwrap();
    }

    // spec: P9
    #[test]
    fn a_run_is_undone_and_nothing_else() {
        let scene = Scene::new();
        ran(&scene);
        fs::write(scene.root.join("later"), "somebody else's").unwrap();
        let head = scene.git(&["rev-parse", "HEAD"]);
        let undone = undo(&scene.root, "r1").unwrap();
        assert_eq!(undone.files, ["file", "old", "sub/new"].map(PathBuf::from));
        let read = |name: &str| fs::read_to_string(scene.root.join(name)).unwrap();
        assert_eq!(
            (read("file"), read("old"), read("later")),
            ("first".into(), "old".into(), "somebody else's".into())
        );
        assert_eq!((read("mine"), scene.git(&["rev-parse", "HEAD"])), ("uncommitted before".into(), head));
        assert!(!scene.root.join("sub").exists());
        assert_eq!(git(&scene.root, &["show", &format!("{}:sub/new", undone.kept)]).unwrap(), "work");
    }

    // spec: P9
    #[test]
    fn what_others_changed_in_the_same_files_since_is_not_undone() {
        let scene = Scene::new();
        ran(&scene);
        fs::write(scene.root.join("file"), "mine now").unwrap();
        let before = scene.users();
        let refused = undo(&scene.root, "r1").unwrap_err();
        assert!(matches!(&refused, TreeError::ChangedSince { files } if files == &[PathBuf::from("file")]));
        assert_eq!(scene.users(), before);
    }

    // spec: P9
    #[test]
    fn a_run_that_was_cut_short_or_never_looked_at_is_not_undone() {
        let scene = Scene::new();
        assert!(matches!(undo(&scene.root, "r1"), Err(TreeError::NotRemembered { .. })));
        remember(&scene.root, "r1", Moment::Before).unwrap();
        assert!(matches!(undo(&scene.root, "r1"), Err(TreeError::NoEnd { .. })));
        assert_eq!(span(&scene.root, "r1").unwrap().unwrap().after, None);
    }

    // spec: P9
    #[test]
    fn only_the_newest_runs_are_remembered_and_what_was_kept_stays() {
        let scene = Scene::new();
        let tree = scene.git(&["rev-parse", "HEAD^{tree}"]);
        let old = (0..MOST).map(|number| RefChange::new(format!("{ALL}r{number:03}/before"), &tree));
        let kept = RefChange::new(format!("{ALL}r000/undone/1"), &tree);
        git::change_refs(&scene.root, &old.chain([kept]).collect::<Vec<_>>(), "test").unwrap();
        remember(&scene.root, "s", Moment::Before).unwrap();
        assert_eq!(span(&scene.root, "r000").unwrap(), None);
        assert!(span(&scene.root, "r001").unwrap().is_some() && span(&scene.root, "s").unwrap().is_some());
        assert!(git::object_at(&scene.root, &format!("{ALL}r000/undone/1")).unwrap().is_some());
        let log = scene.git(&["log", "--all", "--oneline"]);
        assert_eq!(log.lines().count(), 1, "none of it is in anybody's way: {log}");
    }
}
