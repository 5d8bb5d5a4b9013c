//! Check templates: no shell interprets their values.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::Project;

/// A program that records its arguments.
fn project_with_recording_program() -> Project {
    let project = Project::new();
    let path = project.write(
        "witness",
        "#!/bin/sh\nprintf '%s' \"$#\" > \"$TMPDIR/count\"; printf '%s' \"$1\" > \"$TMPDIR/given\"\n",
    );
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    project
}

// fault: 74
// spec: V6, X1
#[test]
fn a_template_value_becomes_exactly_one_argument_and_is_never_executed() {
    let project = project_with_recording_program();
    let canary = project.outside("pwned").display().to_string();
    let values = [
        format!("x; touch {canary}"),
        format!("$(touch {canary})"),
        format!("`touch {canary}`"),
        format!("a\nb && touch {canary}\n"),
        "-rf".to_owned(),
        "it's \"quoted\" \\ $HOME * ~".to_owned(),
        "{{program}} {{args}}".to_owned(),
        String::new(),
    ];
    for value in values {
        let config = project.outside("templates.yaml");
        let with = serde_json::json!({ "program": "./witness", "args": [value] });
        fs::write(&config, format!("checks: [{{template: command-succeeds, with: {with}}}]")).unwrap();
        project.run(&["complete"]).args(["--config", config.to_str().unwrap()]).output().expect(0);
        assert_eq!(fs::read_to_string(project.outside("given")).unwrap(), value);
        assert_eq!(fs::read_to_string(project.outside("count")).unwrap(), "1", "{value:?}");
        assert!(!project.outside("pwned").exists(), "{value:?}");
    }
}

// fault: 74
// spec: V6, X1
#[test]
fn a_shell_command_gets_its_values_as_variables() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/templates")).unwrap();
    let template =
        "about: A story\nparameters: {story: {about: Its name}}\ncheck: 'printf %s \"$RALPH_PARAM_STORY\" > told'\n";
    project.write(".ralph/templates/story.yaml", template);
    let canary = project.outside("pwned").display().to_string();
    let value = format!("x; touch {canary} $(touch {canary})");
    let asked = format!("story 'story={value}'");
    let run = || project.run(&["complete"]).args(["--check-template", &asked]);
    let answer = run().output().expect(1);
    assert!(answer.stderr.contains("templates.story: "), "it came with the project: {}", answer.stderr);
    project.trust();
    run().output().expect(0);
    assert_eq!(fs::read_to_string(project.root().join("told")).unwrap(), value);
    assert!(!project.outside("pwned").exists());
    project.write(".ralph/templates/story.yaml", template.replace("$RALPH_PARAM_STORY", "{{story}}"));
    let answer = run().output().expect(64);
    assert!(answer.stderr.contains("{{story}} is inside a shell command"), "{}", answer.stderr);
    assert!(answer.stderr.contains("RALPH_PARAM_"), "{}", answer.stderr);
}

// spec: V6, V2
#[test]
fn a_check_of_a_template_has_its_name_and_is_shown_in_full() {
    let project = Project::new();
    let run = project.run_on("do the work", &["complete"]);
    let printed = run.args(["--check-template", "files-exist files=gone", "--max-iterations", "1"]).output().expect(3);
    assert!(printed.stderr.contains("\ncheck     files-exist\n"), "{}", printed.stderr);
    assert!(printed.stdout.contains("`files-exist`: Command exited with 1"), "{}", printed.stdout);
    assert!(
        !printed.stdout.contains("for file") && !printed.stderr.contains("for file"),
        "{}{}",
        printed.stdout,
        printed.stderr
    );
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("files-exist: `/bin/sh -c 'for file; do"), "{shown}");
}

// spec: V6
#[test]
fn built_in_templates_accept_and_reject() {
    let project = Project::new();
    project.write("here", "x");
    project.write("empty", "");
    let table = [
        ("files-exist files=here", 0),
        ("files-exist files=here files=empty", 3),
        ("files-exist files=gone", 3),
        ("no-todos", 0),
        ("no-todos mark=x", 0),
        ("make target=none", 3),
        ("http-health url=http://127.0.0.1:1/", 3),
        ("command-succeeds program=false", 3),
    ];
    for (asked, code) in table {
        let call = project.run(&["complete"]).args(["--check-template", asked, "--max-iterations", "1"]);
        let answer = call.output();
        assert_eq!(answer.code(), code, "{asked}: {}", answer.stdout);
    }
    let git = std::process::Command::new("git").args(["add", "here"]).current_dir(project.root()).status();
    assert!(git.unwrap().success());
    let call = project.run(&["complete"]).args(["--check-template", "no-todos mark=x", "--max-iterations", "1"]);
    call.output().expect(3);
}

// spec: V6, U1
#[test]
fn templates_are_listed_and_a_mistyped_name_gets_a_suggestion() {
    let project = Project::new();
    let list = project.ralph(["templates"]).output().expect(0);
    for name in ["cargo-test", "npm-test", "pytest-coverage", "lint-clean", "files-exist", "http-health"] {
        assert!(list.stdout.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
    }
    let one = project.ralph(["templates", "pytest-coverage"]).output().expect(0);
    insta::assert_snapshot!(one.stdout);
    let json = project.ralph(["templates", "--json"]).output().expect(0).json();
    assert!(json.as_array().unwrap().iter().all(|one| one["about"].is_string() && one["parameters"].is_array()));
    let wrong = project.ralph(["templates", "pytset"]).output().expect(64);
    assert!(wrong.stderr.contains("did you mean pytest?"), "{}", wrong.stderr);
    let asked = |words: &str| project.run(&["complete"]).args(["--check-template", words]).output().expect(64);
    assert!(asked("pytset").stderr.contains("did you mean pytest?"));
    assert!(asked("pytest-coverage mni=1").stderr.contains("did you mean min?"));
    assert!(asked("pytest-coverage min").stderr.contains("is not NAME=VALUE"));
    assert!(asked("'open").stderr.contains("quotation mark is not closed"));
}

// spec: V6
#[test]
fn a_file_marked_as_binary_is_still_searched_for_todos() {
    let project = Project::new();
    let agent = "cat > /dev/null; echo '// TODO' > work.rs; echo '*.rs binary' > .gitattributes; git add -A; echo '<promise>COMPLETE</promise>'";
    let call = project.run_shell(agent).args(["--check-template", "no-todos", "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert!(answer.stdout.contains("work.rs:1:// TODO"), "{}", answer.stdout);
}

// spec: V6, V7
#[test]
fn a_built_in_template_that_cannot_run_rejects_nothing() {
    let project = Project::new();
    let run = |template: &str| {
        let call = project.run(&["complete"]).args(["--check-template", template, "--no-baseline"]);
        call.args(["--max-iterations", "1"])
    };
    let bin = project.outside("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["git", "sh", "cat", "true"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(program))
            .find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(program)).unwrap();
    }
    let answer = run("http-health url=http://127.0.0.1:9/").env("PATH", bin.display().to_string()).output();
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "could_not_evaluate", "{}", answer.stdout);
    let answer = run("no-todos path=:(nonsense)x").output();
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "could_not_evaluate", "{}", answer.stdout);
    run("no-todos").output().expect(0);
}
