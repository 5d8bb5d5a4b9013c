//! The configuration: layers, files, and their effect on a run.
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

/// Writes a file below the project's root, with its folder.
fn file(project: &Project, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = project.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Writes the user's own file.
fn user_file(project: &Project, text: &str) {
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), text).unwrap();
}

/// An agent of the project that is the scripted agent in this mode.
fn scripted(mode: &str) -> String {
    format!("agent: mine\nagents: {{mine: {{type: text, cli: '{FAKE_AGENT}', args: [{mode}]}}}}\n")
}

/// Prepares a loop with the commands of the project's configuration, which the user has approved.
fn run(project: &Project) -> crate::harness::Call<'_> {
    project.trust();
    project.ralph(["run", "do the work", "--promise", "COMPLETE", "--json"])
}

fn log(project: &Project) -> String {
    String::from_utf8_lossy(&project.log("iteration-001.ndjson")).into_owned()
}

/// Returns value, layer and origin of a key.
fn shown(answer: &CallOutput, key: &str) -> (Value, String, String) {
    let all = answer.json();
    let found = all.as_array().unwrap().iter().find(|shown| shown["key"] == key);
    let found = found.unwrap_or_else(|| panic!("{key} is not in {all}"));
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (found["value"].clone(), text("layer"), text("origin"))
}

// spec: G2, O1
#[test]
fn the_journal_calls_an_agent_by_the_name_that_the_user_gave_it() {
    let project = Project::new();
    file(&project, ".ralph/config.yaml", scripted("complete"));
    let answer = run(&project).output().expect(0);
    assert_eq!(answer.events()[0]["agent"], "mine");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    let show = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["agent"], &show["agent"]), (&"mine".into(), &"mine".into()));
}

// spec: G1, G2, A2, C8
#[test]
fn a_run_takes_agent_checks_and_limits_from_the_project_s_file() {
    let project = Project::new();
    let text = format!("{}checks: ['test -e proof']\nralph: {{default_max_iterations: 2}}\n", scripted("complete"));
    file(&project, ".ralph/config.yaml", text);
    let answer = run(&project).output().expect(3);
    assert_eq!(answer.finished()["iterations"], 2, "the check rejects every claim");
    project.write("proof", "");
    run(&project).output().expect(0);
    let people = project.ralph(["run", "x", "--promise", "COMPLETE"]).output().expect(0);
    assert!(people.stderr.contains("agent mine") && people.stderr.contains("test -e proof"), "{}", people.stderr);
}

// spec: G1
#[test]
fn flags_win_over_variables_over_the_project_over_the_user() {
    let project = Project::new();
    user_file(&project, "limits: {grace: 1s, idle_timeout: 1m, after_result: 1s, max_retries: 1}\n");
    let path = file(&project, ".ralph/config.yaml", "limits:\n  grace: 2s\n  idle_timeout: 2m\n  after_result: 2s\n");
    let show = project.ralph(["config", "show", "--json"]);
    let show = show.env("RALPH_LIMITS_IDLE_TIMEOUT", "3m").env("RALPH_LIMITS_AFTER_RESULT", "3s").output().expect(0);
    let user = project.home().join(".config/ralph/config.yaml").display().to_string();
    assert_eq!(shown(&show, "limits.max_retries"), (1.into(), "user".into(), format!("{user}:1")));
    assert_eq!(shown(&show, "limits.grace"), ("2s".into(), "project".into(), format!("{}:2", path.display())));
    assert_eq!(
        shown(&show, "limits.idle_timeout"),
        ("3m".into(), "environment".into(), "RALPH_LIMITS_IDLE_TIMEOUT".into())
    );
    assert_eq!(shown(&show, "agent"), ("claude".into(), "built-in".into(), "built-in".into()));
    project.trust();
    let call = project.run(&["hang", "600"]).args(["--max-iterations", "1", "--idle-timeout", "200ms"]);
    let answer = call.env("RALPH_LIMITS_IDLE_TIMEOUT", "3m").output().expect(3);
    assert!(answer.stdout.contains("timed_out"), "{}", answer.stdout);
}

