//! `ralph workflow list`, `show`, `validate`, `graph` and `schema`.
use std::fs;

use serde_json::{Value, json};

use crate::harness::Project;

const FLOW: &str = "name: flow\ndescription: |\n  Builds and checks.\n  Triggers: \"build it\"\nnodes:\n  - id: plan\n    prompt: Plan $ARGUMENTS\n  - id: build\n    loop: {prompt: Build, until: DONE, max_iterations: 5}\n    depends_on: [plan]\n  - id: check\n    checks: [make test]\n    depends_on: [build]\n    when: $plan.output != 'skip'\n";

fn project_with(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (name, text) in files {
        let path = project.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
}

// spec: W10
#[test]
fn list_shows_what_can_be_started_and_what_is_broken() {
    let project = project_with(&[
        (".ralph/workflows/flow.yaml", FLOW),
        (".archon/workflows/team/old.yaml", &FLOW.replace("name: flow", "name: old")),
        (".ralph/workflows/broken.yaml", "name: broken\ndescription: d\nnodes:\n  - id: a\n    bsh: x\n"),
    ]);
    let output = project.ralph(["workflow", "list"]).output().expect(0);
    let lines: Vec<String> =
        output.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "flow project Builds and checks.",
        "old project (.archon) Builds and checks.",
        "broken project cannot be started: .ralph/workflows/broken.yaml:4:5: node a: has no kind",
    ] {
        assert!(lines.iter().any(|shown| shown == line), "{line}\n{}", output.stdout);
    }
    let rows = project.ralph(["workflow", "list", "--json"]).output().expect(0).json();
    let flow = rows.as_array().unwrap().iter().find(|row| row["name"] == "flow").unwrap();
    assert_eq!((&flow["triggers"], &flow["nodes"], &flow["error"]), (&json!(["build it"]), &json!(3), &Value::Null));
}

// spec: W1, W6
// fault: 80
#[test]
fn a_script_that_evaluates_a_value_is_refused_with_its_position_and_the_fix() {
    let bad = "name: bad\ndescription: d\nnodes:\n  - id: a\n    bash: echo x\n  - id: b\n    depends_on: [a]\n    bash: |\n      \
               n=$a.output\n      unset \"arr[$n]\"\n      eval \"echo $a.output\"\n";
    let project = project_with(&[(".ralph/workflows/bad.yaml", bad)]);
    let output = project.ralph(["workflow", "validate", "bad"]).output().expect(1).stdout;
    for line in [
        ".ralph/workflows/bad.yaml:10:13: error: node b: bash: bash would evaluate \"arr[$n]\" as code",
        "  hint: write the name itself, or use an associative array and read ${ARRAY[$KEY]}\n",
        ".ralph/workflows/bad.yaml:11:12: error: node b: bash: \"echo $a.output becomes a part of a program",
        "  hint: pass the value as an argument: bash -c 'echo \"$1\"' _ VALUE\n",
    ] {
        assert!(output.contains(line), "{line}\n{output}");
    }
}

// spec: W1, W3
#[test]
fn a_number_may_be_written_as_a_float_that_is_whole() {
    let text = |timeout: &str| {
        format!("name: n\ndescription: d\nnodes:\n  - id: a\n    bash: 'true'\n    timeout: {timeout}\n")
    };
    for timeout in ["120000", "1.2e5", "120000.0", "120_000"] {
        let project = project_with(&[(".ralph/workflows/n.yaml", &text(timeout))]);
        project.ralph(["workflow", "validate", "n"]).output().expect(0);
    }
    for timeout in ["1.5", "1e-3", "-5", "'120000'", "1e99", ".inf"] {
        let project = project_with(&[(".ralph/workflows/n.yaml", &text(timeout))]);
        let refused = project.ralph(["workflow", "validate", "n"]).output().expect(1).stdout;
        assert!(refused.contains("n.yaml:6:14: error: node a: timeout: "), "{refused}");
    }
}

// spec: W1
#[test]
fn validate_reports_every_problem_with_its_position_and_fails() {
    let project = project_with(&[
        (".ralph/workflows/flow.yaml", FLOW),
        (
            ".ralph/workflows/bad.yaml",
            "name: bad\ndescription: d\nnodes:\n  - id: a\n    bash: echo $b.output\n    depends_on: [c]\n    modle: x\n",
        ),
    ]);
    let output = project.ralph(["workflow", "validate"]).output().expect(1);
    for line in [
        ".ralph/workflows/bad.yaml:5:16: error: node a: bash: $b.output: there is no node b\n  hint: name the id of a node of this file\n",
        ".ralph/workflows/bad.yaml:6:18: error: node a: depends_on: there is no node c\n",
        ".ralph/workflows/bad.yaml:7:5: error: node a: modle: unknown key\n  hint: did you mean model?\n",
        "1 workflow has errors",
    ] {
        assert!(output.stdout.contains(line), "{line}\n{}", output.stdout);
    }
    project.ralph(["workflow", "validate", "flow"]).output().expect(0);
    project.ralph(["workflow", "validate", ".ralph/workflows/bad.yaml"]).output().expect(1);
}

// spec: W1
#[test]
fn validate_checks_a_file_outside_of_the_project_and_a_folder() {
    let project = Project::new();
    let folder = project.outside("files");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.yaml"), FLOW).unwrap();
    fs::write(folder.join("b.yaml"), FLOW.replace("name: flow", "nam: flow")).unwrap();
    let file = folder.join("a.yaml").display().to_string();
    let row = project.ralph(["workflow", "validate", &file, "--json"]).output().expect(0).json();
    assert_eq!((&row[0]["name"], &row[0]["valid"], row.as_array().unwrap().len()), (&json!("flow"), &json!(true), 1));
    let rows =
        project.ralph(["workflow", "validate", &folder.display().to_string(), "--json"]).output().expect(1).json();
    assert_eq!((&rows[0]["valid"], &rows[1]["valid"]), (&json!(true), &json!(false)));
    assert_eq!(rows[1]["errors"][0]["line"], json!(1));
}

