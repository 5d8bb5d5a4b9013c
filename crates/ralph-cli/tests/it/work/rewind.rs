//! `ralph rewind`: the tree of a task returns to an earlier attempt, and nothing is lost.
use std::fs;

use ralph_engine::worktree::{self, SnapshotKey};
use rustix::process::Signal;

use crate::harness::{Project, wait_until};
use crate::work::pipeline;
use crate::work::work_trees::{commit_accepted_work, git, tree_folder, with_tasks};

/// A task with two iterations: the first left something uncommitted, the second was accepted.
pub fn task_with_two_iterations() -> (Project, worktree::TaskWorktree) {
    let project = with_tasks(&[("T-1", "true")]);
    let tree = commit_accepted_work(&project, "T-1", "work", "one\n");
    fs::write(tree.path.join("work"), "two\n").unwrap();
    git(&tree.path, &["commit", "--quiet", "--all", "-m", "two"]);
    let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 2, attempt: 1 };
    worktree::take_snapshot(&tree_folder(&project), &tree, &mark).unwrap();
    fs::write(tree.path.join("now"), "not committed\n").unwrap();
    (project, tree)
}

// spec: P7
#[test]
fn a_tree_is_rewound_to_an_iteration_and_later_work_is_kept() {
    let (project, tree) = task_with_two_iterations();
    let listed = project.ralph(["rewind", "T-1", "--json"]).output().expect(0).events();
    let marks: Vec<_> = listed.iter().map(|one| (&one["stage"], &one["iteration"], &one["attempt"])).collect();
    assert_eq!(marks, [(&"coder".into(), &1.into(), &1.into()), (&"coder".into(), &2.into(), &1.into())]);
    let json = project.ralph(["rewind", "T-1", "coder", "1", "--json"]).output().expect(0).json();
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n");
    assert_eq!(git(&tree.path, &["status", "--porcelain"]), "?? work", "it was not committed then");
    let root = project.root();
    assert_eq!(git(&root, &["rev-parse", "ralph/T-1"]), tree.base);
    let kept = json["kept"].as_str().unwrap();
    assert_eq!(git(&root, &["show", &format!("{kept}:now")]), "not committed");
    let printed = project.ralph(["rewind", "T-1", "2"]).output().expect(0).stdout;
    assert!(printed.contains("after attempt 1 of iteration 2 of coder\n"), "{printed}");
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "two\n");
}

// spec: P7
#[test]
fn a_tree_can_be_rewound_to_an_earlier_round_of_a_stage() {
    let (project, tree) = task_with_two_iterations();
    let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
    worktree::take_snapshot(&tree_folder(&project), &tree, &mark).unwrap();
    let listed = project.ralph(["rewind", "T-1", "--json"]).output().expect(0).events();
    assert!(listed.iter().any(|one| one["earlier"] == 1) && listed.len() == 3, "{listed:?}");
    let shown = project.ralph(["rewind", "T-1"]).output().expect(0).stdout;
    assert!(shown.contains("  --earlier 1\n"), "{shown}");
    project.ralph(["rewind", "T-1", "coder", "1", "--earlier", "1"]).output().expect(0);
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n");
    project.ralph(["rewind", "T-1", "coder", "1", "--earlier", "2"]).output().expect(1);
}

// spec: P7
#[test]
fn missing_iterations_and_finished_tasks_are_refused() {
    let (project, _tree) = task_with_two_iterations();
    let refused = |args: &[&str], code: i32, words: &str| {
        let answer = project.ralph(["rewind"]).args(args).output().expect(code);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
    };
    refused(&["T-1", "7"], 1, "there is no snapshot of iteration 7 of task T-1");
    refused(&["T-1", "tester", "1"], 1, "there is no snapshot of iteration 1 of tester of task T-1");
    refused(&["T-1", "first"], 64, "\"first\" is not an iteration");
    refused(&["T-9", "1"], 64, "there is no task \"T-9\" here");
    refused(&["T-9"], 64, "did you mean T-1?");
    refused(&["run-12345678"], 64, "there is no task");
    project.ralph(["task", "edit", "T-1", "--status", "done"]).output().expect(0);
    refused(&["T-1", "1"], 1, "task T-1 is done");
}

