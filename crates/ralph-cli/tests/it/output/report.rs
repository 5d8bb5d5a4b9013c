//! `ralph report`: one file about a run, a task or a workflow run.
use crate::harness::Project;
use crate::invariants::CANARY;
use crate::work::pipeline;
use crate::workflows::runs::{project_with, run_with};

/// Words with which an agent would leave its place.
const HOSTILE: &str = "<script>alert(1)</script> @everyone [x](http://evil.example) ``` </details>";

fn report(project: &Project, args: &[&str]) -> String {
    project.ralph(["report"]).args(args).output().expect(0).stdout
}

// spec: U6, X3
#[test]
fn a_failed_run_is_reported_with_its_first_failing_evidence_and_without_secrets() {
    let project = Project::new();
    project.commit();
    let check = format!("echo 'two tests failed: {HOSTILE}'; echo $CANARY_TOKEN; exit 1");
    let lines = "cat > /dev/null; echo new > file.txt; echo '<promise>COMPLETE</promise>'";
    project.run_shell(lines).args(["--check", &check, "--max-iterations", "2"]).output().expect(3);
    let html = report(&project, &["--html"]);
    assert!(!html.contains(CANARY), "{html}");
    assert!(!html.contains("<script"), "{html}");
    for words in [
        "<h1 class=\"bad\">exhausted: ",
        "<h3>First failing evidence</h3>",
        "two tests failed: &lt;script&gt;",
        "<dt>spent</dt><dd>cost unknown, tokens unknown</dd>",
        "<h3>Criteria by iteration</h3>",
        "<td class=\"mark bad\"><span title=\"rejected\">✗</span></td>",
        "<h3>Claims and verdicts</h3>",
        "file.txt | 1 +",
        "<summary>Prompt of iteration 2</summary>",
    ] {
        assert!(html.contains(words), "{words} is not in {html}");
    }
    let failing = html.find("First failing evidence").unwrap();
    assert!(failing < html.find("Criteria by iteration").unwrap(), "the failure comes first");
    let markdown = report(&project, &["--markdown"]);
    assert!(markdown.starts_with("## ✗ ``exhausted: "), "{markdown}");
    assert!(markdown.contains("\n````text\n"), "the fence is longer than that in the output: {markdown}");
    assert!(!markdown.contains(CANARY), "{markdown}");
}

// spec: U6
#[test]
fn a_completed_run_is_reported_with_its_proof_and_receipt_into_a_file() {
    let project = Project::new();
    project.commit();
    let lines = "cat > /dev/null; echo new > file.txt; echo '<promise>COMPLETE</promise>'";
    project.run_shell(lines).args(["--check", "test -e file.txt"]).output().expect(0);
    let path = project.outside("report.html");
    let noted = project.ralph(["report", "--html", "-o"]).args([&path]).output().expect(0);
    assert!(noted.stderr.contains("wrote ") && noted.stdout.is_empty(), "{}", noted.stderr);
    let html = std::fs::read_to_string(path).unwrap();
    for words in
        ["<h1 class=\"good\">completed: ", "<dt>proof</dt><dd>proven", "<h3>Receipt</h3>", "<dt>sha256</dt><dd>"]
    {
        assert!(html.contains(words), "{words} is not in {html}");
    }
    assert!(!html.contains("First failing evidence"), "{html}");
}

// spec: U6
#[test]
fn a_task_is_reported_with_all_its_stages() {
    let project = pipeline::project(&[("A", "")]);
    pipeline::work(&project, &["--until-idle"]).output().expect(0);
    let html = report(&project, &["A", "--html"]);
    let stages: Vec<bool> = ["coder", "reviewer", "tester", "qa"]
        .iter()
        .map(|stage| html.contains(&format!("<h2>{stage} · run ")))
        .collect();
    assert_eq!(stages, [true; 4], "{html}");
    assert!(html.contains("the file is there") && html.contains("<dt>runs</dt><dd>4</dd>"), "{html}");
    let markdown = report(&project, &["A", "--markdown"]);
    assert!(markdown.contains("\n### `coder · run "), "{markdown}");
}

// spec: U6
#[test]
fn a_workflow_run_is_reported_with_its_nodes_and_the_runs_of_its_agents() {
    let project = project_with(
        "ask",
        "name: ask\ndescription: an agent\nnodes:\n  - id: think\n    prompt: Think\n  - id: use\n    \
         depends_on: [think]\n    bash: 'true'\n",
    );
    run_with(&project, "ask", &["echo"]).output().expect(0);
    let html = report(&project, &["--html"]);
    assert!(html.contains("<td>use</td><td></td><td>completed</td>"), "{html}");
    assert!(html.contains("<h2>think · run "), "{html}");
}

// spec: U6
#[test]
fn a_report_needs_a_format_and_something_to_report() {
    let project = Project::new();
    let usage = project.ralph(["report"]).output().expect(64).stderr;
    assert!(usage.contains("--html") && usage.contains("--markdown"), "{usage}");
    project.ralph(["report", "--html", "--markdown"]).output().expect(64);
    let nothing = project.ralph(["report", "--html"]).output().expect(1).stderr;
    assert!(nothing.contains("has no runs yet"), "{nothing}");
}