// spec: W1, W10
#[test]
fn validate_finds_the_workflows_of_a_repository_and_of_those_below_a_folder() {
    let project = Project::new();
    let folder = project.outside("repositories");
    let workflow = "name: NAME\ndescription: d\nnodes:\n  - id: a\n    bash: echo\n";
    for (file, name) in [("one/.archon/workflows/a.yaml", "a"), ("two/.ralph/workflows/b.yaml", "b")] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, workflow.replace("NAME", name)).unwrap();
    }
    fs::write(folder.join("one/compose.yaml"), "services: {}\n").unwrap();
    let names_in = |path: std::path::PathBuf| {
        let path = path.display().to_string();
        let rows = project.ralph(["workflow", "validate", &path, "--json"]).output().expect(0).json();
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names_in(folder.join("one")), ["a"], "its other files are no workflows");
    fs::remove_file(folder.join("one/compose.yaml")).unwrap();
    assert_eq!(names_in(folder.clone()), ["a", "b"]);
    let empty = folder.join("none");
    fs::create_dir_all(&empty).unwrap();
    let refused = project.ralph(["workflow", "validate", &empty.display().to_string()]).output().expect(64).stderr;
    assert!(refused.contains("there are no workflow files in "), "{refused}");
}

// spec: W5
#[test]
fn validate_notes_a_command_that_does_not_exist() {
    let text = "name: w\ndescription: d\nnodes:\n  - id: a\n    command: plan\n  - id: b\n    command: gone\n";
    let project = project_with(&[(".ralph/workflows/w.yaml", text), (".archon/commands/x/plan.md", "Plan.")]);
    let output = project.ralph(["workflow", "validate", "w"]).output().expect(0);
    assert!(
        output.stdout.contains(".ralph/workflows/w.yaml:1:1: note: there is no command named \"gone\""),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("\"plan\""), "{}", output.stdout);
}

// spec: W10
#[test]
fn show_prints_every_text_that_an_agent_or_a_shell_would_get() {
    let project = project_with(&[(".ralph/workflows/flow.yaml", FLOW)]);
    let shown = project.ralph(["workflow", "show", "flow"]).output().expect(0).stdout;
    for part in [
        "Builds and checks.",
        "plan (prompt) prompt:\n  Plan $ARGUMENTS",
        "build (loop) loop.prompt:\n  Build",
        "make test",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let shown = project.ralph(["workflow", "show", "flow", "--json"]).output().expect(0).json();
    assert_eq!(shown["workflow"]["nodes"][1]["control"]["until"], json!("DONE"));
}

// spec: W10
#[test]
fn an_unknown_name_has_a_suggestion_and_a_broken_workflow_its_errors() {
    let project = project_with(&[(".ralph/workflows/flow.yaml", FLOW), (".ralph/workflows/bad.yaml", "name: bad\n")]);
    let output = project.ralph(["workflow", "show", "flwo"]).output().expect(64);
    assert!(output.stderr.contains("there is no workflow named \"flwo\""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: did you mean flow?"), "{}", output.stderr);
    let output = project.ralph(["workflow", "graph", "bad"]).output().expect(1);
    assert!(output.stderr.contains("the workflow bad has errors"), "{}", output.stderr);
    assert!(output.stderr.contains(".ralph/workflows/bad.yaml:1:1: a workflow needs one of"), "{}", output.stderr);
}

// spec: W10
#[test]
fn graph_lists_the_nodes_by_level_and_draws_them() {
    let project = project_with(&[(".ralph/workflows/flow.yaml", FLOW)]);
    let text = project.ralph(["workflow", "graph", "flow"]).output().expect(0).stdout;
    let expected = "  1  plan   prompt\n  2  build  loop (at most 5 iterations)  <- plan\n  3  check  checks (1 check)             <- build  when $plan.output != 'skip'\n";
    assert_eq!(text, expected);
    let svg = project.ralph(["workflow", "graph", "flow", "--svg"]).output().expect(0).stdout;
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    assert_eq!((svg.matches("<rect ").count(), svg.matches("<path").count()), (3, 2));
    assert!(svg.contains("when $plan.output != 'skip'"), "{svg}");
}

// spec: W10
#[test]
fn the_schema_names_every_form_and_kind() {
    let project = Project::new();
    let schema = project.ralph(["workflow", "schema"]).output().expect(0).json();
    assert_eq!(schema["required"], json!(["name", "description"]));
    let kinds: Vec<&str> = schema["$defs"]["node"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| kind["required"][0].as_str().unwrap())
        .collect();
    assert_eq!(kinds.len(), 11);
    for kind in kinds {
        assert!(schema["$defs"]["node"]["properties"][kind].is_object(), "{kind}");
    }
}

// spec: W1
#[test]
fn workflows_of_the_user_work_outside_of_a_repository() {
    let project = Project::new();
    let folder = project.home().join(".config/ralph/workflows");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("flow.yaml"), FLOW).unwrap();
    let outside = project.outside("empty");
    fs::create_dir(&outside).unwrap();
    let output = project.ralph(["workflow", "graph", "flow"]).folder(&outside).output().expect(0);
    assert!(output.stdout.starts_with("  1  plan   prompt\n"), "{}", output.stdout);
}