// spec: P7
// fault: 6
#[test]
fn a_killed_rewind_loses_nothing_and_can_be_repeated() {
    for point in ["rewind.kept", "rewind.files.moved"] {
        let (project, tree) = task_with_two_iterations();
        let killed = project.ralph(["rewind", "T-1", "1"]).env("RALPH_FAIL", format!("{point}:1"));
        killed.start().wait_without_invariants().expect(-6);
        assert_eq!(git(&project.root(), &["show", "refs/ralph/T-1/_before-rewind/1:now"]), "not committed");
        project.ralph(["rewind", "T-1", "1"]).output().expect(0);
        assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n", "{point}");
        assert_eq!(git(&tree.path, &["status", "--porcelain"]), "?? work");
    }
}

/// A coder that needs two iterations, and a reviewer that waits for the test.
const SLOW_AGENT: &str = r#"
marks=$(dirname "$0")/marks
role=$(sed -n 's/^- \*\*Stage\*\*: //p')
echo "T-1 $role" >> "$marks/starts"
commit() { git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet -m "$1"; }
case $role in
coder) if [ -e half ]; then echo x > done-T-1; commit two; echo "<promise>IMPLEMENTATION_COMPLETE</promise>"
  else echo h > half; commit one; echo "half of it"; fi;;
reviewer) [ -e "$marks/go" ] || { touch "$marks/holding"; exec sleep 1000; }; echo "<promise>REVIEW_PASSED</promise>";;
esac
"#;

// spec: P6, P7
#[test]
fn a_rewound_task_continues_with_the_stage_of_the_rewind() {
    let project = pipeline::project(&[("T-1", "")]);
    project.shell(SLOW_AGENT);
    let work = || pipeline::work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder,reviewer");
    let running = work().start();
    wait_until("the reviewer is at work", || project.outside("marks/holding").exists());
    let refused = project.ralph(["rewind", "T-1", "coder", "1"]).start().wait_without_invariants().expect(1);
    assert!(refused.stderr.contains("is working on task T-1"), "{}", refused.stderr);
    running.signal(Signal::INT);
    running.wait().expect(130);
    let root = project.root();
    project.ralph(["rewind", "T-1", "coder", "1"]).output().expect(0);
    assert_eq!(pipeline::statuses(&project)[0].1, "coding");
    assert_eq!(git(&root, &["rev-parse", "ralph/T-1"]), git(&root, &["rev-parse", "HEAD"]), "half of it is not proven");
    fs::write(project.outside("marks/go"), "").unwrap();
    work().output().expect(0);
    let expected = ["coder", "coder", "reviewer", "coder", "reviewer"].map(|role| format!("T-1 {role}"));
    assert_eq!(pipeline::starts(&project), expected);
    assert_eq!(git(&root, &["ls-tree", "--name-only", "ralph/T-1"]), "done-T-1\nhalf");
}

// spec: P6, P7
#[test]
fn a_rewind_is_refused_while_the_branch_has_a_commit_of_the_user() {
    let (project, tree) = task_with_two_iterations();
    let root = project.root();
    let mine = git(&root, &["commit-tree", "HEAD^{tree}", "-p", "ralph/T-1", "-m", "mine"]);
    git(&root, &["branch", "--force", "ralph/T-1", &mine]);
    let refused = project.ralph(["rewind", "T-1", "coder", "1"]).output().expect(1);
    assert!(refused.stderr.contains("the branch ralph/T-1 was moved outside ralph"), "{}", refused.stderr);
    assert_eq!(git(&root, &["rev-parse", "ralph/T-1"]), mine);
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "two\n");
    git(&root, &["branch", "--move", "ralph/T-1", "mine"]);
    project.ralph(["rewind", "T-1", "coder", "1"]).output().expect(0);
    assert_eq!(git(&root, &["rev-parse", "ralph/T-1"]), tree.base);
}

// spec: P7, P9
#[test]
fn a_tree_with_an_active_run_is_not_rewound() {
    let project = with_tasks(&[]);
    let ready = project.outside("waiting");
    let waits = format!("touch {}; exec sleep 1000", ready.display());
    let agent = format!("cat > /dev/null; if [ -e begun ]; then {waits}; fi; echo x > begun; echo more");
    let running = project.run_shell(&agent).args(["--worktree"]).start();
    wait_until("the second iteration is at work", || ready.exists());
    let branch = git(&project.root(), &["for-each-ref", "--format=%(refname)", "refs/heads/ralph"]);
    let name = branch.rsplit('/').next().unwrap().to_owned();
    let refused = project.ralph(["rewind", &name, "1"]).start().wait_without_invariants().expect(1);
    assert!(refused.stderr.contains("works in this tree"), "{}", refused.stderr);
    running.signal(Signal::INT);
    running.wait().expect(130);
    project.ralph(["rewind", &name, "1"]).output().expect(0);
}
