//! Mistakes in task files are reported with their position by every command that reads such files.
use crate::harness::Project;
use crate::tasks::task_commands::{listed, task};

/// A task with these verification settings for the coder.
fn verified_by(lines: &str) -> String {
    format!(
        "id: A\ntitle: a\nspec_id: s\ncompletion:\n  outcome: o\n  acceptance_criteria: [a]\n  coder:\n    \
         verification_config:\n{lines}"
    )
}

/// The mistake, its position, the field, and the hint.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        "      retries: 1\n      template: files-exits\n      with: {files: [a]}\n",
        "10:17",
        "template: there is no template named \"files-exits\"",
        "did you mean files-exist?",
    ),
    (
        "      template: pytest-coverage\n      with:\n        paths: [tests]\n        mni: 3\n",
        "12:14",
        "with.mni: the template pytest-coverage has no parameter \"mni\"",
        "did you mean min?",
    ),
    (
        "      template: http-health\n      with:\n        status: 200\n",
        "11:9",
        "with.url: the template http-health needs the parameter url",
        "write `with: {url: ...}`",
    ),
    (
        "      template: files-exist\n      retries: 1\n",
        "9:7",
        "with.files: the template files-exist needs the parameter files",
        "write `with: {files: ...}`",
    ),
    (
        "      template: pytest-coverage\n      with:\n        paths: [a]\n        min: most\n",
        "12:14",
        "with.min: \"most\" is not a whole number between 0 and 100",
        "the parameters of pytest-coverage are ",
    ),
    (
        "      template: http-health\n      with:\n        url: ['http://a', 'http://b']\n",
        "11:14",
        "with.url: expected one value, not a list",
        "the parameters of http-health are ",
    ),
    (
        "      comand: make test\n",
        "9:7",
        "there is no field completion.coder.verification_config.comand",
        "did you mean command?",
    ),
    (
        "      wibble: 1\n",
        "9:7",
        "there is no field completion.coder.verification_config.wibble",
        "choose one of command,",
    ),
    ("      command: make\n      timeout: soon\n", "10:16", "timeout: ", "such as 5m, or 300 for seconds"),
];

// spec: T4, V6
#[test]
fn a_mistake_in_a_task_file_is_reported_with_its_position_field_and_a_hint() {
    let project = Project::new();
    for (lines, place, what, hint) in MISTAKES {
        let whole = verified_by(lines);
        project.write("t.yaml", format!("task:\n  {}\n", whole.trim_end().replace('\n', "\n  ")));
        project.write("one.yaml", &whole);
        let (line, column) = place.split_once(':').unwrap();
        let (line, column): (u32, u32) = (line.parse().unwrap(), column.parse().unwrap());
        let calls: [(&[&str], String); 2] = [
            (&["import", "t.yaml"], format!("error: t.yaml:{}:{}: ", line + 1, column + 2)),
            (&["create", "--from-file", "one.yaml"], format!("error: one.yaml:{place}: ")),
        ];
        for (args, begin) in calls {
            let printed = task(&project, args).expect(1).stderr;
            assert!(printed.starts_with(&begin), "{begin:?} does not begin\n{printed}");
            assert!(
                printed.contains(what) && printed.contains(&format!("\nhint: {hint}")),
                "{what}, {hint}:\n{printed}"
            );
        }
    }
    assert_eq!(listed(&project, &[]).len(), 0, "nothing is stored");
}

// finding: N37
// spec: T4
#[test]
fn a_field_at_the_wrong_level_gets_a_hint_with_the_right_one() {
    let project = Project::new();
    let cases = [
        ("title: a\ncoder: {promise: X}\n", "2:1: there is no field coder", "completion"),
        ("title: a\npromise: X\n", "2:1: there is no field promise", "a role, such as completion.coder"),
        ("title: a\noutcome: o\n", "2:1: there is no field outcome", "completion"),
        ("command: make\n", "1:1: there is no field command", "verification_config, or the config of a stage"),
        ("completion:\n  priority: 1\n", "2:3: there is no field completion.priority", "the task itself"),
        (
            "completion:\n  outcome: o\n  acceptance_criteria: [a]\n  max_iterations: 3\n",
            "4:3: there is no field completion.max_iterations",
            "a role, such as completion.coder",
        ),
    ];
    for (text, what, home) in cases {
        project.write("one.yaml", text);
        let printed = task(&project, &["create", "--from-file", "one.yaml"]).expect(1).stderr;
        assert_eq!(printed, format!("error: one.yaml:{what}\nhint: it belongs to {home}\n"));
    }
}

// spec: T3, T4
#[test]
fn a_missing_field_is_reported_with_its_position_and_a_wrong_flag_with_its_name() {
    let project = Project::new();
    project.write("bare.yaml", "# a task\ntitle: a\nspec_id: s\nid: A\n");
    let bare = task(&project, &["create", "--from-file", "bare.yaml"]).expect(1).stderr;
    assert!(bare.starts_with("error: bare.yaml:2:1: completion: the task does not say when it is done"), "{bare}");
    project.write("id.yaml", "title: a\nid: no id\ncompletion: {outcome: o, acceptance_criteria: [a]}\n");
    let id = task(&project, &["create", "--from-file", "id.yaml"]).expect(1).stderr;
    assert!(id.starts_with("error: id.yaml:2:5: id: \"no id\" is not a valid id"), "{id}");
    project.write("good.yaml", verified_by("      command: make\n"));
    let flags = ["create", "--from-file", "good.yaml", "--coder-verify-config", r#"{"template": "nope"}"#];
    let flag = task(&project, &flags).expect(64).stderr;
    let printed = "error: completion.coder.verification_config.template: there is no template named \"nope\"";
    assert!(flag.starts_with(printed) && flag.contains("; its flag is --coder-verify-config\n"), "{flag}");
    task(&project, &["create", "--from-file", "good.yaml"]).expect(0);
    let again = task(&project, &["create", "--from-file", "good.yaml"]).expect(1).stderr;
    assert!(again.starts_with("error: good.yaml:1:1: id: task A already exists"), "{again}");
}

// spec: T4, X1
#[test]
fn invalid_patterns_and_secrets_in_a_task_file_are_reported_with_their_position() {
    let project = Project::new();
    let whole = |guard: &str, command: &str| {
        format!(
            "- id: A\n  title: a\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    guard:\n    - ok/**\n    \
             - '{guard}'\n    coder:\n      verification_config: {{command: '{command}'}}\n"
        )
    };
    project.write("t.yaml", whole("[a", "make"));
    let pattern = task(&project, &["import", "t.yaml"]).expect(1).stderr;
    assert!(pattern.starts_with("error: t.yaml:8:7: completion.guard.1: "), "{pattern}");
    project
        .write("t.yaml", whole("b", "curl -H \"Authorization: Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123\""));
    let secret = task(&project, &["import", "t.yaml"]).expect(1).stderr;
    assert!(secret.starts_with("error: t.yaml:10:38: completion.coder.verification_config.command: "), "{secret}");
    assert!(!secret.contains("sk-ant"), "{secret}");
}
