//! Cheats after the work was accepted: what is landed must be what was verified.
use std::fs;

use super::task_cheat::TaskCheat;
use crate::harness::Project;
use crate::verification::task_seal::work;
use crate::work::work_trees::git;

const IDENTITY: [&str; 4] = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];

/// A task that was accepted and not landed.
fn accepted() -> Project {
    let cheat = TaskCheat { coder: "sh verify.sh", tester: "sh tester.sh", deeds: &["echo done tested > work"] };
    let project = cheat.project();
    work(&project).output().expect(0);
    project
}

/// Returns a commit on top of the accepted one with other content.
fn forge_commit(project: &Project) -> String {
    let root = project.root();
    fs::write(root.join("forged"), "forged\n").unwrap();
    let blob = git(&root, &["hash-object", "-w", "forged"]);
    fs::remove_file(root.join("forged")).unwrap();
    let listed = git(&root, &["ls-tree", "ralph/T-1"]);
    let listed = format!("{listed}\n100644 blob {blob}\tforged\n");
    fs::write(project.outside("tree"), listed).unwrap();
    let tree = git(&root, &["-c", "alias.mk=!git mktree <", "mk", project.outside("tree").to_str().unwrap()]);
    git(&root, &[&IDENTITY[..], &["commit-tree", &tree, "-p", "ralph/T-1", "-m", "forged"]].concat())
}

fn is_refused(project: &Project) {
    let refused = project.ralph(["land", "T-1"]).output().expect(1);
    assert!(refused.stderr.contains("the references of the task were changed from outside"), "{}", refused.stderr);
    assert!(!project.root().join("forged").exists());
}

fn references(project: &Project) -> Vec<String> {
    let listed =
        git(&project.root(), &["for-each-ref", "--format=%(refname)", "refs/heads/ralph/T-1", "refs/ralph/T-1"]);
    listed.lines().map(str::to_owned).collect()
}

// spec: V20
// finding: N10
#[test]
fn all_references_of_the_task_are_moved_to_a_forged_commit() {
    let project = accepted();
    let forged = forge_commit(&project);
    references(&project).iter().for_each(|name| drop(git(&project.root(), &["update-ref", name, &forged])));
    is_refused(&project);
}

// spec: V20
// finding: N10
#[test]
fn the_branch_of_the_task_is_moved_to_a_forged_commit() {
    let project = accepted();
    let forged = forge_commit(&project);
    git(&project.root(), &["update-ref", "refs/heads/ralph/T-1", &forged]);
    let answer = project.ralph(["land", "T-1"]).output();
    assert!(!project.root().join("forged").exists(), "{}{}", answer.stdout, answer.stderr);
}

// spec: V20
// finding: N10
#[test]
fn the_accepted_commit_is_amended() {
    let project = accepted();
    let tree = git(&project.root(), &["rev-parse", "ralph/T-1^{tree}"]);
    let parent = git(&project.root(), &["rev-parse", "ralph/T-1^"]);
    let amended = [&IDENTITY[..], &["commit-tree", &tree, "-p", &parent, "-m", "amended"]].concat();
    let amended = git(&project.root(), &amended);
    references(&project).iter().for_each(|name| drop(git(&project.root(), &["update-ref", name, &amended])));
    is_refused(&project);
}
