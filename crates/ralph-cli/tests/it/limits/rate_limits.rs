//! Rate limits: a run waits for a limited time, a fallback agent takes over, and an agent that only retries requests is
//! ended.
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, let_time_pass};
use crate::terminal::Terminal;

/// Claims completion.
const DONE: &str = "init\nsay All done.\\n\\n{promise}\nresult All done.\\n\\n{promise}\n";

impl Project {
    /// Writes a user configuration with agents that print Claude's format, each with its script.
    pub fn agents(&self, scripts: &[(&str, &str)], more: &str) {
        let folder = self.home().join(".config/ralph");
        std::fs::create_dir_all(&folder).unwrap();
        let mut yaml = format!("{more}\nagents:\n");
        for (name, script) in scripts {
            let path = self.outside(&format!("{name}.script"));
            std::fs::write(&path, script).unwrap();
            let path = path.display();
            yaml += &format!("  {name}: {{ type: claude, cli: {FAKE_AGENT}, args: [script, {path}] }}\n");
        }
        std::fs::write(folder.join("config.yaml"), yaml).unwrap();
    }

    /// Prepares a run of the agent `mine`, reported as JSON lines.
    pub fn run_agent_mine(&self) -> Call<'_> {
        self.ralph(["run", "do the work", "--agent", "mine", "--promise", "COMPLETE", "--json"])
    }
}

