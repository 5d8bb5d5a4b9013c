//! Task commands: create, import, list, edit, export.
use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};

/// The complete task definition of the original design.
const COMPLETE: &str = include_str!("../data/complete_task.yaml");

pub fn task(project: &Project, args: &[&str]) -> CallOutput {
    project.ralph(["task"].iter().chain(args)).output()
}

fn created(project: &Project, id: &str, more: &[&str]) -> CallOutput {
    let base = ["create", id, "auth", "Add a login", "--outcome", "People can log in"];
    let acceptance = ["--acceptance", "a bad password gives 401"];
    task(project, &[base.as_slice(), &acceptance, more].concat())
}

pub fn shown(project: &Project, id: &str) -> Value {
    serde_json::from_str(&task(project, &["show", id, "--json"]).expect(0).stdout).unwrap()
}

pub fn listed(project: &Project, args: &[&str]) -> Vec<(String, String)> {
    let answer = task(project, &[["list", "--json"].as_slice(), args].concat()).expect(0);
    let rows: Value = serde_json::from_str(&answer.stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (text(row, "id"), text(row, "status"))).collect()
}

/// Reads YAML independently of ralph, except for the parser.
pub fn tree(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

// spec: T4, T2
#[test]
fn the_complete_definition_survives_import_and_export() {
    let project = Project::new();
    project.write("task.yaml", COMPLETE);
    let answer = task(&project, &["import", "task.yaml"]).expect(0);
    assert_eq!(answer.stdout, "1 task imported from task.yaml\n");
    let exported = task(&project, &["export"]).expect(0).stdout;
    assert_eq!(tree(&exported), tree(COMPLETE), "{exported}");

    let other = Project::new();
    other.write("task.yaml", &exported);
    task(&other, &["import", "task.yaml"]).expect(0);
    assert_eq!(task(&other, &["export", "TASK-001"]).expect(0).stdout, exported);
}

// spec: T1, T2, T5
#[test]
fn a_task_is_shown_with_what_done_means_for_each_role() {
    let project = Project::new();
    project.write("task.yaml", COMPLETE);
    task(&project, &["import", "task.yaml"]).expect(0);
    let shown = shown(&project, "TASK-001");
    assert_eq!((&shown["status"], &shown["priority"], &shown["iteration"]), (&json!("todo"), &json!(1), &json!(0)));
    assert_eq!(shown["completion"], tree(COMPLETE)["task"]["completion"]);
    let text = task(&project, &["show", "TASK-001"]).expect(0).stdout;
    for line in [
        "task      TASK-001  Implement JWT authentication",
        "spec      auth-feature",
        "outcome   All API endpoints require valid JWT tokens for access",
        "  - Passwords are hashed with bcrypt",
        "coder     AUTH_IMPLEMENTED · at most 15 iterations",
        "          external: test -f src/auth/middleware.py &&",
        "            test -f src/auth/jwt.py &&",
        "reviewer  AUTH_REVIEWED · at most 5 iterations",
        "          semantic: 5 judged criteria",
        "            - no hardcoded secrets or keys",
        "            - never \"TODO\"",
        "qa        AUTH_QA_COMPLETE · at most 5 iterations",
        "          multi_stage: 3 stages",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line:?} is not in\n{text}");
    }
}

