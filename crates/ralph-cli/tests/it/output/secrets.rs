//! Secrets in the output of agents, checks and users. The invariants search every file and stream after each call.
use std::fs;

use serde_json::Value;

use crate::harness::{Call, Project};
use crate::invariants::{CANARY, find_secret};

const HIDDEN: &str = "[redacted:CANARY_TOKEN]";

/// A token by its format alone. It is assembled here, so that no scanner takes it for a real one.
fn token() -> String {
    format!("ghp_{}", "a1B2c3".repeat(6))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// fault: 84
// spec: X3, A4
#[test]
fn a_secret_that_the_agent_prints_in_any_form_is_in_no_log_event_or_message() {
    let project = Project::new();
    project.run(&["leak-secret"]).output().expect(0);
    let log = text(&project.log("iteration-001.ndjson"));
    assert_eq!(log.matches(HIDDEN).count(), 8, "{log}");
    assert!(log.contains(&format!("using key {HIDDEN} now, at https://me:{HIDDEN}@example.org/x\n")), "{log}");
    assert!(log.contains(&format!("{{\"key\":\"{HIDDEN}\"}}\n")), "{log}");
    let errors = text(&project.log("iteration-001.stderr"));
    assert_eq!(errors, format!("Authorization: Bearer {HIDDEN}\n"));
    for command in [&["show"][..], &["show", "--json"], &["events"], &["export"], &["runs"]] {
        project.ralph(command).output().expect(0);
    }
    let events = project.ralph(["events"]).output().expect(0).stdout;
    assert!(events.contains(&format!("I used {HIDDEN}.")), "{events}");
}

// fault: 84
// spec: X3
#[test]
fn the_secret_is_not_in_the_output_for_people() {
    let project = Project::new();
    for more in [&[][..], &["--quiet"], &["--output-format", "claude"]] {
        let mode = if more.len() == 2 { "claude-leak-secret" } else { "leak-secret" };
        let answer = project.run_on("do the work", &[mode]).args(more).output().expect(0);
        let silent = more == ["--quiet"];
        assert_eq!(answer.stderr.contains(HIDDEN), !silent, "{}", answer.stderr);
    }
}

// fault: 84
// spec: X3, A4
#[test]
fn log_records_are_valid_json_after_their_secrets_were_hidden() {
    let project = Project::new();
    project.run_claude(&["claude-leak-secret"]).output().expect(0);
    let log = text(&project.log("iteration-001.ndjson"));
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.last().unwrap()["result"], format!("I used {HIDDEN}.\n\n<promise>COMPLETE</promise>"));
    let command = &records[1]["message"]["content"][0]["input"]["command"];
    assert_eq!(*command, format!("curl -H 'x-api-key: {HIDDEN}'"));
}

// fault: 84
// spec: X3
#[test]
fn a_secret_in_prompt_arguments_and_checks_reaches_them_and_is_stored_nowhere() {
    let project = Project::new();
    let agent = project.shell("cat > ../prompt; echo \"$1\" > ../argument; echo '<promise>COMPLETE</promise>'");
    let check = format!("echo {CANARY} | tee ../check | base64; echo {CANARY} >&2; test -n '{CANARY}'");
    project
        .ralph(["run", &format!("use {CANARY} well"), "--agent", "text", "--promise", "COMPLETE"])
        .args(["--agent-cmd", &agent, &format!("--agent-arg={CANARY}"), "--check", &check])
        .output()
        .expect(0);
    assert!(fs::read_to_string(project.outside("prompt")).unwrap().starts_with(&format!("use {CANARY} well")));
    assert_eq!(fs::read_to_string(project.outside("argument")).unwrap(), format!("{CANARY}\n"));
    assert_eq!(fs::read_to_string(project.outside("check")).unwrap(), format!("{CANARY}\n"));
    let log = text(&project.log("iteration-001.check-1.log"));
    assert_eq!(log.matches(HIDDEN).count(), 2, "{log}");
    project.ralph(["show"]).output().expect(0);
    let export = project.ralph(["export"]).output().expect(0).stdout;
    assert!(export.contains(&format!("use {HIDDEN} well")), "{export}");
}

