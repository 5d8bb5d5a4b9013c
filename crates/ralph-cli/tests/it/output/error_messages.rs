//! Errors name the thing, the reason and the fix, and nothing is started.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

/// Asserts the format of an error, and that no agent was started.
#[track_caller]
fn refused(project: &Project, answer: CallOutput, code: i32) -> String {
    let answer = answer.expect(code);
    assert!(answer.stdout.is_empty(), "stdout is for data: {}", answer.stdout);
    assert!(answer.stderr.starts_with("error: "), "{}", answer.stderr);
    assert!(project.starts().is_empty(), "nothing is started");
    answer.stderr
}

fn run_with<'a>(project: &'a Project, program: &Path) -> crate::harness::Call<'a> {
    project.ralph(["run", "x", "--agent", "text", "--agent-cmd"]).args([program])
}

// spec: U1, A8
#[test]
fn an_unknown_agent_is_refused_with_a_suggestion() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "x", "--agent", "cluade"]).output(), 64);
    assert_eq!(stderr, "error: there is no agent named \"cluade\"\nhint: did you mean claude?\n");
}

// fault: 29, spec: U1, L5
#[test]
fn a_missing_agent_is_detected_before_the_first_iteration() {
    let project = Project::new();
    let call = project.ralph(["run", "x", "--agent", "claude"]).env("PATH", "/nowhere");
    let stderr = refused(&project, call.output(), 1);
    insta::assert_snapshot!(stderr, @r#"
    error: the agent claude was not found on PATH
    caused by: PATH is "/nowhere"
    hint: install it with `npm install -g @anthropic-ai/claude-code`, or choose another with --agent
    "#);
    let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", "./no-such-agent"]);
    refused(&project, call.output(), 1);
}

// fault: 30
#[test]
fn an_agent_that_cannot_be_executed_is_explained() {
    let project = Project::new();
    let plain = project.write("agent", "#!/bin/sh\n");
    let stderr = refused(&project, run_with(&project, &plain).output(), 1);
    assert!(stderr.contains("chmod +x"), "{stderr}");

    let script = |text: &str| {
        let path = project.write("script", text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let stderr = refused(&project, run_with(&project, &script("#!/no/such/sh\necho\n")).output(), 1);
    assert!(stderr.contains("/no/such/sh"), "the interpreter is named: {stderr}");
    let stderr = refused(&project, run_with(&project, &script("echo hello\n")).output(), 1);
    assert!(stderr.contains("#!/bin/sh"), "{stderr}");
}

// spec: U1
#[test]
fn outside_of_a_git_repository_the_hint_shows_how_to_create_one() {
    let project = Project::new();
    let outside = project.outside("elsewhere");
    fs::create_dir(&outside).unwrap();
    let call = project.ralph(["run", "x", "--agent", "demo"]).folder(&outside);
    let stderr = refused(&project, call.output(), 1);
    assert!(stderr.contains("is not inside a git repository") && stderr.contains("hint: "), "{stderr}");
    refused(&project, project.ralph(["runs"]).folder(&outside).output(), 1);
}

// spec: C8, U1
#[test]
fn an_invalid_number_of_iterations_is_refused() {
    let project = Project::new();
    let limit = |text: &str| {
        let call = project.run(&["complete"]).args(["--max-iterations", text]);
        refused(&project, call.output(), 64)
    };
    assert!(limit("0").contains("at least 1"));
    assert!(limit("-3").contains("at least 1"));
    assert!(limit("99999999999999999999999").contains("at most 1000000"));
    assert!(limit("many").contains("whole number"));
}

// fault: 70, spec: C8
#[test]
fn an_invalid_duration_is_refused() {
    let project = Project::new();
    for text in ["0", "-5", "NaN", "1000000000h", "soon"] {
        let call = project.run(&["complete"]).args([format!("--timeout={text}")]);
        refused(&project, call.output(), 64);
    }
}

// fault: 86, spec: C8, S1
#[test]
fn an_empty_promise_is_refused_at_the_start() {
    let project = Project::new();
    for promise in ["", "   "] {
        let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", FAKE_AGENT, "--promise", promise]);
        let stderr = refused(&project, call.output(), 64);
        assert!(stderr.contains("promise") && stderr.contains("hint: "), "{stderr}");
    }
}

// spec: C8, U1
#[test]
fn a_prompt_that_cannot_be_read_is_named() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "@no/such/file.md", "--agent", "demo"]).output(), 1);
    assert!(stderr.contains("no/such/file.md") && stderr.contains("No such file"), "{stderr}");
    project.write("binary", b"\xff\xfe\x00");
    let stderr = refused(&project, project.ralph(["run", "@binary", "--agent", "demo"]).output(), 1);
    assert!(stderr.contains("UTF-8"), "{stderr}");
    refused(&project, project.ralph(["run", "   ", "--agent", "demo"]).output(), 64);
}