// spec: T3
#[test]
fn a_task_can_be_created_with_the_flags_of_every_role() {
    let project = Project::new();
    let config = project.write(
        "qa.json",
        r#"{"stages": [{"name": "all", "method": "external", "config": {"command": ["make", "test"]}}]}"#,
    );
    let config = format!("@{}", config.display());
    let flags = [
        "--priority",
        "2",
        "--description",
        "With JWT",
        "--assignee",
        "me",
        "--coder-promise",
        "AUTH_DONE",
        "--coder-verify",
        "external",
        "--coder-verify-cmd",
        "make test",
        "--coder-description",
        "Committed",
        "--coder-max-iterations",
        "7",
        "--reviewer-verify-config",
        r#"{"check_for": ["no secrets"]}"#,
        "--tester-verify-config",
        r#"{"command": "make check"}"#,
        "--qa-verify",
        "multi_stage",
        "--qa-verify-config",
        &config,
    ];
    let answer = created(&project, "TASK-001", &flags).expect(0);
    assert_eq!(answer.stdout, "created task TASK-001: Add a login\n");
    let shown = shown(&project, "TASK-001");
    assert_eq!(
        shown["completion"],
        json!({
            "outcome": "People can log in",
            "acceptance_criteria": ["a bad password gives 401"],
            "coder": {"promise": "AUTH_DONE", "description": "Committed", "verification_method": "external",
                "verification_config": {"command": "make test"}, "max_iterations": 7},
            "reviewer": {"verification_config": {"check_for": ["no secrets"]}},
            "tester": {"verification_config": {"command": "make check"}},
            "qa": {"verification_method": "multi_stage", "verification_config": {"stages": [
                {"name": "all", "method": "external", "config": {"command": ["make", "test"]}}]}},
        })
    );
    assert_eq!((&shown["spec_id"], &shown["priority"], &shown["assignee"]), (&json!("auth"), &json!(2), &json!("me")));
}

// spec: T3
#[test]
fn legacy_command_names_work_and_a_file_provides_the_other_fields() {
    let project = Project::new();
    project.write("task.yaml", COMPLETE);
    let args = ["task-create", "--from-file", "task.yaml", "TASK-9", "other", "Another title"];
    project.ralph(args).output().expect(0);
    let shown = shown(&project, "TASK-9");
    assert_eq!((&shown["title"], &shown["spec_id"]), (&json!("Another title"), &json!("other")));
    assert_eq!(shown["completion"]["coder"]["promise"], "AUTH_IMPLEMENTED");
    task(&project, &["edit", "TASK-9", "--status", "done"]).expect(0);
    project.ralph(["task-followup", "TASK-9", "TASK-10"]).output().expect(0);
    assert_eq!(listed(&project, &[]).len(), 2);
}