fn limited(project: &Project, seconds: &str) {
    project.agents(&[("mine", &format!("open\nlimit {seconds}\nexit 1\n---\n{DONE}"))], "");
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

fn at(event: &Value) -> i64 {
    event["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

fn names(answer: &CallOutput) -> Vec<String> {
    answer.events().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}

// spec: L6
// fault: 87
#[test]
fn a_rate_limited_agent_is_started_again_after_its_reset_in_the_same_iteration_without_a_retry() {
    let project = Project::new();
    limited(&project, "1");
    let answer = project.run_agent_mine().args(["--max-retries", "0"]).output().expect(0);
    let waits = answer.events_named("limit.waiting");
    assert_eq!((waits.len(), &waits[0]["iteration"], &waits[0]["attempt"]), (1, &1.into(), &2.into()));
    assert_eq!(waits[0]["agent"], "mine");
    let reset = waits[0]["reset_at"].as_i64().unwrap();
    let starts = answer.events_named("attempt.started");
    assert!(at(&starts[1]) >= reset, "{reset} {starts:?}");
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(answer.events_named("retry.scheduled").is_empty());
    assert_eq!(project.starts().len(), 2);
}

// spec: L6, L12
// fault: 87, 88
#[test]
fn ctrl_c_ends_a_wait_at_once_and_resume_waits_for_the_rest() {
    let project = Project::new();
    project.agents(&[("mine", "text Error\nstderr 429 Too Many Requests\nexit 1\n")], "");
    let run = project.run_agent_mine().start();
    let wait = run.wait_for_event("limit.waiting");
    let delay = wait["delay_ms"].as_u64().unwrap();
    assert!((60_000..65_000).contains(&delay), "without a reset it begins with a minute: {delay}");
    assert_eq!(wait["reset_at"], Value::Null);
    run.signal(Signal::INT);
    let answer = run.wait().expect(130);
    assert_eq!(answer.finished()["outcome"], "interrupted");
    let again = project.ralph(["resume", "--json"]).start();
    let resumed = again.wait_for_event("run.resumed");
    assert_eq!((&resumed["next"], &resumed["attempt"]), (&"limit".into(), &2.into()));
    again.signal(Signal::TERM);
    again.wait().expect(143);
    assert_eq!(project.starts().len(), 1, "nothing was started while it was limited");
}

// spec: L6, L13
// fault: 87
#[test]
fn a_wait_survives_kill_9_and_the_agent_is_not_started_before_its_reset() {
    let project = Project::new();
    limited(&project, "3");
    let run = project.run_agent_mine().start();
    let reset = run.wait_for_event("limit.waiting")["reset_at"].as_i64().unwrap();
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    let started = &answer.events_named("attempt.started")[0];
    assert!(at(started) >= reset, "{reset} {started}");
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(project.starts().len(), 2);
}

// spec: L6, L13
// fault: 87
#[test]
fn a_reset_that_passed_while_ralph_was_not_running_is_not_waited_for() {
    let project = Project::new();
    limited(&project, "1");
    let run = project.run_agent_mine().start();
    let delay = run.wait_for_event("limit.waiting")["delay_ms"].as_u64().unwrap();
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    let_time_pass(Duration::from_millis(delay));
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(answer.events_named("run.resumed")[0]["next"], "agent");
}

// spec: L6, C6
#[test]
fn a_rate_limit_longer_than_the_maximum_wait_ends_the_run_as_over_budget() {
    let project = Project::new();
    limited(&project, "90000");
    let answer = project.run_agent_mine().args(["--max-rate-limit-wait", "2h"]).output().expect(7);
    let finished = answer.finished();
    assert_eq!(finished["outcome"], "over_budget");
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("lasts another 1d 1h, but the run may wait at most 2h"), "{reason}");
    assert!(answer.events_named("limit.waiting").is_empty(), "it does not wait in vain");
    project.ralph(["resume", "--json"]).output().expect(7);
}

// spec: L6
// fault: 87
#[test]
fn a_reset_given_as_a_time_of_day_is_its_next_occurrence_in_its_zone_or_ours() {
    let words = [("resets 3pm (UTC)", "Nowhere/At-All", 15), ("resets 3pm", "<+09>-9", 6)];
    for (words, zone, hour) in words {
        let project = Project::new();
        let limit = format!("You've hit your limit · {words}");
        let run = project.run_claude(&["claude-rate-limit", &limit]).env("TZ", zone);
        let run = run.args(["--max-rate-limit-wait", "25h"]).start();
        let reset = run.wait_for_event("limit.waiting")["reset_at"].as_i64().unwrap();
        run.signal(Signal::INT);
        run.wait().expect(130);
        assert_eq!(reset % 86_400, hour * 3_600, "{words}");
        assert!((now()..now() + 86_401).contains(&reset), "{words}: {reset}");
    }
}

// spec: L6
// fault: 88
#[test]
fn text_without_a_time_is_not_a_reset() {
    let project = Project::new();
    let run = project.run_claude(&["claude-rate-limit", "You've hit your limit · resets soon"]).start();
    assert_eq!(run.wait_for_event("limit.waiting")["reset_at"], Value::Null);
    run.signal(Signal::INT);
    run.wait().expect(130);
}

// spec: L6
// fault: 88
#[test]
fn an_absurd_reset_causes_neither_a_wait_of_years_nor_a_busy_loop() {
    for absurd in ["4070908800", "-5", "0"] {
        let project = Project::new();
        let agent = ["claude-rate-limit-at", absurd];
        let answer = project.run_claude(&agent).args(["--max-rate-limit-wait", "500ms"]).output().expect(7);
        let waits = answer.events_named("limit.waiting");
        assert_eq!((waits.len(), &waits[0]["delay_ms"], &waits[0]["reset_at"]), (1, &500.into(), &Value::Null));
        assert_eq!(project.starts().len(), 2, "{absurd}");
        assert!(answer.finished()["reason"].as_str().unwrap().contains("has already waited 1s"));
    }
}

// spec: L6
// fault: 87
#[test]
fn text_of_the_agent_about_limits_is_not_a_rate_limit() {
    let project = Project::new();
    let script = "init\nsay Error 429: rate limit exceeded, usage limit reached.\nexit 1\n";
    project.agents(&[("mine", script)], "");
    let answer = project.run_agent_mine().args(["--max-retries", "0"]).output().expect(4);
    assert!(answer.events_named("limit.waiting").is_empty());
}

// spec: L6
#[test]
fn a_fallback_takes_over_with_fresh_context_and_the_preferred_agent_returns_after_its_reset() {
    let project = Project::new();
    let go = project.outside("go");
    let other = format!("prompt {}\nwait {}\nconverse half of it\n", project.outside("prompt").display(), go.display());
    let scripts = [("mine", format!("open\nlimit 2\nexit 1\n---\n---\n{DONE}")), ("other", format!("---\n{other}"))];
    let scripts: Vec<(&str, &str)> = scripts.iter().map(|(name, script)| (*name, script.as_str())).collect();
    project.agents(&scripts, "fallback: [other]");
    let run = project.run_agent_mine().args(["--max-retries", "0"]).start();
    let changed = run.wait_for_event("agent.changed");
    assert_eq!((&changed["agent"], &changed["attempt"]), (&"other".into(), &2.into()));
    let reason = changed["reason"].as_str().unwrap();
    assert!(reason.starts_with("mine is rate limited: API Error"), "{reason}");
    let free = now() + 6;
    crate::harness::wait_until("the limit is over", || now() >= free);
    std::fs::write(&go, "").unwrap();
    let answer = run.wait().expect(0);
    let changes = answer.events_named("agent.changed");
    assert_eq!(changes.len(), 2);
    assert_eq!((&changes[1]["agent"], &changes[1]["iteration"]), (&"mine".into(), &2.into()));
    assert!(answer.events_named("limit.waiting").is_empty());
    let sessions: Vec<Value> =
        answer.events_named("attempt.ended").iter().map(|ended| ended["result"]["session"].clone()).collect();
    assert_eq!(sessions, ["session-1", "session-2", "fake-session"], "each is fresh");
    let prompt = std::fs::read_to_string(project.outside("prompt")).unwrap();
    assert!(prompt.starts_with("do the work"), "{prompt}");
}

// spec: L6, U1
#[test]
fn a_failed_fallback_is_dropped_and_show_says_that_the_run_waits_for_the_preferred_agent() {
    let project = Project::new();
    let mine = format!("open\nlimit 2\nexit 1\n---\n---\n{DONE}");
    project.agents(&[("mine", &mine), ("other", "stderr oh no\nexit 3\n")], "fallback: [other]");
    let answer = project.run_agent_mine().args(["--max-retries", "0"]).output().expect(0);
    let waits = answer.events_named("limit.waiting");
    assert_eq!((waits.len(), &waits[0]["agent"], &waits[0]["attempt"]), (1, &"mine".into(), &3.into()));
    assert_eq!(answer.finished()["iterations"], 1);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words:?} is missing in\n{shown}"));
    let order = [
        "attempt 1 failed: ",
        "  agent     other takes over: mine is rate limited",
        "attempt 2 failed: ",
        "for mine: other failed: ",
        "  agent     mine takes over: its rate limit should be over",
    ];
    assert!(order.map(at).is_sorted(), "{shown}");
    let json: Value = serde_json::from_str(&project.ralph(["show", "--json"]).output().stdout).unwrap();
    let iteration = &json["iterations"][0];
    assert_eq!(iteration["waits"][0]["agent"], "mine");
    assert_eq!(iteration["waits"][0]["reset_at"], waits[0]["reset_at"]);
    let changes: Vec<&Value> =
        iteration["agent_changes"].as_array().unwrap().iter().map(|change| &change["agent"]).collect();
    assert_eq!(changes, ["other", "mine"]);
}

// spec: L6, L15
#[test]
fn attach_to_a_waiting_run_shows_the_remaining_wait() {
    let project = Project::new();
    // Nearly five hours, with a tolerance of almost one for a slow machine.
    limited(&project, "17900");
    let run = project.run_agent_mine().start();
    run.wait_for_event("limit.waiting");
    let mut terminal = Terminal::start(project.ralph(["attach"]).env("TERM", "xterm").command());
    terminal.wait_for("rate limited, continues in 4h");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait().code(), Some(130));
    run.signal(Signal::INT);
    run.wait().expect(130);
}

