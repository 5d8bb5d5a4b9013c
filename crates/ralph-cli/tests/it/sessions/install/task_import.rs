//! `/ralph-tasks`: the agent of a session creates tasks, and a person approves their checks.
use serde_json::json;

use crate::harness::Project;

const TASKS: &str = "- id: greet-1\n  title: Greet\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    \
    coder: {verification_config: {command: touch canary}}\n";

fn approved(project: &Project) -> serde_json::Value {
    project.ralph(["task", "list", "--json"]).output().expect(0).json()[0]["approved"].clone()
}

// spec: T8
#[test]
fn tasks_imported_by_the_agent_of_a_session_wait_for_approval() {
    let project = Project::new();
    project.write("ralph-tasks.yaml", TASKS);
    project.ralph(["task", "import", "--by-agent", "ralph-tasks.yaml"]).output().expect(0);
    assert_eq!(approved(&project), json!(false));
    project.ralph(["task", "run", "greet-1", "--agent", "demo"]).output().expect(1);
    assert!(!project.root().join("canary").exists());
    project.ralph(["task", "approve", "greet-1", "--yes"]).output().expect(0);
    assert_eq!(approved(&project), json!(true));
}

// spec: T8
#[test]
fn an_agent_without_the_flag_is_recognised_by_its_session_and_cannot_approve() {
    for variable in ["CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "COPILOT_AGENT_SESSION_ID", "OPENCODE"]
    {
        let project = Project::new();
        project.write("ralph-tasks.yaml", TASKS);
        project.ralph(["task", "import", "ralph-tasks.yaml"]).env(variable, "1").output().expect(0);
        assert_eq!(approved(&project), json!(false), "{variable}");
        let answer = project.ralph(["task", "approve", "--all", "--yes"]).env(variable, "1").output().expect(1);
        assert!(answer.stderr.contains("an agent cannot approve"), "{}", answer.stderr);
    }
}