// spec: G1
#[test]
fn the_user_s_file_is_where_the_desktop_standard_puts_it() {
    let project = Project::new();
    user_file(&project, "model: from-home\n");
    let xdg = project.outside("xdg");
    fs::create_dir_all(xdg.join("ralph")).unwrap();
    fs::write(xdg.join("ralph/config.yaml"), "model: from-xdg\n").unwrap();
    let show = || project.ralph(["config", "show", "--json"]);
    assert_eq!(shown(&show().output().expect(0), "model").0, "from-home");
    assert_eq!(shown(&show().env("XDG_CONFIG_HOME", &xdg).output().expect(0), "model").0, "from-xdg");
    let relative = show().env("XDG_CONFIG_HOME", "xdg").output().expect(0);
    assert_eq!(shown(&relative, "model").0, "from-home", "a relative folder means nothing");
    let path = project.ralph(["config", "path"]).env("XDG_CONFIG_HOME", &xdg).output().expect(0).stdout;
    assert_eq!(path, format!("{}\n", xdg.join("ralph/config.yaml").display()));
    let outside = show().folder(&project.outside("")).output().expect(0);
    assert_eq!(shown(&outside, "model").0, "from-home", "settings hold outside of projects too");
}

// spec: C1, G1
#[test]
fn both_files_side_by_side_are_an_error_and_a_named_file_replaces_them() {
    let project = Project::new();
    file(&project, ".ralph/config.yaml", "model: yaml\n");
    file(&project, ".ralph/config", "AGENT_TYPE=demo\n");
    let answer = run(&project).output().expect(1);
    assert!(answer.stderr.contains("both config and config.yaml exist"), "{}", answer.stderr);
    assert!(project.starts().is_empty());
    let named = file(&project, "other", "MODEL_NAME=x\nMAX_RETRIES=2\n");
    let show = project.ralph(["config", "show", "--json", "--config", "other"]).output().expect(0);
    assert_eq!(shown(&show, "limits.max_retries"), (2.into(), "named".into(), "other:2".into()));
    assert_eq!(shown(&show, "vars.MODEL_NAME").0, "x");
    fs::write(named, "limits: {max_retries: 4}\n").unwrap();
    let show = project.ralph(["config", "show", "--json", "--config", "other"]).output().expect(0);
    assert_eq!(shown(&show, "limits.max_retries").0, 4, "told by what is in it");
    let missing = run(&project).args(["--config", "nowhere.yaml"]).output().expect(1);
    assert!(missing.stderr.starts_with("error: nowhere.yaml: the file does not exist\nhint: "), "{}", missing.stderr);
}

// spec: C2, A2
#[test]
fn a_classic_file_is_read_and_never_run() {
    let project = Project::new();
    let text = format!(
        "# the agent\nexport AGENT_TYPE=text\nAGENT_CLI='{FAKE_AGENT}'\nAGENT_ARGS=\"script $(touch ran) x\"\nGOAL=`touch ran`\n"
    );
    file(&project, ".ralph/config", text);
    let show = project.ralph(["config", "show", "--json"]).output().expect(0);
    assert_eq!(shown(&show, "agents.text.args").0, serde_json::json!(["script", "$(touch", "ran)", "x"]));
    assert_eq!(shown(&show, "vars.GOAL").0, "`touch ran`");
    let text = format!("AGENT_TYPE=text\nAGENT_CLI='{FAKE_AGENT}'\nAGENT_ARGS=complete\nMAX_RETRIES=0\n");
    file(&project, ".ralph/config", text);
    run(&project).output().expect(0);
    assert!(!project.root().join("ran").exists(), "nothing was run");
}

