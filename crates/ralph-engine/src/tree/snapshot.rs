//! Every attempt is kept, whatever became of it.
use super::names::{self, Mark};
use super::{Site, Tree, TreeError};
use crate::git::{self, FoundRef, RefChange};

/// What a tree held when an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub mark: Mark,
    /// The number of the earlier round of its stage that it is of.
    pub earlier: Option<u32>,
    /// The commit that holds all files. Its parent is the one that the tree stood on.
    pub commit: String,
    /// Seconds since 1970.
    pub made_at: i64,
}

/// Keeps what a tree holds. Returns the commit, and what git could not take in, if there was something.
pub fn snapshot(site: &Site, tree: &Tree, mark: &Mark) -> Result<git::Kept, TreeError> {
    let kept = git::keep(&tree.path, &format!("ralph: {} {mark}", tree.name))?;
    let reference = mark.reference(&tree.name);
    let new = [RefChange::new(&reference, &kept.commit)];
    if git::change_refs(&tree.path, &new, "ralph: an attempt has ended").is_ok() {
        return Ok(kept);
    }
    // The stage was tried before: what it came to then is kept under another name.
    let Some(before) = git::commit_at(&tree.path, &reference)? else {
        git::change_refs(&tree.path, &new, "ralph: an attempt has ended")?;
        return Ok(kept);
    };
    hold_on(site, &tree.name, &format!("earlier/{mark}"), &before)?;
    let moved = [RefChange::moved(&reference, &before, &kept.commit)];
    git::change_refs(&tree.path, &moved, "ralph: an attempt has ended")?;
    Ok(kept)
}

/// Returns the snapshots of a task, oldest first.
pub fn snapshots(site: &Site, name: &str) -> Result<Vec<Snapshot>, TreeError> {
    let of = |found: FoundRef| {
        let earlier = || Mark::of_earlier(&found.name, name).map(|(mark, number)| (mark, Some(number)));
        let (mark, earlier) = Mark::of(&found.name, name).map(|mark| (mark, None)).or_else(earlier)?;
        Some(Snapshot { mark, earlier, commit: found.commit, made_at: found.made_at })
    };
    let found = git::refs_below(&site.root, &names::all(name))?;
    let mut all: Vec<Snapshot> = found.into_iter().filter_map(of).collect();
    // Git knows no more than seconds.
    all.sort_by(|one, other| {
        let place = |one: &Snapshot| (one.made_at, one.mark.rank());
        place(one).cmp(&place(other)).then_with(|| one.mark.cmp(&other.mark))
    });
    Ok(all)
}

/// Lets a new reference lead to a commit that nothing else may lead to, and returns its name.
pub(super) fn hold_on(site: &Site, name: &str, why: &str, commit: &str) -> Result<String, TreeError> {
    let reference = next_number(site, &names::kept(name, why))?;
    git::change_refs(&site.root, &[RefChange::new(&reference, commit)], "ralph: kept")?;
    Ok(reference)
}

/// Returns the name of the next reference below a prefix whose references are numbered.
pub(super) fn next_number(site: &Site, prefix: &str) -> Result<String, TreeError> {
    let found = git::refs_below(&site.root, prefix)?;
    let numbers = found.iter().filter_map(|one| one.name.strip_prefix(prefix)?.parse::<u32>().ok());
    Ok(format!("{prefix}{}", numbers.max().unwrap_or(0) + 1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::{self, git};
    use crate::tree::testing::Scene;

    fn mark(iteration: u32, attempt: u32) -> Mark {
        Mark { stage: "coder".to_owned(), iteration, attempt }
    }

    // spec: P7
    #[test]
    fn of_two_stages_in_one_second_the_later_one_is_the_newest() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let commit = snapshot(&scene.site, &tree, &mark(1, 1)).unwrap().commit;
        for stage in ["tester", "qa", "reviewer"] {
            let same = [RefChange::new(format!("refs/ralph/T/{stage}/1/1"), &commit)];
            git::change_refs(&scene.root, &same, "test").unwrap();
        }
        let all = snapshots(&scene.site, "T").unwrap();
        let stages: Vec<&str> = all.iter().map(|one| one.mark.stage.as_str()).collect();
        assert_eq!(stages, ["coder", "reviewer", "tester", "qa"]);
    }

    // spec: P7
    #[test]
    fn every_attempt_has_a_reference_and_a_stage_that_is_tried_again_loses_none() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("new"), "one").unwrap();
        let one = snapshot(&scene.site, &tree, &mark(1, 1)).unwrap().commit;
        fs::write(tree.path.join("new"), "two").unwrap();
        let two = snapshot(&scene.site, &tree, &mark(1, 2)).unwrap().commit;
        assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/coder/1/2"]), two);
        let marks: Vec<Mark> = snapshots(&scene.site, "T").unwrap().into_iter().map(|one| one.mark).collect();
        assert_eq!(marks, [mark(1, 1), mark(1, 2)]);
        fs::write(tree.path.join("new"), "three").unwrap();
        let three = snapshot(&scene.site, &tree, &mark(1, 1)).unwrap().commit;
        assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/coder/1/1"]), three);
        assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/_earlier/coder/1/1/1"]), one);
        let all = snapshots(&scene.site, "T").unwrap();
        let earlier = all.iter().find(|one| one.earlier == Some(1)).unwrap();
        assert_eq!((&earlier.mark, &earlier.commit, all.len()), (&mark(1, 1), &one, 3));
        assert_eq!(git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? new\n");
    }
}
