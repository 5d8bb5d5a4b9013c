//! Permission `work` with a real agent at default settings: it edits, runs the project's check and commits, everything else is
//! denied, and a judge runs the check without being able to edit.
use std::fs;

use serde_json::{Value, json};

use super::fixture::{AgentSpec, Fixture};
use crate::harness::Project;
use crate::work::pipeline::git;

const CHECK: &str = "sh check.sh";
const CHECK_OUTPUT: &str = "the greeting is there";

/// How an agent's command line expresses permission `work`.
pub struct WorkPermission {
    pub agent: &'static AgentSpec,
    /// A command that it denies.
    pub forbidden: &'static str,
    pub commits: CommitAccess,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CommitAccess {
    Agent,
    /// Its sandbox keeps it from committing: ralph commits.
    Ralph,
}

/// Defines the tests of permission `work` for one agent.
macro_rules! work_permission_tests {
    ($permission:expr) => {
        // finding: N14
        // spec: A11, V13, A10
        #[test]
        fn a_task_passes_every_stage_with_default_settings() {
            $crate::real::work_permission::a_task_passes_every_stage_with_default_settings(&$permission);
        }

        // finding: N54
        // spec: A11, A10
        #[test]
        fn a_denied_command_is_named_in_the_reason() {
            $crate::real::work_permission::a_denied_command_is_named_in_the_reason(&$permission);
        }
    };
}
pub(crate) use work_permission_tests;

fn prepare_project(project: &Project) {
    project.write("check.sh", format!("grep -q hello greeting.txt && echo '{CHECK_OUTPUT}'\n"));
    project.git(&["config", "user.name", "A"]);
    project.git(&["config", "user.email", "a@example.invalid"]);
    project.commit();
}

fn import_task(project: &Project) {
    let check = |role: &str| {
        format!("    {role}: {{verification_method: external, verification_config: {{command: {CHECK}}}}}\n")
    };
    let checks: String = ["coder", "reviewer", "tester", "qa"].map(check).concat();
    let path = project.outside("task.yaml");
    let task = "- id: T-1\n  spec_id: greetings\n  title: Greet\n  completion:\n    outcome: there is a greeting\n    \
        acceptance_criteria: [there is a greeting]\n";
    fs::write(&path, format!("{task}{checks}")).unwrap();
    project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
}

/// The answers of the model, in the order of the stages.
fn stages(project: &Project, forbidden: &str) -> Value {
    let write = |name: &str| {
        let path = project.state().join("trees/T-1").join(name);
        json!({"write": {"path": path, "content": "hello\n"}})
    };
    let say = |promise: &str| json!({"say": format!("It is done.\n\n<promise>{promise}</promise>")});
    json!([
        write("greeting.txt"),
        {"run": CHECK},
        {"run": forbidden},
        {"run": "git add greeting.txt && git commit -m 'by the agent'"},
        say("IMPLEMENTATION_COMPLETE"),
        {"run": CHECK},
        say("REVIEW_PASSED"),
        write("test-greeting.txt"),
        say("TESTS_PASSED"),
        {"run": CHECK},
        say("QA_PASSED"),
    ])
}

pub fn a_task_passes_every_stage_with_default_settings(permission: &WorkPermission) {
    let name = permission.agent.name;
    let fixture = Fixture::new(permission.agent, |project| {
        prepare_project(project);
        import_task(project);
        stages(project, permission.forbidden)
    });
    let answer = fixture.ralph(&["work", "--until-idle", "--agent", name, "--json"]).output().expect(0);
    let shown = fixture.ralph(&["task", "show", "T-1", "--json"]).output().expect(0).json();
    let end = |run: &Value| format!("{} {}", run["role"].as_str().unwrap(), run["outcome"].as_str().unwrap());
    let ends: Vec<String> = shown["runs"].as_array().unwrap().iter().map(end).collect();
    let all = ["coder completed", "reviewer completed", "tester completed", "qa completed"];
    assert_eq!(ends, all, "{}", answer.stdout);
    let denied: Vec<Value> = answer.events_named("attempt.ended");
    let denied: Vec<Value> = denied.iter().map(|end| end["result"]["denied_actions"].clone()).collect();
    assert!(denied[0].to_string().contains(permission.forbidden), "{denied:?}");
    assert_eq!(denied[1..], [Value::Null, Value::Null, Value::Null], "the check is allowed to every role");
    for role in ["coder", "reviewer", "qa"] {
        let stage = format!("**Stage**: {role}");
        let of_role = |body: &Value| body.to_string().contains(&stage) && body.to_string().contains(CHECK_OUTPUT);
        assert!(fixture.server.asked().iter().any(of_role), "the {role} ran the check");
    }
    let files = git(&fixture.project, &["ls-tree", "--name-only", "ralph/T-1"]);
    assert_eq!(files, "check.sh\ngreeting.txt\ntest-greeting.txt");
    let has_committed = git(&fixture.project, &["log", "--format=%s", "ralph/T-1"]).contains("by the agent");
    assert_eq!(has_committed, permission.commits == CommitAccess::Agent, "{}", answer.stdout);
    let started: Vec<String> =
        answer.events_named("run.started").iter().map(|event| event["permissions"].to_string()).collect();
    assert!(started[0].contains("edit files"), "{started:?}");
}

pub fn a_denied_command_is_named_in_the_reason(permission: &WorkPermission) {
    let fixture = Fixture::new(permission.agent, |project| {
        prepare_project(project);
        json!([{"run": permission.forbidden}, {"say": "I could not do it."}])
    });
    let args =
        ["run", "Do the work.", "--agent", permission.agent.name, "--permission", "work", "--max-iterations", "1"];
    let answer = fixture.ralph(&args).output().expect(3);
    let first_line = answer.stderr.lines().find(|line| line.contains("ralph run")).unwrap_or_default();
    assert!(first_line.contains(&format!("agent {} may edit files", permission.agent.name)), "{}", answer.stderr);
    let reason = "Max iterations reached without completion promise; the agent was not allowed to use ";
    let printed = answer.stdout.replace('\n', " ");
    let named = printed.split_once(reason).unwrap_or_else(|| panic!("{}", answer.stdout)).1;
    assert!(named.contains(permission.forbidden), "{named}");
}
