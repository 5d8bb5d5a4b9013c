//! Task files of any origin are read unchanged or refused with a position.
use serde_json::json;

use crate::harness::Project;
use crate::tasks::task_commands::{listed, shown, task, tree};

// spec: T4, X4
#[test]
fn files_with_crlf_or_a_byte_order_mark_are_read_and_mistakes_have_a_position() {
    let project = Project::new();
    let good = "- id: A\n  title: Ä \u{1F600}\n  completion: {outcome: o, acceptance_criteria: [a]}\n";
    let import = |name: &str, text: &str| {
        project.write(name, text);
        task(&project, &["import", name])
    };
    import("crlf.yaml", &good.replace('\n', "\r\n")).expect(0);
    import("bom.yaml", &format!("\u{feff}{}", good.replace("id: A", "id: B"))).expect(0);
    import("bom.json", "\u{feff}[{\"id\": \"C\", \"title\": \"t\"}]").expect(0);
    import("bom.md", "\u{feff}- [ ] D-1: Do it\r\n  - it works\r\n").expect(0);
    assert_eq!(shown(&project, "A")["title"], "Ä \u{1F600}");
    assert_eq!(shown(&project, "D-1")["completion"]["acceptance_criteria"], json!(["it works"]));
    let deep = format!("- id: X\n  title: x\n  metadata: {}1{}\n", "[".repeat(100), "]".repeat(100));
    let cases = [
        ("tab.yaml", "- id: X\n\ttitle: x\n".to_owned(), "tab.yaml:1:7:"),
        ("crlf.yaml", "- id: X\r\n  title: x\r\n  prio: 1\r\n".to_owned(), "crlf.yaml:3:3: there is no field prio"),
        ("bom.yaml", "\u{feff}- id: X\n  titel: x\n".to_owned(), "bom.yaml:2:3: there is no field titel"),
        ("twice.yaml", "- id: X\n  title: x\n  id: Y\n".to_owned(), "twice.yaml:3:3:"),
        ("deep.yaml", deep, "deep.yaml:3:"),
        ("open.yaml", "- id: \"X\n  title: x\n".to_owned(), "open.yaml:"),
        ("two.yaml", "- id: X\n  title: x\n---\n- id: Y\n  title: y\n".to_owned(), "two.yaml:4:1:"),
        ("empty.yaml", String::new(), "empty.yaml:1:1: no tasks found"),
        ("control.json", "[{\"id\": \"X\", \"title\": \"a\u{1}b\"}]".to_owned(), "control.json:1:"),
    ];
    for (name, text, place) in cases {
        let answer = import(name, &text).expect(1);
        assert!(answer.stderr.starts_with(&format!("error: {place}")), "{place:?} does not begin\n{}", answer.stderr);
    }
    std::fs::write(project.root().join("latin.yaml"), b"- id: X\n  title: \xe4\n").unwrap();
    let latin = task(&project, &["import", "latin.yaml"]).expect(1);
    assert!(latin.stderr.starts_with("error: latin.yaml:2:10: not UTF-8 text"), "{}", latin.stderr);
    let huge = std::fs::File::create(project.root().join("huge.yaml")).unwrap();
    huge.set_len(33 << 20).unwrap();
    let huge = task(&project, &["import", "huge.yaml"]).expect(1);
    assert!(huge.stderr.starts_with("error: huge.yaml: file is larger than 32 MB"), "{}", huge.stderr);
    assert_eq!(listed(&project, &[]).len(), 4);
}

// spec: T4
#[test]
fn a_dry_run_says_what_is_wrong_and_stores_nothing() {
    let project = Project::new();
    project.write("a.yaml", "- id: A\n  title: a\n  dependencies: [B]\n");
    let missing = task(&project, &["import", "a.yaml", "--dry-run"]).expect(1);
    assert!(missing.stderr.contains("a.yaml:3:18: dependencies: task A depends on B"), "{}", missing.stderr);
    task(&project, &["create", "B", "s", "b", "--no-criteria"]).expect(0);
    let fine = task(&project, &["import", "a.yaml", "--dry-run"]).expect(0);
    assert_eq!(fine.stdout, "1 task can be imported from a.yaml\n");
    assert_eq!(listed(&project, &[]).len(), 1);
}