// spec: C8
#[test]
fn the_text_agent_needs_a_program_and_a_check_needs_a_command() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "x", "--agent", "text"]).output(), 1);
    assert!(stderr.contains("--agent-cmd"), "{stderr}");
    refused(&project, project.run(&["complete"]).args(["--check", " "]).output(), 64);
}

// spec: C8, A6
#[test]
fn a_model_for_a_program_that_accepts_none_is_refused() {
    let project = Project::new();
    let stderr = refused(&project, project.run(&["complete"]).args(["--model", "opus"]).output(), 64);
    assert!(stderr.contains("error: an agent of type text takes no model (\"opus\")"), "{stderr}");
    assert!(stderr.contains("hint: ") && stderr.contains("--agent-arg"), "{stderr}");
}

// spec: U1
#[test]
fn unknown_flags_and_commands_are_usage_errors_with_a_suggestion() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "x", "--max-iteration=3"]).output(), 64);
    assert!(stderr.contains("--max-iterations"), "{stderr}");
    refused(&project, project.ralph(["rnu"]).output(), 64);
}

// spec: U1
#[test]
fn an_invalid_number_is_refused_with_the_valid_range() {
    let project = Project::new();
    let table: [(&[&str], &str); 7] = [
        (&["runs", "-n", "0"], "a list needs at least 1 run"),
        (&["runs", "-n", "-3"], "a list needs at least 1 run"),
        (&["runs", "--limit", "all"], "it must be a whole number"),
        (&["gc", "--keep", "-1"], "0 keeps none"),
        (&["gc", "--keep", "1e9"], "it must be a whole number"),
        (&["run", "x", "--max-retries", "-1"], "0 means none"),
        (&["run", "x", "--max-retries", "99999999999"], "at most 1000000 retries are allowed"),
    ];
    for (call, words) in table {
        let stderr = refused(&project, project.ralph(call).output(), 64);
        assert!(stderr.contains(words), "{call:?}: {stderr}");
    }
}

// spec: U1
#[test]
fn a_negative_time_or_size_is_refused_with_a_valid_example() {
    let project = Project::new();
    let times = ["--timeout", "--idle-timeout", "--after-result", "--max-rate-limit-wait", "--grace"];
    let run = |flag, value| ["run", "x", flag, value];
    let mut calls: Vec<([&str; 4], &str)> =
        times.iter().map(|flag| (run(flag, "-5s"), "write 500ms, 30s, 10m, 2h or 7d")).collect();
    calls.push((run("--check-timeout", "-1"), "write 500ms, 30s, 10m, 2h or 7d"));
    calls.push((run("--max-memory", "-4G"), "write 512M or 4G"));
    calls.push((run("--log-limit", "-1"), "write 100M or 1G"));
    calls.push((["gc", "--dry-run", "--older-than", "-30d"], "write 500ms, 30s, 10m, 2h or 7d"));
    for (call, words) in calls {
        let stderr = refused(&project, project.ralph(call).output(), 64);
        assert!(stderr.contains(words), "{call:?}: {stderr}");
    }
}