// fault: 84
// spec: X3, L4
#[test]
fn output_of_a_failed_check_goes_to_the_agent_without_its_secrets() {
    let project = Project::new();
    let secret = token();
    let check = project.outside("check.sh");
    fs::write(&check, format!("echo found {secret}; exit 1")).unwrap();
    let agent = "n=$(wc -l < ../starts 2>/dev/null || echo 0); echo >> ../starts; cat > ../prompt-$n
echo '<promise>COMPLETE</promise>'";
    let limits = ["--max-iterations", "2", "--check"];
    project.run_shell(agent).args(limits).args([format!("sh {}", check.display())]).output().expect(3);
    let second = fs::read_to_string(project.outside("prompt-1")).unwrap();
    assert!(second.contains("found [redacted]") && !second.contains(&secret), "{second}");
    assert_eq!(text(&project.log("iteration-001.check-1.log")), "found [redacted]\n");
}

// fault: 84
// spec: X3, U1
#[test]
fn errors_do_not_repeat_a_secret() {
    let project = Project::new();
    let refused = project.ralph(["run", "x", "--max-iterations", CANARY]).output().expect(64);
    assert!(refused.stderr.contains(&format!("invalid value '{HIDDEN}' for '--max-iterations")), "{}", refused.stderr);
    let missing = project.ralph(["run", &format!("@/no/{CANARY}")]).output().expect(1);
    assert!(missing.stderr.contains(&format!("the prompt /no/{HIDDEN} cannot be read")), "{}", missing.stderr);
    let program = format!("/no/{CANARY}");
    let agent = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &program]).output().expect(1);
    assert!(agent.stderr.contains(&format!("the agent program /no/{HIDDEN} does not exist")), "{}", agent.stderr);
}

// fault: 84
// spec: X3, G1
#[test]
fn environment_values_in_the_configuration_are_secrets_too() {
    let project = Project::new();
    fs::create_dir_all(project.home().join(".config/ralph")).unwrap();
    let agent = project.shell("echo \"$WEATHER_API_KEY $PLAIN\"; echo '<promise>DONE</promise>'");
    let config = format!(
        "agent: mine\nagents: {{mine: {{type: text, cli: {agent}, env: {{WEATHER_API_KEY: rain-and-shine, PLAIN: cloud-and-wind}}}}}}\n"
    );
    fs::write(project.home().join(".config/ralph/config.yaml"), config).unwrap();
    project.ralph(["run", "x", "--json"]).output().expect(0);
    let log = text(&project.log("iteration-001.ndjson"));
    assert!(log.starts_with("[redacted:WEATHER_API_KEY] cloud-and-wind\n"), "{log}");
}

// spec: X3, D1
#[test]
fn a_secret_that_equals_a_word_of_the_journal_does_not_corrupt_it() {
    let project = Project::new();
    let words = ["iteration", "completed", "run.finished", "max_iterations", "accepted", "exit_code"];
    let call = words
        .iter()
        .zip(["A", "B", "C", "D", "E", "F"])
        .fold(project.run(&["complete"]).args(["--check", "true"]), |call, (word, name)| {
            call.env(&format!("{name}_TOKEN"), word)
        });
    assert_eq!(call.output().expect(0).finished()["outcome"], "completed");
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["outcome"], "completed");
}

/// Removes the variable of the secret.
fn remove_secret_variable(command: &mut std::process::Command) {
    command.env_remove("CANARY_TOKEN");
}

/// Starts a run and stops it while its agent works.
fn interrupt_run(call: Call<'_>, project: &Project) {
    let running = call.start();
    project.wait_for("ready");
    running.signal(rustix::process::Signal::TERM);
    running.wait().expect(143);
    fs::remove_file(project.outside("ready")).unwrap();
}

// fault: 12
// spec: X3, L13
#[test]
fn a_secret_of_a_run_is_read_again_from_its_variable_on_resume() {
    let project = Project::new();
    let check = format!("test {CANARY} = \"$CANARY_TOKEN\"");
    let agent = "cat > \"$TMPDIR/prompt\"; test -e \"$TMPDIR/go\" || { touch \"$FA_READY\"; sleep 1000; }; echo '<promise>COMPLETE</promise>'";
    interrupt_run(project.run_shell(agent).args(["--check", &check]), &project);
    fs::write(project.outside("go"), "").unwrap();
    let unset = project.ralph(["resume"]).with(remove_secret_variable).output().expect(1);
    assert!(unset.stderr.contains("uses the value of CANARY_TOKEN"), "{}", unset.stderr);
    assert!(unset.stderr.contains("hint: set it again as it was, then resume"), "{}", unset.stderr);
    project.ralph(["resume"]).output().expect(0);
}