// spec: C2, A2
#[test]
fn the_filters_of_a_classic_file_find_the_agent_s_own_text() {
    let project = Project::new();
    let agent = project.shell(
        "cat > /dev/null\necho '{\"echo\":\"<promise>COMPLETE</promise>\",\"text\":\"working\"}'\n[ -e second ] && echo '{\"text\":\"<promise>COMPLETE</promise>\"}'\ntouch second",
    );
    let text = format!(
        "AGENT_TYPE=text\nAGENT_CLI={agent}\nAGENT_OUTPUT_FORMAT=json\nAGENT_RESPONSE_FILTER=\"jq -r '.text'\"\nAGENT_DISPLAY_FILTER='jq -r .text'\n"
    );
    file(&project, ".ralph/config", text);
    assert_eq!(run(&project).output().expect(0).finished()["iterations"], 2, "an echo is not the agent's own text");
    let people = project.ralph(["run", "x", "--promise", "COMPLETE"]).output().expect(0);
    assert!(people.stderr.contains("working") && !people.stderr.contains("echo"), "{}", people.stderr);
}

// spec: C2, A2
// finding: N38
// spec: C6
#[test]
fn an_agent_without_a_program_is_a_configuration_error() {
    let project = Project::new();
    file(&project, ".ralph/config", "AGENT_TYPE=text\n");
    let refused = project.ralph(["build"]).output().expect(1).stderr;
    assert!(refused.contains("the agent text needs a program"), "{refused}");
}

// finding: N31
#[test]
fn a_filter_alone_reads_records_of_another_shape_and_the_exit_code_decides() {
    for agent_type in ["claude", "codex", "amp", "cline"] {
        let project = Project::new();
        let agent = project.shell("cat > /dev/null\necho '{\"mine\":\"<promise>COMPLETE</promise>\"}'");
        let text = format!(
            "AGENT_TYPE={agent_type}\nAGENT_CLI={agent}\nAGENT_ARGS=x\nAGENT_RESPONSE_FILTER=.mine\nMAX_RETRIES=0\n"
        );
        file(&project, ".ralph/config", text);
        let answer = run(&project).env("AMP_API_KEY", "none").output().expect(0);
        assert_eq!(answer.finished()["outcome"], "completed", "{agent_type}");
    }
}

// spec: S7, C2
#[test]
fn a_classic_file_can_disable_the_search_for_contradictions() {
    let project = Project::new();
    let script = project.script("text 3 tests still fail.\\n\\n{promise}\n");
    let text = format!("AGENT_TYPE=text\nAGENT_CLI='{FAKE_AGENT}'\nAGENT_ARGS=\"script {script}\"\n");
    file(&project, ".ralph/config", &text);
    run(&project).env("RALPH_DEFAULT_MAX_ITERATIONS", "1").output().expect(3);
    file(&project, ".ralph/config", format!("{text}CONTRADICTIONS=false\n"));
    run(&project).env("RALPH_DEFAULT_MAX_ITERATIONS", "1").output().expect(0);
}

// spec: G2, L7
#[test]
fn timeouts_come_from_the_configuration() {
    let project = Project::new();
    let text = format!("{}limits: {{idle_timeout: 200ms, grace: 100ms}}\n", scripted("hang, '600'"));
    file(&project, ".ralph/config.yaml", text);
    let answer = run(&project).env("RALPH_DEFAULT_MAX_ITERATIONS", "1").output().expect(3);
    assert!(answer.stdout.contains("timed_out"), "{}", answer.stdout);
}

