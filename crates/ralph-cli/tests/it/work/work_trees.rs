//! Work trees of ralph: their location, and runs that work in one.
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ralph_engine::project::StateLocation;
use ralph_engine::worktree::{self, SnapshotKey, TaskWorktree, WorktreeLayout};
use rustix::process::Signal;

use crate::harness::{Call, Project, wait_until};

/// Runs git in a folder and returns what it printed.
#[track_caller]
pub fn git(folder: &std::path::Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
    let ran = Command::new("git").args(identity).args(args).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// A project with one commit, and tasks whose coder has this check.
pub fn with_tasks(tasks: &[(&str, &str)]) -> Project {
    let project = Project::new();
    project.write("file", "first\n");
    project.write("old", "old\n");
    project.write(".gitignore", "out\n.ralph/\n");
    project.commit();
    for (id, check) in tasks {
        let made = ["task", "create", id, "spec", "A task", "--outcome", "it works", "--acceptance", "it works"];
        project.ralph(made).args(["--coder-verify-cmd", check]).output().expect(0);
    }
    project
}

/// Returns where the trees of a project are, for this process and for every ralph in it.
pub fn tree_folder(project: &Project) -> WorktreeLayout {
    let root = project.root().canonicalize().unwrap();
    let remembered = project.state().join("tree-folder");
    let folder = project.home().canonicalize().unwrap().join("trees/project-12345678");
    fs::write(&remembered, folder.to_str().unwrap()).unwrap();
    project.make_private(&remembered);
    let state = StateLocation::unregistered(project.state());
    WorktreeLayout::for_project(&ralph_engine::project::Project { home: root.join(".ralph"), root, state }).unwrap()
}

/// Does the work of a task in its tree, without an agent, and accepts it.
pub fn commit_accepted_work(project: &Project, id: &str, file: &str, text: &str) -> TaskWorktree {
    let site = tree_folder(project);
    let tree = worktree::open_or_create(&site, id, &[]).unwrap().worktree;
    fs::write(tree.path.join(file), text).unwrap();
    let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
    worktree::take_snapshot(&site, &tree, &mark).unwrap();
    git(&tree.path, &["add", "--all"]);
    git(&tree.path, &["commit", "--quiet", "-m", "the work"]);
    let from = worktree::read_acceptance_base(&site, &tree).unwrap();
    worktree::accept_work(&site, &tree, &from, "coder", None).unwrap();
    tree
}

/// The state of the user's repository: files, index, HEAD, branches.
pub fn repository_state(project: &Project) -> Vec<String> {
    let root = project.root();
    let asked: [&[&str]; 4] = [
        &["status", "--porcelain"],
        &["ls-files", "--stage"],
        &["symbolic-ref", "HEAD"],
        &["for-each-ref", "refs/heads"],
    ];
    let mut all: Vec<String> = asked.iter().map(|args| git(&root, args)).collect();
    let found = Command::new("find")
        .args([".", "-path", "./.git", "-prune", "-o", "-path", "./.ralph", "-prune", "-o", "-type", "f"])
        .args(["-exec", "sha256sum", "{}", "+"])
        .current_dir(&root)
        .output()
        .unwrap();
    let mut sums: Vec<String> = String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect();
    sums.sort();
    all.extend(sums);
    all
}

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";

/// A run in its own tree whose agent executes this and claims.
fn run_in_own_tree<'a>(project: &'a Project, agent_script: &str) -> Call<'a> {
    let agent = format!("cat > /dev/null\n{agent_script}\necho '<promise>COMPLETE</promise>'");
    project.run_shell(&agent).args(["--worktree", "--check", "grep -q done work"])
}

fn project() -> Project {
    let project = with_tasks(&[]);
    project.write("file", "my own change\n");
    project
}

/// Returns the one tree of a project.
fn only_tree(project: &Project) -> PathBuf {
    let listed = git(&project.root(), &["worktree", "list", "--porcelain"]);
    let paths: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("worktree ")).collect();
    assert_eq!(paths.len(), 2, "{listed}");
    paths[1].into()
}