// fault: 12
// spec: X3, L13
#[test]
fn a_run_whose_secret_is_in_no_variable_is_not_resumed_with_the_placeholder() {
    let project = Project::new();
    interrupt_run(project.run_on(&format!("use {}", token()), &["hang"]), &project);
    let answer = project.ralph(["resume"]).output().expect(1);
    assert!(answer.stderr.contains("of the run contain a secret"), "{}", answer.stderr);
    assert!(answer.stderr.contains("let commands name a variable"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 1);
}

// spec: X3, V14
#[test]
fn a_placeholder_for_a_secret_is_never_started_as_a_command() {
    let project = Project::new();
    let agent = "cat > /dev/null; echo x >> note; git add --all; \
                 git -c user.name=A -c user.email=a@example.invalid commit --quiet -m work; echo '<promise>COMPLETE</promise>'";
    let marks = project.outside("checked");
    let check = |secret: &str| format!("echo {secret} >> {}", marks.display());
    for (secret, refused) in [(CANARY.to_owned(), None), (token(), Some("of the run contain a secret"))] {
        project.run_shell(agent).args(["--check", &check(&secret)]).output().expect(0);
        fs::remove_file(&marks).unwrap();
        let unset = project.ralph(["verify"]).with(remove_secret_variable).output().expect(1);
        let why = refused.unwrap_or("uses the value of CANARY_TOKEN");
        assert!(unset.stderr.contains(why) && unset.stderr.contains("the check was not started"), "{}", unset.stderr);
        assert!(!marks.exists(), "a masked command ran");
        match refused {
            None => {
                project.ralph(["verify"]).output().expect(0);
                assert_eq!(fs::read_to_string(&marks).unwrap().trim(), secret);
            }
            Some(why) => {
                let answer = project.ralph(["verify"]).output().expect(1);
                assert!(answer.stderr.contains(why) && !marks.exists(), "{}", answer.stderr);
            }
        }
    }
}

#[test]
fn the_secret_scan_finds_plain_and_base64_text() {
    assert!(find_secret(format!("a{CANARY}b").as_bytes()).is_some());
    assert!(find_secret(b"x Y2FuYXJ5LTVlY3JldC0wZi1ldmVyeS10ZTV0 y").is_some());
    assert!(find_secret(b"nothing").is_none());
}

// finding: N45
// spec: X3
#[test]
fn a_secret_that_is_quoted_escaped_or_part_of_a_structured_value_is_in_no_log_and_no_event() {
    let project = Project::new();
    let agent = r#"cat > /dev/null
printf '%s\n' "it'\\''s a k&y <1>" "it&#39;s a k&amp;y &lt;1&gt;" 'tr0ub4dor&3' 'p@ss/word'
printf '%s\n' "I used it'\\''s a k&y <1> and tr0ub4dor&3." '<promise>COMPLETE</promise>'"#;
    let call = project.run_shell(agent).env("QUOTED_TOKEN", "it's a k&y <1>");
    let call = call.env("JSON_CREDENTIALS", r#"{"user":"app","password":"tr0ub4dor&3"}"#);
    call.env("DATABASE_URL", "postgres://app:p%40ss%2Fword@db/app").output().expect(0);
    let log = text(&project.log("iteration-001.ndjson"));
    let hidden = [
        "[redacted:QUOTED_TOKEN]",
        "[redacted:QUOTED_TOKEN]",
        "[redacted:JSON_CREDENTIALS]",
        "[redacted:DATABASE_URL]",
    ];
    assert_eq!(log.lines().take(4).collect::<Vec<_>>(), hidden, "{log}");
    let events = project.ralph(["events"]).output().expect(0).stdout;
    assert!(events.contains("I used [redacted:QUOTED_TOKEN] and [redacted:JSON_CREDENTIALS]."), "{events}");
}