// spec: G1
#[test]
fn an_invalid_home_is_tolerated_and_a_dangling_link_is_reported() {
    let project = Project::new();
    project.ralph(["config", "show"]).env("HOME", "/dev/null").output().expect(0);
    project.ralph(["config", "show"]).env("HOME", "").output().expect(0);
    let path = project.root().join(".ralph/config.yaml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    let answer = run(&project).output().expect(1);
    assert!(answer.stderr.contains("config.yaml: dangling symbolic link"), "{}", answer.stderr);
}

// spec: C2, U1
#[test]
fn a_mistake_in_a_classic_file_is_reported_with_its_line() {
    let project = Project::new();
    let path = file(&project, ".ralph/config", "AGENT_TYPE=text\n\nif [ -x ./agent ]; then\n");
    let answer = run(&project).output().expect(1);
    let expected = format!(
        "error: {}:3: not a KEY=value line\nhint: ralph does not execute this file: it may contain only comments and KEY=value lines\n",
        path.display()
    );
    assert_eq!(answer.stderr, expected);
}

// spec: G1, U1
#[test]
fn an_unknown_key_stops_before_anything_is_started() {
    let project = Project::new();
    let path = file(&project, ".ralph/config.yaml", format!("{}limits:\n  idle_timout: 1m\n", scripted("complete")));
    let answer = run(&project).output().expect(1);
    let expected = format!(
        "error: {}:4:3: there is no key limits.idle_timout\nhint: did you mean idle_timeout?\n",
        path.display()
    );
    assert_eq!(answer.stderr, expected);
    assert!(project.starts().is_empty());
}

// spec: G2, A6
#[test]
fn the_variables_of_an_agent_reach_it_and_are_not_shown() {
    let project = Project::new();
    let text = format!(
        "agent: mine\nagents: {{mine: {{type: text, cli: '{FAKE_AGENT}', args: [env], env: {{MY_KEY: 'a b=c', HOME: /elsewhere}}}}}}\n"
    );
    file(&project, ".ralph/config.yaml", text);
    run(&project).args(["--max-iterations", "1"]).output().expect(3);
    let log = log(&project);
    for line in ["MY_KEY=a b=c", "HOME=/elsewhere"] {
        assert_eq!(log.lines().filter(|found| *found == line).count(), 1, "{line} is not in {log}");
    }
    assert_eq!(log.lines().filter(|found| found.starts_with("HOME=")).count(), 1, "one name, one value: {log}");
    let show = project.ralph(["config", "show"]).output().expect(0).stdout;
    assert!(show.contains("agents.mine.env.MY_KEY") && !show.contains("a b=c"), "{show}");
}

// spec: G2, A2
#[test]
fn a_program_with_a_slash_is_relative_to_the_project_s_root() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let script = project.write("agent.sh", "#!/bin/sh\ncat > /dev/null; echo '<promise>COMPLETE</promise>'\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    file(&project, ".ralph/config.yaml", "agent: mine\nagents: {mine: {type: text, cli: ./agent.sh}}\n");
    let below = project.root().join("deep/below");
    fs::create_dir_all(&below).unwrap();
    run(&project).folder(&below).output().expect(0);
}

// spec: A2
#[test]
fn flags_apply_to_the_chosen_agent_and_an_invalid_filter_is_reported_with_its_origin() {
    let project = Project::new();
    file(&project, ".ralph/config.yaml", scripted("work"));
    let call = run(&project).args(["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg", "complete"]);
    call.output().expect(0);
    let answer = run(&project).args(["--response-filter", "("]).output().expect(64);
    assert!(answer.stderr.starts_with("error: the filter is not a valid jq expression"), "{}", answer.stderr);
    let path = file(&project, ".ralph/config.yaml", "agent: demo\nagents:\n  demo:\n    response_filter: '('\n");
    let answer = run(&project).output().expect(1);
    let expected = format!("error: {}:4: the filter is not a valid jq expression", path.display());
    assert!(answer.stderr.starts_with(&expected), "{}", answer.stderr);
}

// spec: C1
#[test]
fn a_root_with_prompts_and_config_is_its_own_home() {
    let project = Project::new();
    file(&project, "prompts/build.md", "x");
    file(&project, "config", format!("AGENT_TYPE=text\nAGENT_CLI={FAKE_AGENT}\nAGENT_ARGS=complete\n"));
    file(&project, "state/own.txt", "the project's own");
    run(&project).output().expect(0);
    assert!(!project.root().join(".ralph").exists() && project.state().join("ralph.db").exists());
    assert_eq!(fs::read_dir(project.root().join("state")).unwrap().count(), 1, "nothing was put there");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs[0]["status"], "completed");
}