// spec: V6, T4
#[test]
fn a_template_in_a_task_is_resolved_on_creation_and_exported_unchanged() {
    let project = Project::new();
    let text = |template: &str, with: &str| {
        format!(
            "- id: A\n  title: a\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder:\n      \
             verification_config: {{template: {template}, with: {{{with}}}}}\n"
        )
    };
    let cases = [
        (
            "files-exits",
            "files: [a]",
            "t.yaml:7:39: completion.coder.verification_config.template: there is no template",
        ),
        ("files-exits", "files: [a]", "did you mean files-exist?"),
        ("files-exist", "file: a", "has no parameter \"file\""),
        ("files-exist", "files: {a: b}", "verification_config.with.files: found a table, expected a string"),
    ];
    for (template, with, words) in cases {
        project.write("t.yaml", text(template, with));
        let answer = task(&project, &["import", "t.yaml"]).expect(1);
        assert!(answer.stderr.contains(words), "{words:?} is not in\n{}", answer.stderr);
    }
    let good = text("files-exist", "files: [a, 'b c']");
    project.write("t.yaml", &good);
    task(&project, &["import", "t.yaml"]).expect(0);
    let exported = task(&project, &["export"]).expect(0).stdout;
    assert_eq!(tree(&exported)["task"], tree(&good)[0]);
    let wrong = ["--coder-verify-config", r#"{"template": "nope"}"#];
    let refused = task(&project, &[["edit", "A"].as_slice(), &wrong].concat()).expect(64);
    assert!(refused.stderr.contains("there is no template"), "{}", refused.stderr);
}

// spec: X1
// fault: 74
#[test]
fn no_text_of_a_task_reaches_the_terminal_unescaped() {
    let project = Project::new();
    let sly = "a\u{1b}[2Jb\u{9b}31m\u{7}\u{202e}`x` $(y) '\"\\";
    let block = json!({"promise": sly, "description": sly, "verification_method": "external",
        "verification_config": {"command": sly, "env": {"A": sly}}});
    let task_of = |id: &str| {
        json!({"id": id, "title": sly, "description": format!("{sly}\n\t{sly}"), "assignee": sly,
            "metadata": {sly: sly}, "completion": {"outcome": sly, "acceptance_criteria": [sly], "coder": block,
            "qa": {"verification_config": {"stages": [{"name": sly, "method": "external", "config": {"command": sly}}]}}}})
    };
    project.write("t.json", json!([task_of("A")]).to_string());
    let commands: [&[&str]; 8] = [
        &["import", "t.json"],
        &["import", "t.json"],
        &["list"],
        &["show", "A"],
        &["export"],
        &["edit", "A", "--title", sly, "--priority", "2"],
        &["show", sly],
        &["create", "B", "s", sly, "--no-criteria"],
    ];
    for command in commands {
        let answer = task(&project, command);
        let is_raw = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
        let seen = format!("{}{}", answer.stdout, answer.stderr);
        assert!(!seen.contains(is_raw), "{command:?}: {seen:?}");
    }
    let shown = shown(&project, "A");
    assert_eq!((&shown["title"], &shown["completion"]["outcome"]), (&json!(sly), &json!(sly)), "nothing is lost");
    let exported = task(&project, &["export", "A"]).expect(0).stdout;
    assert_eq!(tree(&exported)["task"]["completion"], shown["completion"]);
    for (field, value) in [("title", "a\0b"), ("description", "a\0b"), ("title", "a\nb")] {
        let mut bad = task_of("C");
        bad[field] = json!(value);
        project.write("bad.json", json!([bad]).to_string());
        let refused = task(&project, &["import", "bad.json"]).expect(1);
        assert!(refused.stderr.starts_with("error: bad.json:1:"), "{}", refused.stderr);
        assert!(refused.stderr.contains(field), "{}", refused.stderr);
    }
}

// spec: T4
#[test]
fn in_json_task_files_only_strings_are_text() {
    let project = Project::new();
    let external = |part: &str| {
        format!(
            r#"[{{"id": "A", "title": "a", "completion": {{"outcome": "o", "acceptance_criteria": ["a"],
            "coder": {{"verification_method": "external", "verification_config": {{{part}}}}}}}}}]"#
        )
    };
    let story = |part: &str| {
        format!(r#"{{"userStories": [{{"id": "A", "title": "a", "acceptanceCriteria": ["a"], {part}}}]}}"#).replace(
            r#""id": "A", "title": "a", "acceptanceCriteria": ["a"], "id""#,
            r#""title": "a", "acceptanceCriteria": ["a"], "id""#,
        )
    };
    let cases = [
        (external(r#""command": 5"#), "verification_config.command: 5 is not a string"),
        (external(r#""command": true"#), "verification_config.command: true is not a string"),
        (external(r#""command": ["a", 5]"#), "verification_config.command.1: 5 is not a string"),
        (
            external(r#""command": "a", "success_exit_code": "0""#),
            "success_exit_code: expected a number or boolean, found a string",
        ),
        (external(r#""command": "a", "success_exit_code": -1"#), "\"-1\" is not an exit code"),
        (external(r#""command": "a", "output_contains": 5"#), "output_contains: 5 is not a string"),
        (external(r#""command": "a", "env": {"A": 5}"#), "env.A: 5 is not a string"),
        (story(r#""id": 5"#), "id: 5 is not a string"),
        (story(r#""passes": "true""#), "passes: expected a number or boolean, found a string"),
        (r#"{"userStories": []}"#.to_owned(), "no tasks found"),
    ];
    for (text, words) in cases {
        project.write("t.json", &text);
        let answer = task(&project, &["import", "t.json"]).expect(1);
        assert!(
            answer.stderr.starts_with("error: t.json:") && answer.stderr.contains(words),
            "{text}\n{}",
            answer.stderr
        );
    }
    project.write("t.json", external(r#""command": "a", "timeout": 300, "retries": 2"#));
    task(&project, &["import", "t.json"]).expect(0);
}

// spec: T4, V2, V12
#[test]
fn a_check_of_a_task_is_validated_like_every_check() {
    let project = Project::new();
    let cases = [
        ("retries: 4000000000", "retries: 4000000000 is too high: the maximum is 10"),
        ("env: {'A=B': x}", "env: \"A=B\" is not a valid variable name"),
        ("env: {'': x}", "env: \"\" is not a valid variable name"),
        ("output_contains: ''", "output_contains: it is empty"),
        ("working_dir: ..", "working_dir: \"..\" is outside the work tree"),
    ];
    for (part, words) in cases {
        let text = format!(
            "- id: A\n  title: a\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder:\n      \
             verification_config: {{command: make, {part}}}\n"
        );
        project.write("t.yaml", text);
        let answer = task(&project, &["import", "t.yaml"]).expect(1);
        assert!(answer.stderr.contains(words), "{words:?} is not in\n{}", answer.stderr);
        assert!(answer.stderr.starts_with("error: t.yaml:7:"), "{}", answer.stderr);
        project.write("c.yaml", format!("checks: [{{command: 'true', {part}}}]\n"));
        let answer = project.run(&["complete"]).args(["--config", "c.yaml"]).output().expect(1);
        let (key, _) = words.split_once(':').unwrap();
        assert!(answer.stderr.contains("c.yaml:1:") && answer.stderr.contains(key), "{}", answer.stderr);
    }
    assert!(project.starts().is_empty());
}

// spec: T4
#[test]
fn importing_a_checklist_reports_the_ignored_lines() {
    let project = Project::new();
    project.write("t.md", "1. [ ] T1: One\n- [-] T2: Two\n- [ ] 日本\n");
    let answer = task(&project, &["import", "t.md"]).expect(0);
    assert!(answer.stderr.contains("warning: t.md:2: [-] is not a checkbox"), "{}", answer.stderr);
    let ids: Vec<String> = listed(&project, &[]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["T1", "task-3"]);
    project.write("one.md", "- [ ] T9: Nine\n");
    task(&project, &["create", "--from-file", "one.md"]).expect(0);
    let several = task(&project, &["create", "--from-file", "t.md"]).expect(1);
    assert!(several.stderr.contains("expected a single task"), "{}", several.stderr);
}

// spec: T3, T5
#[test]
fn naming_the_current_method_of_a_role_keeps_its_settings() {
    let project = Project::new();
    let config = r#"{"command": "make", "timeout": 7, "retries": 3}"#;
    let create = ["create", "A", "s", "a", "--outcome", "o", "--acceptance", "a", "--coder-verify-config", config];
    task(&project, &create).expect(0);
    let kept = |flags: &[&str]| {
        task(&project, &[&["edit", "A", "--coder-verify", "external"], flags].concat()).expect(0);
        let spec = shown(&project, "A")["completion"]["coder"]["verification_config"].clone();
        (spec["command"].clone(), spec["retries"].clone())
    };
    assert_eq!(kept(&["--coder-max-iterations", "3"]), (json!("make"), json!(3)));
    assert_eq!(kept(&["--coder-verify-cmd", "just"]), (json!("just"), json!(3)));
    task(&project, &["edit", "A", "--coder-verify", "string_match"]).expect(0);
    assert!(shown(&project, "A")["completion"]["coder"].get("verification_config").is_none());
    for (written, words) in [("@", "there is no file name after @"), ("command: make", "expected JSON or @FILE")] {
        let answer = task(&project, &["edit", "A", "--coder-verify-config", written]).expect(64);
        assert!(answer.stderr.contains(&format!("--coder-verify-config: {words}")), "{}", answer.stderr);
    }
}
