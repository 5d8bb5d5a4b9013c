//! A whole night: six tasks in two slots, with many failures.
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::control::cancel::beside;
use crate::harness::{Call, FAKE_AGENT, Project, wait_until_within};
use crate::work::leases::query_numbers;
use crate::work::pipeline::{git, project, shown, statuses, text, write_agent_command};

/// A tester that prints Claude's format, and is rate limited once if a test requests it.
const TESTER: &str = r#"#!/bin/sh
marks=$(dirname "$0")/marks; prompt="$marks/prompt.$$"; step="$marks/step.$$"; cat > "$prompt"
task=$(sed -n 's/^- \*\*Task\*\*: //p' "$prompt")
echo "$task tester $PWD" >> "$marks/starts"
if mv "$marks/wish-limit-$task" "$marks/granted-limit-$task" 2>/dev/null
then printf 'open\nlimit 1\nexit 1\n' > "$step"
else printf 'init\nsay 4 tests passed.\\n\\n{promise}\nresult 4 tests passed.\\n\\n{promise}\n' > "$step"
fi
FA_PROMISE=TESTS_PASSED FA_COUNT="$marks/count.$$" exec FAKE_AGENT script "$step" < "$prompt"
"#;

fn overnight_project() -> Project {
    let project = project(&[
        ("A", "  priority: 1\n"),
        ("B", "  priority: 1\n"),
        ("C", "  priority: 2\n  dependencies: [A]\n"),
        ("D", "  priority: 2\n  dependencies: [A, B]\n"),
        ("E", "  priority: 2\n"),
        ("F", "  priority: 3\n  dependencies: [D]\n"),
    ]);
    let tester = project.outside("tester.sh");
    fs::write(&tester, TESTER.replace("FAKE_AGENT", FAKE_AGENT)).unwrap();
    fs::set_permissions(&tester, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    let cast = project.outside("agent.sh");
    let config = format!(
        "agent: cast\nagents:\n  cast: {{type: text, cli: {}}}\n  tester: {{type: claude, cli: {}, args: []}}\n\
         ralph: {{tester: {{agent: tester}}}}\nstall: {{iterations: 2}}\n",
        cast.display(),
        tester.display()
    );
    fs::write(folder.join("config.yaml"), config).unwrap();
    for what in ["wish-reject-A-reviewer", "wish-fail-B-coder", "always-idle-C-coder", "wish-limit-D"] {
        write_agent_command(&project, what);
    }
    write_agent_command(&project, "wish-hold-E-coder");
    write_agent_command(&project, "wish-hold-F-qa");
    project
}

fn worker<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    project.ralph(["work", "--slots", "2", "--json"]).args(args).with(|command| {
        command.env_remove("RALPH_STALL_ITERATIONS");
    })
}

fn assert_statuses(project: &Project, expected: [&str; 6]) -> bool {
    statuses(project).iter().map(|(_, status)| status.as_str()).eq(expected)
}

fn files(project: &Project, branch: &str) -> Vec<String> {
    git(project, &["ls-tree", "--name-only", branch]).lines().map(str::to_owned).collect()
}

/// Returns how the runs of a task ended, oldest first.
fn run_outcomes(project: &Project, task: &str) -> Vec<String> {
    let runs = shown(project, task)["runs"].as_array().unwrap().clone();
    runs.iter().map(|run| format!("{} {}", text(&run["role"]), text(&run["outcome"]))).collect()
}

// spec: P1, P4, P5, P6, L6, L9, L11, L13
// fault: 90
#[test]
fn a_night_with_many_failures_ends_with_receipts_for_finished_tasks_and_reasons_for_the_rest() {
    let project = overnight_project();
    let first = worker(&project, &[]).start();
    let there = |name: &str| project.outside("marks").join(name).exists();
    wait_until_within(crate::harness::WAIT_TIMEOUT * 3, "E is at work", || there("holding-E"));
    let call = beside(&project, &["cancel", "E"]).expect(0);
    assert!(call.stdout.contains("Cancelled Ralph loop for E at iteration 1/15"), "{}", call.stdout);
    wait_until_within(crate::harness::WAIT_TIMEOUT * 3, "only F is left, in its last stage", || {
        there("holding-F") && assert_statuses(&project, ["done", "done", "blocked", "done", "cancelled", "qa"])
    });
    first.signal(Signal::KILL);
    first.wait_without_invariants();
    worker(&project, &["--until-idle"]).output().expect(0);
    assert!(
        assert_statuses(&project, ["done", "done", "blocked", "done", "cancelled", "done"]),
        "{:?}",
        statuses(&project)
    );

    let whole = ["coder completed", "reviewer completed", "tester completed", "qa completed"];
    let back = ["coder completed", "reviewer blocked"];
    assert_eq!(run_outcomes(&project, "A"), [&back[..], &whole[..]].concat(), "sent back once");
    assert_eq!(run_outcomes(&project, "B"), whole);
    assert_eq!(run_outcomes(&project, "C"), ["coder stalled", "coder stalled"]);
    assert_eq!(run_outcomes(&project, "D"), whole);
    assert_eq!(run_outcomes(&project, "E"), ["coder cancelled"]);
    assert_eq!(run_outcomes(&project, "F"), whole, "the killed stage was resumed");

    let failure: &Value = &shown(&project, "C")["metadata"]["ralph_failure"];
    assert_eq!((&failure["stage"], &failure["iterations_used"]), (&"coder".into(), &2.into()));
    let attempts = "SELECT r.task || ' ' || r.role, COUNT(*) FROM attempts a JOIN runs r ON r.id = a.run
        WHERE r.task IN ('B', 'D', 'F') GROUP BY r.task, r.role HAVING COUNT(*) > 1";
    let twice = [("B coder", 2), ("D tester", 2), ("F qa", 2)];
    let twice: BTreeMap<String, i64> = twice.into_iter().map(|(what, times)| (what.to_owned(), times)).collect();
    assert_eq!(query_numbers(&project, attempts), twice, "crashed, limited, killed");
    let waits = query_numbers(&project, "SELECT kind, COUNT(*) FROM events WHERE kind = 'limit.waiting' GROUP BY kind");
    assert_eq!(waits["limit.waiting"], 1);

    let receipts = query_numbers(&project, "SELECT 'all', COUNT(*) FROM receipts WHERE verified = 1")["all"];
    let completed = query_numbers(&project, "SELECT 'all', COUNT(*) FROM runs WHERE status = 'completed'")["all"];
    assert_eq!((receipts, completed), (17, 17), "every completion has its receipt");
    assert_eq!(files(&project, "ralph/D"), ["done-A", "done-B", "done-D"]);
    assert_eq!(files(&project, "ralph/F"), ["done-A", "done-B", "done-D", "done-F"]);
    assert_eq!(files(&project, "ralph/C"), ["done-A"], "nothing of it was accepted");
    assert_eq!(files(&project, "ralph/E"), [""; 0]);
    let newest = text(&shown(&project, "F")["runs"][3]["id"]);
    project.ralph(["verify", &newest]).output().expect(0);
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "the user's files are as they were");
}