// spec: G1, U1
#[test]
fn a_configuration_file_with_a_wrong_name_is_reported() {
    let project = Project::new();
    let path = file(&project, ".ralph/config.yml", "model: x\n");
    let answer = run(&project).output().expect(1);
    assert!(
        answer.stderr.starts_with(&format!("error: {}: ralph reads config.yaml", path.display())),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.ends_with("hint: rename it to config.yaml\n"));
}

// spec: G1
#[test]
fn show_prints_the_settings_even_if_the_agent_cannot_be_used() {
    let project = Project::new();
    let path = file(&project, ".ralph/config.yaml", "agent: cloude\n");
    let answer = project.ralph(["config", "show", "--json"]).output().expect(1);
    assert_eq!(shown(&answer, "agent").0, "cloude");
    let expected =
        format!("error: {}:1: there is no agent named \"cloude\"\nhint: did you mean claude?\n", path.display());
    assert_eq!(answer.stderr, expected);
}

// fault: 82
// spec: X4, G1
#[test]
fn files_that_are_bombs_are_refused_quickly_and_cheaply() {
    let project = Project::new();
    let path = project.root().join(".ralph/config.yaml");
    let bomb = |text: &[u8]| {
        file(&project, ".ralph/config.yaml", text);
    };
    let refused = |what: &str| {
        // The kernel ends a process that uses more CPU time than this, independent of the load.
        let answer = project.ralph(["config", "show"]).run_under("prlimit", ["--cpu=10"]).output().expect(1);
        assert!(answer.peak_memory_kb < 100_000, "{what} took {} kB", answer.peak_memory_kb);
        assert!(answer.stderr.starts_with(&format!("error: {}:", path.display())), "{what}: {}", answer.stderr);
        answer.stderr
    };
    let place = |stderr: &str| stderr.lines().next().unwrap().split(": ").nth(1).unwrap().matches(':').count();
    let mut aliases = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (level, below) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        aliases.push_str(&format!("{level}: &{level} [{}]\n", vec![format!("*{below}"); 9].join(",")));
    }
    for (what, text) in
        [("aliases", aliases), ("nesting", "[".repeat(100_000)), ("tag", "agent: !!python/name:x y".into())]
    {
        bomb(text.as_bytes());
        assert_eq!(place(&refused(what)), 2, "{what} has line and column");
    }
    bomb(b"agent: x\nmodel: \xff\n");
    assert!(refused("bytes").contains(":2: not UTF-8 text"));
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    assert!(refused("a gigabyte").contains("larger than 1 MB"));
    fs::remove_file(&path).unwrap();
    let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(status.success());
    assert!(refused("a pipe without a writer").contains("not a regular file"));
}

// spec: G1, U1
#[test]
fn show_prints_key_value_and_origin() {
    let project = Project::new();
    file(&project, ".ralph/config.yaml", "# mine\nmodel: opus\nvars: {GOAL: 'ship\tit'}\n");
    let answer = project.ralph(["config", "show"]).env("RALPH_MODLE", "x").output().expect(0);
    let stdout = answer.stdout.replace(&project.root().canonicalize().unwrap().display().to_string(), "PROJECT");
    let stdout = stdout.replace(&project.root().display().to_string(), "PROJECT");
    insta::assert_snapshot!(stdout);
    assert_eq!(answer.stderr, "warning: unknown variable RALPH_MODLE is ignored; did you mean RALPH_MODEL?\n");
}

// spec: G1
#[test]
fn the_schema_is_one_json_document() {
    let project = Project::new();
    let schema = project.ralph(["config", "schema"]).output().expect(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["limits"]["properties"]["grace"]["default"], "5s");
    insta::assert_snapshot!(format!("{schema:#}"));
}
