//! The size limit of raw logs: head and tail are kept, and the cut is marked.
use std::fs;

use serde_json::Value;

use crate::harness::Project;

const MEGABYTE: usize = 1 << 20;

fn logs_together(project: &Project) -> u64 {
    let run = fs::read_dir(project.state().join("runs")).unwrap().next().unwrap().unwrap();
    let files = fs::read_dir(run.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    files.sum()
}

// fault: 41
// spec: D5, A4
#[test]
fn a_gigabyte_of_output_leaves_a_log_of_a_few_megabytes_and_the_claim_is_found() {
    let project = Project::new();
    let answer = project.run(&["flood", "1024"]).args(["--log-limit", "4M"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    let log = project.log("iteration-001.ndjson");
    assert!(log.len() <= 2 * MEGABYTE && log.len() > MEGABYTE, "{}", log.len());
    let text = String::from_utf8(log).unwrap();
    assert!(text.starts_with("xxxx") && text.ends_with("\n<promise>COMPLETE</promise>\n"));
    let marks: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    let mark: Value = serde_json::from_str(marks[0]).unwrap();
    let missing = mark["missing_bytes"].as_u64().unwrap();
    let printed = 1024 * MEGABYTE + "<promise>COMPLETE</promise>\n".len();
    assert_eq!((marks.len(), missing), (1, (printed + marks[0].len() + 1 - text.len()) as u64));
    assert!(text.lines().all(|line| line.len() == 1023 || line.len() < 100), "lines are whole");
}

// fault: 41
// spec: D5
#[test]
fn all_iterations_together_stay_within_the_limit_and_the_last_one_has_a_log_too() {
    let project = Project::new();
    let flood = project
        .shell("head -c 3000000 /dev/zero | tr '\\0' 'y' | fold -w 99; echo the end; head -c 3000000 /dev/zero >&2");
    let limits = ["--log-limit", "2M", "--max-iterations", "4", "--check"];
    let check = "head -c 1000000 /dev/zero; false";
    project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &flood]).args(limits).args([check]).output().expect(3);
    assert!(logs_together(&project) <= 2 * MEGABYTE as u64, "{}", logs_together(&project));
    let last = String::from_utf8(project.log("iteration-004.ndjson")).unwrap();
    assert!(last.ends_with("the end\n") && last.contains("\"type\":\"ralph.cut\""), "{} bytes", last.len());
    let errors = project.log("iteration-001.stderr");
    assert!(String::from_utf8_lossy(&errors).contains("bytes are missing here"));
}

// spec: D5, G1
#[test]
fn the_log_limit_can_be_configured_and_an_invalid_one_is_refused() {
    let project = Project::new();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    fs::write(project.root().join(".ralph/config.yaml"), "limits: {log_limit: 1M}\n").unwrap();
    project.run(&["flood", "3"]).output().expect(0);
    assert!(project.log("iteration-001.ndjson").len() <= MEGABYTE / 2);
    let answer = project.run(&["complete"]).args(["--log-limit", "lots"]).output().expect(64);
    assert!(answer.stderr.contains("is not a log size: write 100M or 1G"), "{}", answer.stderr);
}