// spec: P9, P6, P7
#[test]
fn a_run_can_work_in_its_own_tree_and_be_landed() {
    let project = project();
    let before = repository_state(&project);
    let answer =
        run_in_own_tree(&project, &format!("echo done > work; {COMMIT}; pwd > note; echo left > work2")).output();
    assert_eq!(answer.expect(0).finished()["outcome"], "completed");
    let tree = only_tree(&project);
    let name = tree.file_name().unwrap().to_str().unwrap().to_owned();
    let there = fs::read_to_string(tree.join("note")).unwrap();
    assert_eq!(there.trim(), tree.to_str().unwrap(), "the agent works there");
    assert!(tree.starts_with(project.state().join("trees")), "{}", tree.display());
    let root = project.root();
    let after: Vec<String> = repository_state(&project);
    assert_eq!(after.iter().filter(|line| !line.contains("ralph/run-")).count(), before.len() - 1);
    assert_eq!(git(&root, &["show", &format!("ralph/{name}:work2")]), "left", "what was verified was committed");
    assert_eq!(git(&root, &["show", &format!("refs/ralph/{name}/run/1/1:work")]), "done");
    let landed = project.ralph(["land", &name, "--json"]).output().expect(0).json();
    assert_eq!(
        (&landed["landed"], &landed["verified"], &landed["tree"]),
        (&true.into(), &true.into(), &"removed".into())
    );
    assert_eq!(fs::read_to_string(root.join("work")).unwrap(), "done\n");
    assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "my own change\n");
}

// spec: P9
// fault: 1
#[test]
fn a_killed_run_in_a_tree_is_resumed_there() {
    let project = project();
    let agent_script = format!("[ -e begun ] || {{ echo x > begun; exec sleep 1000; }}; echo done > work; {COMMIT}");
    let running = run_in_own_tree(&project, &agent_script).start();
    let tree = |project: &Project| {
        // Git cannot list trees at the moment in which one is added.
        let listed = crate::work::pipeline::git(project, &["worktree", "list", "--porcelain"]);
        listed.lines().filter_map(|line| line.strip_prefix("worktree ")).nth(1).map(PathBuf::from)
    };
    wait_until("the agent works", || tree(&project).is_some_and(|tree| tree.join("begun").exists()));
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(fs::read_to_string(only_tree(&project).join("work")).unwrap(), "done\n");
    assert!(!project.root().join("work").exists());
}

// spec: P9, P6
#[test]
fn two_interrupts_lose_no_work_of_a_run_in_its_own_tree() {
    let project = project();
    let agent_script = format!(
        "echo more > work; {COMMIT}; echo uncommitted > draft; trap '' INT TERM; touch begun; sleep 1000 & wait; wait"
    );
    let running = run_in_own_tree(&project, &agent_script).start();
    // Git cannot list the trees while one is being added.
    running.wait_for_event("attempt.started");
    let tree = only_tree(&project);
    wait_until("the agent works", || tree.join("begun").exists());
    running.signal(Signal::INT);
    running.wait_for_event("stop.requested");
    running.signal(Signal::INT);
    running.wait().expect(130);
    let name = tree.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(tree.join("draft")).unwrap(), "uncommitted\n");
    assert_eq!(git(&tree, &["log", "-1", "--format=%s"]), "work");
    assert_eq!(git(&project.root(), &["show", &format!("refs/ralph/{name}/run/1/1:draft")]), "uncommitted");
}

// spec: P6
#[test]
fn a_tree_is_set_up_once_with_commands_that_the_user_has_approved() {
    let project = project();
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "pipeline: { setup: ['echo x >> out', 'test -e file'] }\n");
    let refused = run_in_own_tree(&project, "echo done > work").output().expect(1);
    assert!(refused.stderr.contains("pipeline.setup"), "{}", refused.stderr);
    assert_eq!(git(&project.root(), &["worktree", "list"]).lines().count(), 1);
    project.trust();
    run_in_own_tree(&project, "echo done > work").output().expect(0);
    let tree = only_tree(&project);
    assert_eq!(fs::read_to_string(tree.join("out")).unwrap(), "x\n");
    assert!(!project.root().join("out").exists());
}

// spec: P6
#[test]
fn a_failed_tree_setup_is_reported_with_its_log_and_leaves_nothing() {
    let project = project();
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "pipeline: { setup: ['echo no packages >&2; exit 7'] }\n");
    project.trust();
    let before = repository_state(&project);
    let failed = run_in_own_tree(&project, "echo done > work").output().expect(1);
    assert!(failed.stderr.contains("could not be set up") && failed.stderr.contains("exit 7"), "{}", failed.stderr);
    let log = failed.stderr.split("see ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    assert!(fs::read_to_string(log).unwrap().contains("no packages"));
    assert_eq!(repository_state(&project), before);
    assert_eq!(git(&project.root(), &["for-each-ref", "refs/ralph"]), "");
}

