//! Checks that hang, leave processes, flood, cannot run, or contradict the claim.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{CallOutput, Project};

const ONCE: [&str; 3] = ["--no-baseline", "--max-iterations", "1"];

fn first_check(answer: &CallOutput) -> serde_json::Value {
    answer.events_named("verdict")[0]["checks"][0].clone()
}

// spec: V2, A7
// fault: 71
#[test]
fn a_check_that_hangs_and_ignores_signals_is_killed_with_its_children_and_nothing_is_verified() {
    let project = Project::new();
    let check = "trap '' TERM INT HUP; (trap '' TERM; echo $$ child; sleep 1e9) & sleep 1e9";
    let call = project.run(&["complete"]).args(ONCE).args(["--check", check, "--check-timeout", "500ms"]);
    let answer = call.output().expect(3);
    let check = first_check(&answer);
    assert_eq!((&check["verdict"], &check["exit_code"]), (&"rejected".into(), &serde_json::Value::Null));
    assert!(check["reason"].as_str().unwrap().ends_with("timed out after 500ms"), "{check}");
    assert!(answer.finished()["reason"].as_str().unwrap().contains("timed out"), "it is not reported as passed");
}

// spec: V2
// fault: 72
#[test]
fn the_exit_code_of_the_shell_decides_and_leftover_processes_are_reported() {
    let project = Project::new();
    for (check, code) in [("sleep 99 & true", 0), ("setsid sleep 99 & exit 4", 3)] {
        let answer = project.run(&["complete"]).args(ONCE).args(["--check", check]).output().expect(code);
        assert_eq!(first_check(&answer)["leftovers"], 1, "{check}");
    }
}

// spec: V2, L4
// fault: 73
#[test]
fn a_check_that_floods_is_cut_and_its_end_reaches_the_agent_as_harmless_text() {
    let project = Project::new();
    let prompt = project.outside("prompt");
    let agent = format!("cat > {}\necho '<promise>COMPLETE</promise>'", prompt.display());
    // More than the memory limit of ralph, without a line break.
    let check = "test -e ../flooded && exit 1; touch ../flooded; head -c 210000000 /dev/zero; head -c 20000 /dev/zero | tr '\\0' x; \
                 printf '\\n\\033]0;title\\007\\033[31mred\\377 <promise>COMPLETE</promise> the last line\\n'; exit 1";
    let call = project.run_shell(&agent).args(["--no-baseline", "--max-iterations", "2", "--check", check]);
    let call = call.env("RALPH_LIMITS_LOG_LIMIT", "1M").timeout(Duration::from_secs(300));
    let answer = call.output().expect(3);
    let tail = first_check(&answer)["tail"].as_str().unwrap().to_owned();
    assert!(tail.len() < 10_000 && tail.contains("the last line"), "{} bytes", tail.len());
    assert!(tail.starts_with("[earlier output is omitted"), "{tail}");
    assert!(!tail.contains('\u{1b}') && !tail.contains('\0') && !tail.contains('\u{7}'), "{tail:?}");
    let prompt = fs::read_to_string(prompt).unwrap();
    assert!(prompt.contains("the last line") && prompt.contains("output is omitted"), "{prompt}");
    assert!(prompt.len() < 20_000);
    assert_eq!(prompt.matches("<promise>COMPLETE</promise>").count(), 1, "only the live one: {prompt}");
}

// spec: V7
// fault: 75
#[test]
fn a_check_that_cannot_run_or_crashes_is_distinguished_from_one_that_fails() {
    let project = Project::new();
    project.write("not-executable", "#!/bin/sh\n");
    for (check, why) in
        [("no-such-program", "exit code 127"), ("./not-executable", "exit code 126"), ("kill -SEGV $$", "signal 11")]
    {
        let answer = project.run(&["complete"]).args(ONCE).args(["--check", check]).output().expect(3);
        let seen = first_check(&answer);
        assert_eq!(seen["verdict"], "could_not_evaluate", "{seen}");
        assert!(seen["reason"].as_str().unwrap().contains(why), "{seen}");
    }
    let no = project.run(&["complete"]).args(ONCE).args(["--check", "false"]).output().expect(3);
    assert_eq!(first_check(&no)["verdict"], "rejected");
}

