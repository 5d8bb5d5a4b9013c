//! `ralph rewind`: the tree of a task goes back to an earlier attempt, and nothing is lost.
use std::fs;

use ralph::tree::{self, Mark};

use crate::harness::Project;
use crate::trees::{git, site, with_tasks, worked};

/// A task with two iterations: the first left something uncommitted, the second was accepted.
fn twice() -> (Project, tree::Tree) {
    let project = with_tasks(&[("T-1", "true")]);
    let tree = worked(&project, "T-1", "work", "one\n");
    fs::write(tree.path.join("work"), "two\n").unwrap();
    git(&tree.path, &["commit", "--quiet", "--all", "-m", "two"]);
    let mark = Mark { stage: "coder".to_owned(), iteration: 2, attempt: 1 };
    tree::snapshot(&site(&project), &tree, &mark).unwrap();
    fs::write(tree.path.join("now"), "not committed\n").unwrap();
    (project, tree)
}

// spec: P7
#[test]
fn a_tree_goes_back_to_an_iteration_and_what_was_there_is_kept() {
    let (project, tree) = twice();
    let listed = project.ralph(["rewind", "T-1", "--json"]).output().expect(0).events();
    let marks: Vec<_> =
        listed.iter().map(|one| (&one["stage"], &one["iteration"], &one["attempt"])).collect();
    assert_eq!(marks, [(&"coder".into(), &1.into(), &1.into()), (&"coder".into(), &2.into(), &1.into())]);
    let json = project.ralph(["rewind", "T-1", "coder", "1", "--json"]).output().expect(0).json();
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n");
    assert_eq!(git(&tree.path, &["status", "--porcelain"]), "?? work", "it was not committed then");
    let root = project.root();
    assert_eq!(git(&root, &["rev-parse", "ralph/T-1"]), tree.base);
    let kept = json["kept"].as_str().unwrap();
    assert_eq!(git(&root, &["show", &format!("{kept}:now")]), "not committed");
    let told = project.ralph(["rewind", "T-1", "2"]).output().expect(0).stdout;
    assert!(told.contains("after attempt 1 of iteration 2 of coder\n"), "{told}");
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "two\n");
}

// spec: P7
#[test]
fn what_is_not_there_and_what_is_over_is_refused() {
    let (project, _tree) = twice();
    let refused = |args: &[&str], code: i32, words: &str| {
        let answer = project.ralph(["rewind"]).args(args).output().expect(code);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
    };
    refused(&["T-1", "7"], 1, "there is no snapshot of iteration 7 of task T-1");
    refused(&["T-1", "tester", "1"], 1, "there is no snapshot of iteration 1 of tester of task T-1");
    refused(&["T-1", "first"], 64, "\"first\" is no iteration");
    refused(&["T-9", "1"], 64, "there is no task \"T-9\" here");
    project.ralph(["task", "edit", "T-1", "--status", "done"]).output().expect(0);
    refused(&["T-1", "1"], 1, "task T-1 is done");
}

// spec: P7
// fault: 6
#[test]
fn a_rewinding_that_is_killed_loses_nothing_and_can_be_done_again() {
    for point in ["rewind.kept", "rewind.files.moved"] {
        let (project, tree) = twice();
        let killed = project.ralph(["rewind", "T-1", "1"]).env("RALPH_FAIL", format!("{point}:1"));
        killed.start().wait_without_invariants().expect(-6);
        assert_eq!(git(&project.root(), &["show", "refs/ralph/T-1/_before-rewind/1:now"]), "not committed");
        project.ralph(["rewind", "T-1", "1"]).output().expect(0);
        assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n", "{point}");
        assert_eq!(git(&tree.path, &["status", "--porcelain"]), "?? work");
    }
}
