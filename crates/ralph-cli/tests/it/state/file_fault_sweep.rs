//! Fault injection for files beside the database: logs, locks, notes, session logs, approvals. The file names of a new
//! run are unknown beforehand, so the calls of ralph's first thread are counted: it writes all of these files, and the
//! database, the keeper and the agents use other threads.
use std::fs;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, wait_until};
use crate::state::disk_faults::run_in_mount_namespace;

/// Kills ralph at each call of its first thread, one after the other, until a run passes without a fault.
fn sweep(call: &str, at_least: u32, scene: impl Fn(&Project, &dyn Fn(Call<'_>) -> CallOutput)) {
    for number in 1..400 {
        let project = Project::new();
        let trace = project.outside("trace");
        scene(&project, &|ralph| {
            let inject = format!("inject={call}:signal=SIGKILL:when={number}");
            let args = ["-qq", "-o", trace.to_str().unwrap(), "-e", &format!("trace={call}"), "-e", &inject];
            let answer = ralph.run_under_strace(args).start().wait_without_invariants();
            assert!([0, -9].contains(&answer.code()), "{call} {number}: {}{}", answer.stdout, answer.stderr);
            wait_until("agents and checks are gone", || project.processes_of_runs().is_empty());
            answer
        });
        if !fs::read_to_string(&trace).unwrap().contains("killed by SIGKILL") {
            assert!(number > at_least, "{call} was called only {number} times");
            return;
        }
    }
    panic!("{call} is called without end");
}

fn classic(project: &Project) -> Call<'_> {
    let prompt = project.write("go.md", "Do it.\n<promise>COMPLETE</promise>\n");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete-on", "--agent-arg=2"];
    project.ralph(["prompt".as_ref(), prompt.as_os_str()]).args(agent).args(["--json"])
}

/// Asserts that the run can be resumed without the fault; if none was recorded, that a new one completes.
fn assert_resumes(project: &Project, anew: Call<'_>) {
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    let call = if runs.as_array().unwrap().is_empty() { anew } else { project.ralph(["resume", "--json"]) };
    assert_eq!(call.output().expect(0).finished()["outcome"], "completed");
}

fn a_fresh_run(project: &Project, shot: &dyn Fn(Call<'_>) -> CallOutput) {
    let run = || project.run(&["complete-on", "2"]).args(["--check", "true"]);
    shot(run());
    assert_resumes(project, run());
}

fn a_classic_run(project: &Project, shot: &dyn Fn(Call<'_>) -> CallOutput) {
    shot(classic(project));
    assert_resumes(project, classic(project));
    project.ralph(["gc", "--older-than", "1ms"]).output().expect(0);
}

// spec: L13, L16
// fault: 6
#[test]
fn a_new_run_killed_at_any_write_to_its_logs_locks_and_notes_can_be_resumed() {
    sweep("write", 5, a_fresh_run);
    for (call, at_least) in [("mkdirat", 2), ("unlinkat", 0), ("ftruncate", 0), ("fsync", 0)] {
        sweep(call, at_least, a_fresh_run);
    }
}

// spec: L13, C5
// fault: 6
#[test]
fn a_classic_run_killed_at_any_write_of_its_session_log_can_be_resumed() {
    sweep("write", 10, a_classic_run);
}

/// The state of the approvals: none yet, or one of another project.
fn an_approval(project: &Project, shot: &dyn Fn(Call<'_>) -> CallOutput) {
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: [make one]\n");
    project.trust();
    project.write(".ralph/config.yaml", "checks: [make two]\n");
    shot(project.ralph(["trust", "--yes"]));
    let shown = project.ralph(["trust", "--show"]).output().expect(0).stdout;
    let known = ["not approved: changed since the last approval\n", "\napproved\n"];
    assert!(known.iter().any(|known| shown.ends_with(known)), "the old list or the new one: {shown}");
    project.trust();
    assert!(project.ralph(["trust", "--show"]).output().expect(0).stdout.ends_with("\napproved\n"));
    let left = fs::read_dir(project.home().join(".local/state/ralph")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["trusted.json", "trusted.lock"], "no draft is left");
}

// spec: X6
// fault: 6
#[test]
fn an_approval_killed_at_any_point_leaves_the_old_list_or_the_new_one() {
    for (call, at_least) in [("write", 2), ("fsync", 2), ("rename", 1), ("unlink", 1), ("flock", 1)] {
        sweep(call, at_least, an_approval);
    }
}

// spec: X6
// fault: 7
#[test]
fn an_approval_that_cannot_be_written_is_refused_and_the_old_list_stays() {
    for (call, fault) in [("write", "EIO"), ("write", "ENOSPC"), ("fsync", "EIO"), ("rename", "EIO")] {
        let project = Project::new();
        fs::create_dir_all(project.root().join(".ralph")).unwrap();
        project.write(".ralph/config.yaml", "checks: [make one]\n");
        project.trust();
        let list = project.home().join(".local/state/ralph/trusted.json");
        let before = fs::read(&list).unwrap();
        project.write(".ralph/config.yaml", "checks: [make two]\n");
        let draft = list.with_extension("new");
        let inject = format!("inject={call}:error={fault}:when=1");
        let paths = ["-P".to_owned(), draft.display().to_string()];
        let args = ["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject].map(str::to_owned);
        let answer =
            project.ralph(["trust", "--yes"]).run_under_strace(args.into_iter().chain(paths)).output().expect(1);
        assert!(
            answer.stderr.contains("cannot write the list of trusted projects"),
            "{call} {fault}: {}",
            answer.stderr
        );
        assert_eq!(fs::read(&list).unwrap(), before, "{call} {fault}");
        project.trust();
    }
}

/// Runs on a disk with these limits, which are then lifted: the run must resume or start.
fn on_a_small_disk(limit: &str) -> (i32, String) {
    let project = Project::new();
    let answer = run_in_mount_namespace(
        &project,
        &format!(
            "run() {{ \"$RALPH\" run work --agent text --agent-cmd \"$AGENT\" --agent-arg=complete-on --agent-arg=2 \
                 --promise COMPLETE --check true --json; }}
             mkdir -p \"$STATE\"; mount -t tmpfs -o {limit},mode=700 tmpfs \"$STATE\"
             code=0; run > first || code=$?
             mount -o remount,size=16m,nr_inodes=1000 \"$STATE\"
             echo \"code $code\"
             if [ \"$(\"$RALPH\" runs --json)\" = '[]' ]; then run; else \"$RALPH\" resume --json; fi
             \"$RALPH\" events > kept"
        ),
    );
    let printed = format!("{limit}: {}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("\"outcome\":\"completed\""), "{printed}");
    let code = answer.stdout.split_once("code ").unwrap().1.split_once('\n').unwrap().0.parse().unwrap();
    assert!([0, 10].contains(&code), "{printed}");
    let has_failed = code != 0;
    let names_the_path = answer.stderr.contains(&project.state().display().to_string());
    assert_eq!(names_the_path, has_failed, "a failure names the path: {printed}");
    let read = |name: &str| fs::read_to_string(project.root().join(name)).unwrap();
    let (first, kept) = (read("first"), read("kept"));
    assert_eq!(first.contains("run.finished"), !has_failed, "a failed run announces no end: {printed}");
    for line in first.lines().filter(|line| !line.contains("\"event\":\"warning\"")) {
        assert!(kept.lines().any(|stored| stored == line), "lost: {line}; {printed}");
    }
    (code, printed)
}

/// Tries growing disks, from one on which nothing fits to one on which everything fits.
fn small_disks(limits: impl IntoIterator<Item = String>) {
    let codes: Vec<i32> = limits.into_iter().map(|limit| on_a_small_disk(&limit).0).collect();
    assert_eq!((codes.first(), codes.last()), (Some(&10), Some(&0)), "{codes:?}");
}

// spec: L13
// fault: 7, 56
#[test]
fn a_disk_with_one_more_page_each_time_loses_nothing_at_any_short_write() {
    small_disks((1..=60).step_by(3).chain([400]).map(|pages| format!("size={}", pages * 4_096)));
}

// spec: L13
// fault: 7, 56
#[test]
fn a_disk_with_one_more_file_each_time_loses_nothing() {
    small_disks((2..=18).map(|files| format!("size=16m,nr_inodes={files}")));
}

// spec: L13
// fault: 7
#[test]
fn short_writes_at_a_file_size_limit_lose_nothing() {
    let mut codes = Vec::new();
    for bytes in (1_000_u32..260_000).step_by(20_011).chain([4_000_000]) {
        let project = Project::new();
        let run = || project.run(&["complete-on", "2"]).args(["--check", "true"]);
        let limit = [format!("--fsize={bytes}")];
        let struck = run().run_under("prlimit", limit).output_with_damaged_state();
        assert!([0, 10].contains(&struck.code()), "{bytes}: {}{}", struck.stdout, struck.stderr);
        codes.push(struck.code());
        assert_resumes(&project, run());
        let kept = project.ralph(["events"]).output().expect(0).stdout;
        for line in struck.stdout.lines().filter(|line| !line.contains("\"event\":\"warning\"")) {
            assert!(kept.lines().any(|stored| stored == line), "{bytes}: lost: {line}");
        }
    }
    assert_eq!((codes.first(), codes.last()), (Some(&10), Some(&0)), "{codes:?}");
}