// spec: L6
#[test]
fn a_fallback_that_does_not_exist_or_is_named_twice_is_refused_before_the_start() {
    let project = Project::new();
    project.agents(&[("mine", DONE), ("other", DONE)], "");
    let answer = project.run_agent_mine().args(["--fallback", "ohter"]).output().expect(64);
    assert!(answer.stderr.contains("there is no agent named \"ohter\"") && answer.stderr.contains("other?"));
    let answer = project.run_agent_mine().args(["--fallback", "other,mine"]).output().expect(64);
    assert!(answer.stderr.contains("fallback: the agent mine is listed twice"), "{}", answer.stderr);
    assert!(project.starts().is_empty());
}

fn agent_that_retries(project: &Project, kind: &str) -> CallOutput {
    let run = project.run_claude(&["claude-retries", kind]).env("RALPH_LIMITS_RETRYING_TIMEOUT", "1s").args([
        "--max-retries",
        "0",
        "--max-rate-limit-wait",
        "10ms",
    ]);
    run.output()
}

// spec: L6, L7
#[test]
fn an_agent_that_only_retries_requests_is_ended_and_their_error_decides() {
    let project = Project::new();
    let limited = agent_that_retries(&project, "rate_limit").expect(7);
    let stop = &limited.events_named("stop.requested")[0]["reason"];
    assert_eq!(*stop, "the agent only retried failed requests for too long");
    assert_eq!(limited.events_named("limit.waiting").len(), 1);
    let failed = agent_that_retries(&Project::new(), "overloaded").expect(4);
    let reason = failed.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("the agent only retried failed requests: overloaded, retry"), "{reason}");
}