// fault: 58
#[test]
fn a_state_folder_that_cannot_be_used_stops_before_anything_is_started() {
    let project = Project::new();
    fs::create_dir_all(project.state().parent().unwrap()).unwrap();
    fs::write(project.state(), "a file where the folder should be").unwrap();
    let stderr = refused(&project, project.run(&["complete"]).output(), 10);
    assert!(stderr.contains(&project.state().display().to_string()), "{stderr}");
}

// fault: 60, spec: D1
#[test]
fn a_database_of_a_newer_version_is_refused_and_not_touched() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let database = project.state().join("ralph.db");
    let set_version = |version: i32| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            use sqlx::{ConnectOptions, Connection};
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&database);
            let mut connection = options.connect().await.unwrap();
            let sql = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {version}"));
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    };
    set_version(999);
    let folders = || fs::read_dir(project.state().join("runs")).unwrap().count();
    let before = (fs::read(&database).unwrap(), folders());
    let answer = project.run(&["complete"]).output().expect(10);
    assert!(answer.stderr.contains("schema 999"), "{}", answer.stderr);
    assert_eq!((fs::read(&database).unwrap(), folders()), before);
    assert_eq!(project.starts().len(), 1, "nothing more was started");
}

// spec: C8
#[test]
fn a_prompt_from_stdin_is_the_same_in_every_iteration() {
    let project = Project::new();
    let call = project.ralph(["run", "@/dev/stdin", "--agent", "text", "--agent-cmd", FAKE_AGENT, "--json"]);
    let call = call.args(["--agent-arg=work", "--max-iterations", "2"]).input("do this long thing, please");
    call.output().expect(3);
    let lengths: Vec<String> =
        project.starts().iter().map(|line| line.split(' ').next_back().unwrap().to_owned()).collect();
    assert_eq!(lengths[0], lengths[1], "the second iteration has the same prompt: {lengths:?}");
    assert!(lengths[0].parse::<usize>().unwrap() > 100);
}

// spec: C8
#[test]
fn a_prompt_without_end_is_refused() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "@/dev/zero", "--agent", "demo"]).output(), 1);
    assert!(stderr.contains("longer than 64 MB"), "{stderr}");
}

// spec: C8
#[test]
fn a_promise_that_no_tag_could_hold_is_refused() {
    let project = Project::new();
    let call = project.ralph(["run", "x", "--agent", "demo", "--promise", "</promise>"]);
    refused(&project, call.output(), 64);
}

// spec: U1
#[test]
fn data_that_cannot_be_written_is_an_error() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let full = project.shell("exec \"$@\" > /dev/full");
    for command in [["export", "--help"], ["runs", "--json"]].map(|[command, _]| command) {
        let answer = project.ralph([command]).with(|call| {
            let mut wrapped = std::process::Command::new(&full);
            wrapped.arg(call.get_program()).args(call.get_args()).current_dir(project.root());
            wrapped.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
            *call = wrapped;
        });
        assert!(answer.output().expect(1).stderr.contains("cannot write to standard output"));
    }
}

// fault: 30, spec: U1
#[test]
fn a_folder_in_place_of_the_agent_is_reported_as_a_folder() {
    let project = Project::new();
    let stderr = refused(&project, run_with(&project, Path::new("/tmp")).output(), 1);
    assert!(stderr.contains("the agent program /tmp is a folder") && !stderr.contains("chmod"), "{stderr}");
}

// spec: U1, C8
#[test]
fn a_missing_prompt_gets_a_matching_hint() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["run", "-", "--agent", "demo"]).output(), 1);
    assert!(stderr.contains("it is empty") && stderr.contains("| ralph run -"), "{stderr}");
    assert!(!stderr.contains('@'), "{stderr}");
    let stderr = refused(&project, project.ralph(["run", "@", "--agent", "demo"]).output(), 64);
    assert!(stderr.contains("there is no file name after @") && stderr.contains("@task.md"), "{stderr}");
}