// finding: N37
// spec: P9
#[test]
fn changes_of_a_run_can_be_shown_and_undone_once() {
    let project = with_tasks(&[]);
    project.write("mine", "before\n");
    let agent = format!(
        "cat > /dev/null; echo done > work; rm old; {COMMIT}; echo more > more; echo '<promise>COMPLETE</promise>'"
    );
    project.run_shell(&agent).args(["--check", "grep -q done work"]).output().expect(0);
    let diff = project.ralph(["diff"]).output().expect(0).stdout;
    for line in ["+++ b/work", "+done", "+++ b/more", "deleted file mode 100644"] {
        assert!(diff.contains(line), "{line}:\n{diff}");
    }
    assert!(!diff.contains("mine"), "{diff}");
    let stat = project.ralph(["diff", "--stat"]).output().expect(0).stdout;
    assert!(stat.contains("3 files changed"), "{stat}");
    let run = project.ralph(["runs", "--json"]).output().json()[0]["id"].as_str().unwrap().to_owned();
    project.write("more", "changed by the user\n");
    let refused = project.ralph(["undo", &run]).output().expect(1);
    assert!(refused.stderr.contains("more") && project.root().join("work").exists(), "{}", refused.stderr);
    project.write("more", "more\n");
    let undone = project.ralph(["undo", &run, "--json"]).output().expect(0).json();
    assert_eq!(undone["files"], serde_json::json!(["more", "old", "work"]));
    assert!(project.root().join("old").exists() && !project.root().join("work").exists());
    assert_eq!(fs::read_to_string(project.root().join("mine")).unwrap(), "before\n");
    assert_eq!(git(&project.root(), &["show", &format!("{}:work", undone["kept"].as_str().unwrap())]), "done");
    let again = project.ralph(["undo", &run]).output().expect(1).stderr;
    assert!(again.contains("is already undone"), "{again}");
    assert!(!again.contains("changed since"), "{again}");
}

// spec: P9
#[test]
fn a_run_without_a_snapshot_has_no_diff() {
    let project = with_tasks(&[]);
    fs::File::create(project.root().join("too-large")).unwrap().set_len(65 << 20).unwrap();
    project.run(&["complete"]).output().expect(0);
    let refused = project.ralph(["diff"]).output().expect(1);
    assert!(refused.stderr.contains("no snapshot was taken before run"), "{}", refused.stderr);
    project.ralph(["undo", "nothing"]).output().expect(64);
}

/// Does the work of the task that the prompt names, commits it, and claims.
const WORKER: &str = r#"
task=$(sed -n 's/^- \*\*Task\*\*: //p')
if [ -e "$(dirname "$0")/hold" ]; then touch "$(dirname "$0")/holding"; sleep 1000; fi
echo "$task" > "done-$task"; git add --all
git -c user.name=A -c user.email=a@example.invalid commit --quiet -m "work on $task"
echo draft > "draft-$task"
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'
"#;

/// Two tasks with one stage, and a worker for them.
fn work(project: &Project) -> Call<'_> {
    let agent = project.shell(WORKER);
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "pipeline: { stages: [coder], land: auto, slots: 2 }\n");
    project.ralph(["trust", "--yes"]).output().expect(0);
    project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--json", "--until-idle"])
}

// spec: P6, P7
#[test]
fn a_worker_keeps_every_attempt_and_lands_what_is_done() {
    let project = with_tasks(&[("T-1", "test -e done-T-1"), ("T-2", "test -e done-T-2 && test -e file")]);
    project.write("mine", "not committed\n");
    let answer = work(&project).output().expect(0);
    let mut landed: Vec<String> =
        answer.events_named("task.landed").iter().map(|event| event["task"].as_str().unwrap().to_owned()).collect();
    landed.sort();
    assert_eq!(landed, ["T-1", "T-2"], "{}", answer.stdout);
    let root = project.root();
    for id in ["T-1", "T-2"] {
        assert_eq!(fs::read_to_string(root.join(format!("done-{id}"))).unwrap(), format!("{id}\n"));
        assert_eq!(git(&root, &["show", &format!("refs/ralph/{id}/coder/1/1:draft-{id}")]), "draft");
        assert!(root.join(format!("draft-{id}")).exists(), "what was verified was accepted, committed or not");
    }
    assert_eq!(git(&root, &["status", "--porcelain"]), "?? mine");
    assert_eq!(git(&root, &["worktree", "list"]).lines().count(), 1);
}