// spec: T3, T7
#[test]
fn a_task_that_could_never_be_verified_is_refused_on_creation() {
    let project = Project::new();
    let refused = |args: &[&str], code: u8, words: &str| {
        let answer = task(&project, args).expect(code.into());
        assert!(answer.stderr.contains(words), "{words:?} is not in\n{}", answer.stderr);
    };
    refused(&["create", "T-1", "s", "Title"], 64, "the task does not say when it is done");
    refused(&["create", "T-1", "s", "Title"], 64, "hint: give --outcome and --acceptance, or --no-criteria");
    refused(&["create", "T-1", "s", "Title", "--outcome", "x"], 64, "completion.acceptance_criteria: it is empty");
    let base = ["create", "T-1", "s", "Title", "--outcome", "x", "--acceptance", "y"];
    let with = |more: &[&'static str]| [base.as_slice(), more].concat();
    refused(&with(&["--coder-promise", "XY"]), 64, "external without command");
    refused(&with(&["--qa-verify", "multi_stage"]), 64, "multi_stage without stages");
    refused(&with(&["--coder-verify", "extrenal"]), 64, "did you mean external?");
    refused(&with(&["--coder-verify-config", "{\"command\": }"]), 64, "--coder-verify-config:1:13: not valid JSON");
    refused(
        &with(&["--coder-verify-config", "{\"comand\": \"x\"}"]),
        64,
        "there is no field verification_config.comand",
    );
    refused(&with(&["--depends", "T-0"]), 64, "task T-1 depends on T-0, which does not exist");
    refused(&with(&["--depends", "T-1"]), 64, "task T-1 depends on itself");
    refused(&["create", "../x", "s", "Title", "--no-criteria"], 64, "\"../x\" is not a valid id");
    assert!(listed(&project, &[]).is_empty(), "nothing was made");
    task(&project, &["create", "T-1", "s", "Title", "--no-criteria"]).expect(0);
    refused(&["create", "T-1", "s", "Title", "--no-criteria"], 1, "task T-1 already exists");
}

// spec: T4
#[test]
fn tasks_of_a_file_may_depend_on_later_ones_and_are_imported_all_or_none() {
    let project = Project::new();
    let item = |id: &str, more: &str| {
        format!("- id: {id}\n  title: {id}\n{more}  completion: {{outcome: o, acceptance_criteria: [a]}}\n")
    };
    let good = item("A", "  dependencies: [B]\n") + &item("B", "");
    project.write("good.yaml", &good);
    let cases = [
        (item("C", "") + &item("C", ""), "bad.yaml:4:3: id: C occurs twice, first at bad.yaml:1:3"),
        (item("C", "  dependencies: [D]\n"), "bad.yaml:3:18: dependencies: task C depends on D, which does not exist"),
        (
            item("C", "  dependencies: [D]\n") + &item("D", "  dependencies: [C]\n"),
            "dependencies: task C depends on itself: C → D → C",
        ),
        (item("C", "") + &item("D", "  titel: x\n"), "bad.yaml:6:3: there is no field titel"),
        (item("C", "  priority: high\n"), "bad.yaml:3:13: priority: \"high\" is not a whole number"),
        (item("C", "  status: doing\n"), "bad.yaml:3:11: status: \"doing\" is not a valid value"),
        ("- id: C\n  title: c\n  completion:\n    outcome: o\n".to_owned(), "completion.acceptance_criteria: required field is missing"),
        (
            "task:\n  id: C\n  title: c\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder:\n      verification_method: external\n".to_owned(),
            "bad.yaml:8:7: completion.coder.verification_config.command: external without command",
        ),
        ("- id: C\n title: x\n".to_owned(), "not valid YAML"),
        ("just words\n".to_owned(), "bad.yaml:1:1: no tasks found"),
    ];
    for (text, words) in cases {
        project.write("bad.yaml", &text);
        let answer = task(&project, &["import", "bad.yaml"]).expect(1);
        assert!(answer.stderr.contains(words), "{words:?} is not in\n{}\n{text}", answer.stderr);
    }
    assert!(listed(&project, &[]).is_empty(), "nothing went in");
    task(&project, &["import", "good.yaml"]).expect(0);
    assert_eq!(listed(&project, &[]).len(), 2);
    let again = task(&project, &["import", "good.yaml"]).expect(1);
    assert!(again.stderr.contains("good.yaml:1:3: id: task A already exists"), "{}", again.stderr);
    let ready: Vec<_> = listed(&project, &["--ready"]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ready, ["B"]);
}

// spec: T4
#[test]
fn user_stories_become_tasks_and_those_that_pass_are_done() {
    let project = Project::new();
    let stories = json!({
        "project": "shop", "branchName": "ralph/shop", "description": "A shop",
        "userStories": [
            {"id": "US-001", "title": "Basket", "description": "As a buyer I have a basket",
             "acceptanceCriteria": ["it keeps what I put in"], "priority": 1, "passes": true, "notes": "see docs"},
            {"id": "US-002", "title": "Pay", "description": "", "acceptanceCriteria": ["I can pay"], "priority": 2,
             "passes": false, "estimate": 5},
        ],
    });
    project.write("prd.json", serde_json::to_string_pretty(&stories).unwrap().replace("  ", "\t"));
    let answer = task(&project, &["import", "prd.json", "--spec", "shop"]).expect(0);
    assert!(answer.stderr.contains("unknown field estimate of a story is ignored"), "{}", answer.stderr);
    let statuses = [("US-001".to_owned(), "done".to_owned()), ("US-002".to_owned(), "todo".to_owned())];
    assert_eq!(listed(&project, &[]), statuses);
    let first = shown(&project, "US-001");
    assert_eq!(first["completion"]["outcome"], "As a buyer I have a basket");
    assert_eq!((&first["spec_id"], &first["metadata"]["notes"]), (&json!("shop"), &json!("see docs")));
    assert_eq!(shown(&project, "US-002")["completion"]["outcome"], "Pay");

    project.write(
        "bad.json",
        "{\n  \"userStories\": [\n    {\"id\": \"US-3\", \"title\": \"x\", \"acceptanceCriteria\": []}\n  ]\n}",
    );
    let refused = task(&project, &["import", "bad.json"]).expect(1);
    assert!(refused.stderr.contains("bad.json:3:56: acceptanceCriteria: it is empty"), "{}", refused.stderr);
}

// spec: T4
#[test]
fn a_markdown_check_list_becomes_tasks() {
    let project = Project::new();
    let text = "# Plan\n\n- [ ] TASK-1: Add a login\n  - [ ] 401 for bad passwords\n- [x] Write the docs\n";
    let answer = project.ralph(["task", "import", "-", "--format", "markdown", "--json"]).input(text).output();
    assert_eq!(
        answer.expect(0).stdout,
        "[{\"id\":\"TASK-1\",\"status\":\"todo\"},{\"id\":\"write-the-docs\",\"status\":\"done\"}]\n"
    );
    assert_eq!(shown(&project, "TASK-1")["completion"]["acceptance_criteria"], json!(["401 for bad passwords"]));
}

// spec: T5
#[test]
fn tasks_are_listed_by_priority_then_age_and_filtered() {
    let project = Project::new();
    created(&project, "T-1", &["--priority", "5"]).expect(0);
    created(&project, "T-2", &["--priority", "1"]).expect(0);
    created(&project, "T-3", &["--priority", "1", "--depends", "T-2"]).expect(0);
    let ids = |args: &[&str]| -> Vec<String> { listed(&project, args).into_iter().map(|(id, _)| id).collect() };
    assert_eq!(ids(&[]), ["T-2", "T-3", "T-1"]);
    assert_eq!(ids(&["--ready"]), ["T-2", "T-1"]);
    task(&project, &["edit", "T-2", "--status", "done"]).expect(0);
    assert_eq!(ids(&["--ready"]), ["T-3", "T-1"]);
    assert_eq!(ids(&["--status", "done,blocked"]), ["T-2"]);
    assert!(ids(&["--spec", "other"]).is_empty());
    let text = task(&project, &["list"]).expect(0).stdout;
    let heading = "TASK  STATUS  PRIO  SPEC  TITLE\n";
    assert!(text.starts_with(&format!("{heading}T-2   done    1     auth  Add a login\n")), "{text}");
}

// spec: T5
#[test]
fn a_task_is_changed_field_by_field_and_dependency_cycles_are_refused() {
    let project = Project::new();
    created(&project, "T-1", &["--coder-verify-cmd", "make"]).expect(0);
    created(&project, "T-2", &["--depends", "T-1"]).expect(0);
    task(&project, &["edit", "T-1", "--title", "New", "--acceptance", "b", "--coder-promise", "XY"]).expect(0);
    let shown = shown(&project, "T-1");
    assert_eq!((&shown["title"], &shown["spec_id"]), (&json!("New"), &json!("auth")));
    assert_eq!(shown["completion"]["acceptance_criteria"], json!(["b"]));
    assert_eq!(shown["completion"]["coder"]["verification_config"]["command"], "make", "the rest stays");
    let knot = task(&project, &["edit", "T-1", "--depends", "T-2"]).expect(64);
    assert!(knot.stderr.contains("task T-1 depends on itself: T-1 → T-2 → T-1"), "{}", knot.stderr);
    let unknown = task(&project, &["edit", "T-3", "--title", "x"]).expect(64);
    assert!(unknown.stderr.contains("there is no task \"T-3\" here"), "{}", unknown.stderr);
    assert!(task(&project, &["edit", "T-1"]).expect(64).stderr.contains("nothing would change"));
}

// spec: T5
#[test]
fn a_follow_up_inherits_the_criteria_of_a_task_that_was_worked_on() {
    let project = Project::new();
    created(&project, "T-1", &["--priority", "1", "--coder-verify-cmd", "make"]).expect(0);
    let early = task(&project, &["followup", "T-1", "T-2"]).expect(1);
    assert!(early.stderr.contains("neither finished nor failed"), "{}", early.stderr);
    task(&project, &["edit", "T-1", "--status", "blocked"]).expect(0);
    task(&project, &["followup", "T-1", "T-2", "--coder-max-iterations", "3"]).expect(0);
    let shown = shown(&project, "T-2");
    assert_eq!((&shown["title"], &shown["status"]), (&json!("Follow-up: Add a login"), &json!("todo")));
    assert_eq!(shown["completion"]["coder"]["max_iterations"], 3);
    assert_eq!(shown["completion"]["coder"]["verification_config"]["command"], "make");
    assert_eq!((&shown["metadata"]["followup_of"], &shown["priority"]), (&json!("T-1"), &json!(1)));
}

// spec: T5
#[test]
fn a_task_with_dependents_is_deleted_only_together_with_them() {
    let project = Project::new();
    created(&project, "T-1", &[]).expect(0);
    created(&project, "T-2", &["--depends", "T-1"]).expect(0);
    let refused = task(&project, &["delete", "T-1"]).expect(1);
    assert!(refused.stderr.contains("task T-1 cannot be deleted: T-2 depends on it"), "{}", refused.stderr);
    assert!(task(&project, &["delete", "T-2", "T-9"]).expect(64).stderr.contains("there is no task \"T-9\""));
    assert_eq!(listed(&project, &[]).len(), 2, "all or none");
    task(&project, &["delete", "T-1", "T-2"]).expect(0);
    assert!(listed(&project, &[]).is_empty());
}

// spec: X3, T4
#[test]
fn a_secret_is_refused_because_a_command_without_it_would_do_something_else() {
    let project = Project::new();
    let command = format!("curl -H 'Authorization: Bearer {}' x", crate::invariants::CANARY);
    let refused = created(&project, "T-1", &["--coder-verify-cmd", &command]).expect(1);
    assert!(refused.stderr.contains("there is a secret in task T-1"), "{}", refused.stderr);
    assert!(listed(&project, &[]).is_empty());
}

// spec: T4, X4
#[test]
fn oversized_files_are_refused_and_ten_thousand_tasks_are_not() {
    let project = Project::new();
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
    }
    project.write("bomb.yaml", &bomb);
    task(&project, &["import", "bomb.yaml"]).expect(1);
    let many: String = (0..10_000)
        .map(|number| {
            let on = if number == 0 { String::new() } else { format!("T-{}", number - 1) };
            format!(
                "- id: T-{number}\n  title: Task number {number}\n  dependencies: [{on}]\n  completion:\n    outcome: It is done\n    \
                 acceptance_criteria: [one, two]\n    coder:\n      verification_config: {{command: make test}}\n"
            )
        })
        .collect();
    project.write("many.yaml", &many);
    task(&project, &["import", "many.yaml"]).expect(0);
    assert_eq!(listed(&project, &[]).len(), 10_000);
    assert_eq!(listed(&project, &["--ready"]).len(), 1);
    let exported = task(&project, &["export"]).expect(0).stdout;
    assert_eq!(tree(&exported), tree(&many));
}

// spec: T9
#[test]
fn a_database_from_before_tasks_existed_accepts_them_and_keeps_its_runs() {
    let project = Project::new();
    std::fs::create_dir_all(project.state()).unwrap();
    project.make_private(&project.state());
    let database = project.state().join("ralph.db");
    std::fs::write(&database, include_bytes!("../data/old_databases/schema-1.db")).unwrap();
    project.make_private(&database);
    assert!(listed(&project, &[]).is_empty());
    created(&project, "T-1", &[]).expect(0);
    assert_eq!(listed(&project, &[]).len(), 1);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 2);
}