// spec: U1, C8
#[test]
fn flags_that_contradict_each_other_are_refused() {
    let project = Project::new();
    for flags in [["--fresh", "--continue"], ["--continue", "--fresh"]] {
        let stderr = refused(&project, project.ralph(["run", "x"]).args(flags).output(), 64);
        assert!(stderr.contains("--fresh") && stderr.contains("--continue"), "{stderr}");
    }
}

// spec: U1, D5
#[test]
fn an_invalid_duration_is_answered_with_all_units() {
    let project = Project::new();
    let stderr = refused(&project, project.ralph(["gc", "--older-than", "abc"]).output(), 64);
    assert!(stderr.contains("500ms, 30s, 10m, 2h or 7d"), "{stderr}");
}

// fault: 86, spec: S1
#[test]
fn a_promise_of_one_letter_is_refused_like_an_empty_one() {
    let project = Project::new();
    for (promise, why) in [("x", "a single letter"), (" \u{e4} ", "a single letter"), (" ", "empty")] {
        let call = project.ralph(["run", "x", "--agent", "demo", "--promise", promise]);
        let stderr = refused(&project, call.output(), 64);
        assert!(stderr.contains(why) && stderr.contains("--promise DONE"), "{stderr}");
        let detected = project.ralph(["detect", "--promise", promise]).output();
        assert!(refused(&project, detected, 64).contains(why));
    }
}

/// Starts ralph with a file in place of its standard input or output.
fn redirected<'a>(call: crate::harness::Call<'a>, to: &str) -> crate::harness::Call<'a> {
    call.run_under("sh", ["-c".to_owned(), format!("exec \"$0\" \"$@\" {to}")])
}

// fault: 82, spec: D4, U1
#[test]
fn an_endless_file_is_refused_and_takes_no_memory() {
    let project = Project::new();
    let calls = [
        project.ralph(["import", "/dev/zero"]),
        redirected(project.ralph(["detect", "--batch"]), "</dev/zero"),
        project.ralph(["detect", "--promise", "DONE", "--prompt-file", "/dev/zero"]),
    ];
    for call in calls {
        let answer = call.output();
        let peak = answer.peak_memory_kb;
        let stderr = refused(&project, answer, 1);
        assert!(stderr.contains(" MB") && stderr.contains("longer than"), "{stderr}");
        assert!(peak < 200_000, "{peak} KB");
    }
}

// fault: 19, 56, spec: U1
#[test]
fn lost_output_is_reported_and_is_not_a_success() {
    let project = Project::new();
    let completed = redirected(project.run(&["complete"]), ">/dev/full").output().expect(1);
    assert!(completed.stderr.contains("cannot write to standard output"), "{}", completed.stderr);
    let failed = redirected(project.run(&["exit", "1"]).args(["--max-retries", "0"]), ">/dev/full");
    let failed = failed.output().expect(4);
    assert!(failed.stderr.contains("cannot write to standard output"), "{}", failed.stderr);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["status"], &runs[1]["status"]), (&"failed".into(), &"completed".into()));
    let printed = redirected(project.run_on("x", &["complete"]), ">/dev/full").output().expect(1);
    assert!(printed.stderr.contains("cannot write to standard output"), "{}", printed.stderr);
}

// spec: C6, U1
#[test]
fn the_help_lists_every_exit_code_that_a_run_can_have() {
    let project = Project::new();
    let help = project.ralph(["--help"]).output().expect(0).stdout;
    let codes = help.split_once("Exit codes: ").unwrap().1.replace('\n', " ");
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "8 ", "10 ", "64 ", "70 ", "130/143 "] {
        assert!(codes.starts_with(code) || codes.contains(&format!(" {code}")), "{code}: {codes}");
    }
}