// spec: L6
#[test]
fn an_agent_that_works_between_its_retries_is_not_stopped() {
    let project = Project::new();
    let run =
        project.run_claude(&["claude-retries", "overloaded+"]).env("RALPH_LIMITS_RETRYING_TIMEOUT", "200ms").start();
    project.wait_for("ready");
    let_time_pass(Duration::from_secs(2));
    run.signal(Signal::INT);
    let answer = run.wait().expect(130);
    assert_eq!(answer.events_named("stop.requested").len(), 1, "only the signal: {:?}", names(&answer));
}

// finding: N37
// spec: L6
#[test]
fn the_end_of_a_wait_is_shown_and_a_terminal_counts_down() {
    let project = Project::new();
    limited(&project, "3600");
    let call = ["run", "do the work", "--agent", "mine", "--promise", "COMPLETE"];
    let run = project.ralph(call).start();
    run.wait_for_stderr("waiting   rate limited: API Error: Request rejected (429)");
    run.wait_for_stderr("mine waits until ");
    run.signal(Signal::INT);
    run.wait().expect(130);
    std::fs::remove_file(project.outside("starts")).unwrap();
    let mut terminal = Terminal::start(project.ralph(call).env("TERM", "xterm").command());
    terminal.wait_for("rate limited, continues in ");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait().code(), Some(130));
}

// spec: L6, C5
#[test]
fn the_session_log_of_classic_mode_records_the_wait_and_counts_no_retry() {
    let project = Project::new();
    limited(&project, "1");
    std::fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write("task.md", "work, then print <promise>COMPLETE</promise>");
    project.ralph(["prompt", "task.md", "--agent", "mine", "--json"]).output().expect(0);
    let logs = std::fs::read_dir(project.root().join(".ralph/logs")).unwrap();
    let log = logs.map(|log| log.unwrap().path()).find(|path| path.extension().is_some_and(|kind| kind == "log"));
    let log = std::fs::read_to_string(log.unwrap()).unwrap();
    assert!(log.contains("[ralph: rate limited: API Error: Request rejected (429)"), "{log}");
    assert!(log.contains("; waits until "), "{log}");
    assert!(log.contains("Retries: 0"), "{log}");
}
