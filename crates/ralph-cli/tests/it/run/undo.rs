//! Every run in a git repository can be undone; where that is not possible, the run says so before the agent starts.
use std::fs;

use crate::harness::Project;

fn newest_run(project: &Project) -> String {
    project.ralph(["runs", "--json"]).output().json()[0]["id"].as_str().unwrap().to_owned()
}

// finding: N42
// spec: P9
#[test]
fn a_destructive_run_without_checks_can_be_undone() {
    let project = Project::new();
    fs::create_dir(project.root().join("src")).unwrap();
    project.write("src/main.c", "int main;\n");
    project.write(".gitignore", ".env\n");
    project.commit();
    project.write(".env", "KEY=1\n");
    project.write("draft", "not committed\n");
    let agent = "cat > /dev/null; rm -rf src draft .gitignore; echo x > new; echo '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).output().expect(0);
    assert!(answer.events_named("warning").is_empty(), "{}", answer.stdout);
    let undone = project.ralph(["undo", &newest_run(&project), "--json"]).output().expect(0).json();
    assert_eq!(undone["files"], serde_json::json!([".gitignore", "draft", "new", "src/main.c"]));
    assert_eq!(undone["left_out"], serde_json::json!([]));
    let read = |name: &str| fs::read_to_string(project.root().join(name)).unwrap();
    assert_eq!((read("src/main.c"), read("draft")), ("int main;\n".to_owned(), "not committed\n".to_owned()));
    assert_eq!(read(".env"), "KEY=1\n", "a file that was there before the run stays");
    assert!(!project.root().join("new").exists());
}

// finding: N42
#[test]
fn a_run_that_cannot_be_undone_says_so_before_the_agent_starts() {
    let project = Project::new();
    project.commit();
    fs::File::create(project.root().join("data")).unwrap().set_len(65 << 20).unwrap();
    let answer = project.run(&["complete"]).output().expect(0);
    let warning = "this run cannot be undone: the uncommitted files in the work tree are too large for a snapshot";
    assert!(answer.stdout.contains(warning), "{}", answer.stdout);
    let refused = project.ralph(["undo", &newest_run(&project)]).output().expect(1);
    assert!(refused.stderr.contains("no snapshot was taken before run"), "{}", refused.stderr);
}

// finding: N41
#[test]
fn a_nested_repository_is_named_before_the_run_and_by_its_undo() {
    let project = Project::new();
    project.commit();
    fs::create_dir(project.root().join("inner")).unwrap();
    project.git(&["init", "--quiet", "inner"]);
    project.write("inner/file", "theirs\n");
    let answer =
        project.run_shell("cat > /dev/null; echo x > new; echo '<promise>COMPLETE</promise>'").output().expect(0);
    let warning = "an undo of this run would leave out inner (nested repository)";
    assert!(answer.stdout.contains(warning), "{}", answer.stdout);
    let undone = project.ralph(["undo", &newest_run(&project)]).output().expect(0);
    assert!(undone.stdout.contains("left out: inner (nested repository)"), "{}", undone.stdout);
}
