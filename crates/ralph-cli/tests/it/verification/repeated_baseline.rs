//! `ralph verify` also repeats the baseline, on the files from which the work started.
use serde_json::Value;

use super::task_seal::{AGENT, set_deed, work};
use crate::harness::{CallOutput, Project};

const COMMIT: &str = "git add --all && git -c user.name=A -c user.email=a@example.invalid commit --quiet -m work";

/// Runs an agent that does this and commits everything.
fn run(project: &Project, deed: &str, args: &[&str]) -> CallOutput {
    let agent = format!("cat > /dev/null; {deed}; {COMMIT}; echo '<promise>COMPLETE</promise>'");
    project.run_shell(&agent).args(args).output().expect(0)
}

fn levels(json: &Value) -> (&str, &str) {
    (json["proof"].as_str().unwrap(), json["repeated_proof"].as_str().unwrap())
}

fn head(project: &Project) -> String {
    crate::work::work_trees::git(&project.root(), &["rev-parse", "HEAD"])
}

// spec: V16
#[test]
fn a_proven_run_is_proven_again_on_its_base_commit() {
    let project = Project::new();
    project.write("work", "open\n");
    project.commit();
    let base = head(&project);
    run(&project, "echo done > work", &["--check", "grep -q done work"]);
    let text = project.ralph(["verify"]).output().expect(0).stdout;
    assert!(text.contains(&format!("base      {base}\n")), "{text}");
    assert!(text.contains("baseline  `grep -q done work` fails before the work: Command exited with 1"), "{text}");
    assert!(text.contains("proof     proven; repeated: proven: `grep -q done work` failed before the work"), "{text}");
    let json = project.ralph(["verify", "--json"]).output().expect(0).json();
    assert_eq!(levels(&json), ("proven", "proven"));
    assert_eq!(json["base_commit"], base);
    assert_eq!(json["baseline"][0]["standing"], "fails");
    assert_eq!(json["baseline_not_repeated"], Value::Null);
}

// spec: V16
/// The check failed before the work only because of an ignored file, so its success proves nothing about the commit.
#[test]
fn a_baseline_that_passes_on_the_base_commit_is_a_discrepancy() {
    let project = Project::new();
    project.write(".gitignore", "broken\n");
    project.commit();
    project.write("broken", "");
    let finished = run(&project, "rm broken; echo x > note", &["--check", "test ! -e broken"]).finished();
    assert_eq!(finished["proof"], "proven");
    let text = project.ralph(["verify"]).output().expect(3).stdout;
    let doubt =
        "doubt     `test ! -e broken` failed before the work according to the receipt, but passes on the base commit";
    assert!(text.contains(doubt), "{text}");
    let json = project.ralph(["verify", "--json"]).output().expect(3).json();
    assert_eq!((levels(&json), &json["confirmed"]), (("proven", "checked"), &false.into()));
}

// spec: V16
#[test]
fn a_baseline_is_repeated_with_the_uncommitted_files_of_the_start() {
    let project = Project::new();
    project.write("work", "done\n");
    project.commit();
    project.write("work", "open\n");
    run(&project, "echo done > work; echo x > note", &["--check", "grep -q done work"]);
    let json = project.ralph(["verify", "--json"]).output().expect(0).json();
    assert_eq!(levels(&json), ("proven", "proven"), "{json}");
}

// spec: V16
#[test]
fn verify_says_why_a_baseline_is_not_repeated() {
    let project = Project::new();
    project.write("work", "open\n");
    project.commit();
    run(&project, "echo done > work", &["--check", "grep -q done work", "--no-baseline"]);
    let text = project.ralph(["verify"]).output().expect(0).stdout;
    assert!(text.contains("baseline  not repeated: no check was run before the work\n"), "{text}");
    assert!(text.contains("proof     checked; repeated: checked: the baseline was not repeated"), "{text}");
    let json = project.ralph(["verify", "--json"]).output().expect(0).json();
    assert_eq!(json["baseline_not_repeated"], "no check was run before the work");
}

// spec: V16
#[test]
fn a_stage_is_verified_again_on_the_base_commit_of_its_task() {
    let project = Project::new();
    project.write("work", "open\n");
    project.commit();
    let base = head(&project);
    let check = |role: &str, word: &str| {
        format!("{role}: {{verification_method: external, verification_config: {{command: grep -q {word} work}}}}")
    };
    let text = format!(
        "task:\n  id: T-1\n  spec_id: s\n  title: Do it\n  completion:\n    outcome: it is there\n    \
         acceptance_criteria: [it is there]\n    {}\n    {}\n",
        check("coder", "done"),
        check("tester", "tested")
    );
    let path = project.outside("T-1.yaml");
    std::fs::write(&path, text).unwrap();
    project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
    project.shell(AGENT);
    set_deed(&project, 1, "echo done tested > work");
    work(&project).output().expect(0);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    let runs = runs["runs"].as_array().or(runs.as_array()).unwrap().clone();
    let tester = runs.iter().find(|run| run["role"] == "tester").unwrap_or_else(|| panic!("{runs:?}"));
    let json = project.ralph(["verify", tester["id"].as_str().unwrap(), "--json"]).output().expect(0).json();
    assert_eq!((&json["base_commit"], levels(&json)), (&base.into(), ("proven", "proven")), "{json}");
}