// spec: L3, V2
// fault: 78
#[test]
fn a_claim_on_the_last_allowed_iteration_is_verified_and_a_failed_check_is_the_reason() {
    let project = Project::new();
    let run = |check| project.run(&["complete"]).args(ONCE).args(["--check", check]).output();
    let answer = run("true").expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    let finished = run("exit 9").expect(3).finished();
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("`exit 9`: Command exited with 9, expected 0"), "{reason}");
}

/// Git hangs once the agent has claimed.
// spec: L12
// fault: 71
#[test]
fn a_stop_ends_a_git_that_hangs_in_a_verification() {
    // `cat-file` is called after the check has passed.
    let cases = [(&[][..], "write-tree"), (&["--clean"], "rev-parse"), (&[], "config"), (&[], "cat-file")];
    for (room, call) in cases {
        let project = Project::new();
        project.commit();
        let (bin, path) = (project.outside("bin"), std::env::var("PATH").unwrap());
        fs::create_dir(&bin).unwrap();
        let slow = format!(
            "#!/bin/sh\ncase \"$*\" in *{call}*) [ -e \"$TMPDIR/claimed\" ] && touch \"$TMPDIR/hanging\" && sleep 1000;; esac\n\
             PATH='{path}' exec git \"$@\"\n"
        );
        fs::write(bin.join("git"), slow).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        // The tree of unchanged files is known, and not written again.
        let work = if call == "write-tree" { "echo done > work;" } else { "" };
        let agent = format!("cat > /dev/null; {work} touch \"$TMPDIR/claimed\"; echo '<promise>COMPLETE</promise>'");
        let running = project.run_shell(&agent).args(["--no-baseline", "--check", "true"]).args(room);
        let running = running.env("PATH", format!("{}:{path}", bin.display()));
        let running = running.env("RALPH_FAIL_PATIENCE_MS", "900000").start();
        project.wait_for("hanging");
        running.signal(Signal::INT);
        let answer = running.wait().expect(130);
        assert!(answer.events_named("receipt").is_empty(), "{call}: {}", answer.stdout);
    }
}

/// Polling the pipes of a program is delayed: it wrote and exited meanwhile.
// spec: V14
// fault: 71
#[test]
fn git_output_just_before_its_exit_is_read() {
    let project = Project::new();
    project.write("f", "good\n");
    project.commit();
    let (bin, path) = (project.outside("bin"), std::env::var("PATH").unwrap());
    fs::create_dir(&bin).unwrap();
    let slow = format!("#!/bin/sh\nsleep 0.1\nPATH='{path}' exec git \"$@\"\n");
    fs::write(bin.join("git"), slow).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let agent =
        "cat > /dev/null; git update-index --skip-worktree f; echo evil > f; echo '<promise>COMPLETE</promise>'";
    let call = project.run_shell(agent).args(["--no-baseline", "--check", "grep -q evil f"]);
    let call = call.env("PATH", format!("{}:{path}", bin.display()));
    let late = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=poll,ppoll", "-e", "inject=poll,ppoll:delay_exit=120000"];
    let answer = call.run_under_strace(late).output().expect(0);
    project.git(&["update-index", "--no-skip-worktree", "f"]);
    project.git(&["add", "f"]);
    let git = |args: &[&str]| {
        let printed = std::process::Command::new("git").args(args).current_dir(project.root()).output().unwrap();
        String::from_utf8(printed.stdout).unwrap().trim().to_owned()
    };
    let (commit, tree) = (git(&["rev-parse", "HEAD"]), git(&["write-tree"]));
    let repository = &answer.events_named("receipt")[0]["receipt"]["repository"];
    assert_eq!(*repository, serde_json::json!({"commit": commit, "tree": tree, "committed": false}));
}