// spec: P6
#[test]
fn work_that_a_worker_cannot_land_is_reported_and_kept() {
    let project = with_tasks(&[("T-1", "test -e done-T-1")]);
    project.write("done-T-1", "mine\n");
    let answer = work(&project).output().expect(0);
    let events = answer.events_named("task.not_landed");
    assert!(events[0]["message"].as_str().unwrap().contains("done-T-1"), "{events:?}");
    assert_eq!(fs::read_to_string(project.root().join("done-T-1")).unwrap(), "mine\n");
    fs::remove_file(project.root().join("done-T-1")).unwrap();
    project.ralph(["land", "T-1"]).output().expect(0);
    assert_eq!(fs::read_to_string(project.root().join("done-T-1")).unwrap(), "T-1\n");
}

// spec: P7
#[test]
fn an_active_task_is_not_rewound() {
    let project = with_tasks(&[("T-1", "true")]);
    fs::write(project.outside("hold"), "").unwrap();
    let running = work(&project).start();
    wait_until("the agent works", || project.outside("holding").exists());
    let refused = project.ralph(["rewind", "T-1", "1"]).start().wait_without_invariants().expect(1);
    assert!(refused.stderr.contains("is working on task T-1"), "{}", refused.stderr);
    running.signal(Signal::INT);
    running.wait();
}

// spec: P6
#[test]
fn ralph_inside_a_task_work_tree_lists_the_runs_of_its_project() {
    let project = project();
    run_in_own_tree(&project, "echo done > work").output().expect(0);
    let there = project.ralph(["runs", "--json"]).folder(&only_tree(&project)).output().expect(0).json();
    assert_eq!(there.as_array().unwrap().len(), 1);
    assert!(!only_tree(&project).join(".ralph").exists());
}

// spec: P6, P7
#[test]
fn an_unlocked_tree_keeps_the_changes_of_the_user() {
    let project = crate::work::pipeline::project(&[("T-1", "")]);
    let running = crate::work::pipeline::start_held_worker(
        &project,
        "coder",
        crate::work::pipeline::work(&project, &["--until-idle"]),
    );
    running.signal(Signal::INT);
    running.wait().expect(130);
    let tree = only_tree(&project);
    fs::write(tree.join("mine"), "committed\n").unwrap();
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "-m", "mine"]);
    fs::write(tree.join("mine"), "edited\n").unwrap();
    git(&project.root(), &["worktree", "unlock", tree.to_str().unwrap()]);
    crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(git(&project.root(), &["show", "ralph/T-1:mine"]), "edited");
    assert!(git(&project.root(), &["log", "--format=%s", "ralph/T-1"]).contains("mine"));
}

// spec: P9
#[test]
fn a_stage_is_not_undone_while_its_tree_is_in_use() {
    let project = crate::work::pipeline::project(&[("T-1", "")]);
    let running = crate::work::pipeline::start_held_worker(
        &project,
        "reviewer",
        crate::work::pipeline::work(&project, &["--until-idle"]),
    );
    let runs = project.ralph(["task", "show", "T-1", "--json"]).start().wait_without_invariants().json();
    let coder = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let refused = project.ralph(["undo", &coder]).start().wait_without_invariants().expect(1);
    assert!(refused.stderr.contains("is working on task T-1"), "{}", refused.stderr);
    let moved = project.ralph(["task", "edit", "T-1", "--status", "done"]).start().wait_without_invariants();
    assert!(moved.expect(1).stderr.contains("ralph cancel T-1"));
    assert!(only_tree(&project).join("done-T-1").exists());
    running.signal(Signal::INT);
    running.wait().expect(130);
    project.ralph(["undo", &coder]).output().expect(0);
    assert!(!only_tree(&project).join("done-T-1").exists());
}

// spec: P6
#[test]
fn a_tester_that_amends_the_last_commit_does_not_block_its_task() {
    let project = crate::work::pipeline::project(&[("T-1", "")]);
    let agent = fs::read_to_string(project.outside("agent.sh")).unwrap();
    let amend = "echo test > test-T-1; git add -A; git -c user.name=A -c user.email=a@example.invalid commit --quiet --amend -m amended; echo";
    fs::write(project.outside("agent.sh"), agent.replace("tester) echo", &format!("tester) {amend}"))).unwrap();
    crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    let root = project.root();
    assert_eq!(git(&root, &["ls-tree", "--name-only", "ralph/T-1"]), "done-T-1\ntest-T-1");
    assert!(git(&root, &["log", "--format=%s", "ralph/T-1"]).contains("work on T-1"), "what was accepted stays");
}
