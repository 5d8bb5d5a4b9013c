//! Replays every recording of a real agent in a loop, and agents with unexpected output. The result of an attempt must
//! equal that of `ralph agents parse`.
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

/// A recording and its agent.
struct Recording {
    agent: &'static str,
    path: PathBuf,
    exit_code: i64,
}

impl Recording {
    fn title(&self) -> String {
        self.path.display().to_string()
    }
}

/// Returns the recordings of a folder whose exit code is known.
fn recordings(folder: &str, agent: &'static str) -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-agents/transcripts").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "stdout"));
    paths.sort();
    let exit_code = |path: &Path| {
        let beside = |extension: &str| fs::read_to_string(path.with_extension(extension)).ok();
        let alone = beside("rc").map(|text| text.trim().parse().unwrap());
        alone.or_else(|| serde_json::from_str::<Value>(&beside("meta")?).unwrap()["rc"].as_i64())
    };
    let known = paths.into_iter().filter_map(|path| Some((exit_code(&path)?, path)));
    known.map(|(exit_code, path)| Recording { agent, path, exit_code }).collect()
}

/// Sets the program of an agent in the user's configuration.
fn set_agent_program(project: &Project, agent: &str, args: &[&str]) {
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    let args = serde_json::to_string(args).unwrap();
    let settings = format!(
        "agents: {{ {agent}: {{ cli: {FAKE_AGENT}, args: {args} }} }}\nlimits: {{ max_retries: 0, max_rate_limit_wait: 1s }}\n"
    );
    fs::write(folder.join("config.yaml"), settings).unwrap();
}

fn run(project: &Project, agent: &str) -> CallOutput {
    let args = ["run", "do it", "--agent", agent, "--promise", "COMPLETE", "--max-iterations", "1", "--json"];
    project.ralph(args).env("AMP_API_KEY", "k").output()
}

fn parsed(project: &Project, recording: &Recording) -> Value {
    let code = recording.exit_code.to_string();
    let call = project.ralph(["agents", "parse", recording.agent, "--exit-code", &code]);
    call.input(fs::read(&recording.path).unwrap()).output().expect(0).events().pop().unwrap()
}

fn replay(project: &Project, recording: &Recording) -> CallOutput {
    let path = recording.path.with_extension("");
    let code = recording.exit_code.to_string();
    set_agent_program(project, recording.agent, &["replay", path.to_str().unwrap(), &code]);
    run(project, recording.agent)
}

/// Replays all recordings of a folder and returns the number of completed runs.
fn replay_recording(folder: &str, agent: &'static str, least: usize) -> usize {
    let all = recordings(folder, agent);
    assert!(all.len() >= least, "{folder}: {}", all.len());
    all.iter().filter(|recording| assert_replay_matches_parser(recording)).count()
}

/// Replays one recording and returns whether the run was completed.
fn assert_replay_matches_parser(recording: &Recording) -> bool {
    let project = Project::new();
    let (expected, answer) = (parsed(&project, recording), replay(&project, recording));
    let finished = answer.finished();
    let result = answer.events_named("attempt.ended").pop().unwrap()["result"].clone();
    let about = format!("{}: {expected} became {result}", recording.title());
    for same in ["model", "input_tokens", "output_tokens"] {
        assert_eq!(result[same], expected[same], "{same}: {about}");
    }
    // If the output has no session id, ralph may have chosen one.
    assert!(expected["session"].is_null() || result["session"] == expected["session"], "{about}");
    let (ok, code) = (expected["ok"] == true, finished["exit_code"].as_i64().unwrap());
    assert_eq!(ok, result["failure"].is_null(), "{about}");
    assert_eq!(ok, code == 0 || code == 3, "{about}");
    let claims = expected["final_text"].as_str().unwrap_or_default().contains("<promise>COMPLETE</promise>");
    assert!(claims || code != 0, "{about}");
    match expected["error"]["kind"].as_str() {
        // The loop knows more here: the tail of stderr, the name of the signal.
        Some("crash" | "format") | None => {}
        Some("auth") => {
            let failure = result["failure"].as_str().unwrap();
            let (what, hint) = failure.split_once(" (hint: ").unwrap_or((failure, ""));
            assert_eq!((what, hint.is_empty()), (expected["error"]["message"].as_str().unwrap(), false), "{about}");
        }
        Some(_) => assert_eq!(result["failure"], expected["error"]["message"], "{about}"),
    }
    finished["outcome"] == "completed"
}

// spec: A1, A8, S4
#[test]
fn the_loop_reads_claude_s_recordings_as_they_are_parsed() {
    assert!(replay_recording("claude", "claude", 70) > 10);
    assert_eq!(replay_recording("claude197", "claude", 2), 0, "they promise nothing");
}

// spec: A1, A8, S4
#[test]
fn the_loop_reads_codex_s_recordings_as_they_are_parsed() {
    assert!(replay_recording("codex", "codex", 50) > 10);
}

// spec: A1, A8, S4
#[test]
fn the_loop_reads_the_other_agents_recordings_as_they_are_parsed() {
    for (agent, least) in [("opencode", 15), ("cline", 14), ("goose", 8)] {
        assert!(replay_recording(agent, agent, least) > 1, "{agent}");
    }
    assert_eq!(replay_recording("amp", "amp", 2), 0, "the agent was not logged in");
}

// spec: A1, A8, S4
#[test]
fn the_loop_reads_recordings_of_gemini_and_its_forks_as_they_are_parsed() {
    for (agent, least) in [("gemini", 20), ("qwen", 15), ("copilot", 12)] {
        assert!(replay_recording(agent, agent, least) > 1, "{agent}");
    }
}

const WITH_RECORDS: &[&str] = &["claude", "codex", "opencode", "gemini", "qwen", "copilot", "cline", "goose", "amp"];

/// Runs an agent that prints this, and returns why it failed.
fn failure(agent: &str, output: &[u8], stderr: &str, exit_code: &str) -> String {
    let project = Project::new();
    let path = project.outside("odd");
    fs::write(path.with_extension("stdout"), output).unwrap();
    fs::write(path.with_extension("stderr"), stderr).unwrap();
    set_agent_program(&project, agent, &["replay", path.to_str().unwrap(), exit_code]);
    let finished = run(&project, agent).expect(4).finished();
    assert_eq!(finished["outcome"], "failed", "{agent}: {finished}");
    finished["reason"].as_str().unwrap().to_owned()
}

// spec: A5, L5
// fault: 40
#[test]
fn an_agent_that_prints_nothing_or_garbage_fails_with_the_reason() {
    let promise = "All done.\n<promise>COMPLETE</promise>\n";
    let garbage: &[u8] = b"\xff\xfe\x00{\"type\":[[[\n{\"type\":\"\n<promise>COMPLETE</promise>\n";
    for agent in WITH_RECORDS {
        assert!(failure(agent, b"", "", "0").contains("it printed no records"), "{agent}");
        let prose = failure(agent, promise.as_bytes(), "", "0");
        assert!(prose.contains("none of its 2 lines is a record"), "{agent}: {prose}");
        assert!(failure(agent, garbage, "", "0").contains("was not understood"), "{agent}");
    }
}

// spec: A5, L5
#[test]
fn an_agent_that_prints_another_format_completes_nothing() {
    let recorded = |name: &str| {
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-agents/transcripts").join(name)).unwrap()
    };
    for (agent, other, expected) in [
        ("codex", "claude/text.stdout", "not understood"),
        ("claude", "codex/text.stdout", "not understood"),
        ("goose", "gemini/ok.stdout", "without a final record"),
    ] {
        let reason = failure(agent, &recorded(other), "", "0");
        assert!(reason.contains(expected), "{agent}: {reason}");
    }
    let newer = r#"{"type":"thread.begun","id":"t"}
{"type":"message","text":"<promise>COMPLETE</promise>"}"#;
    assert!(failure("codex", newer.as_bytes(), "", "0").contains("was the agent updated?"));
}

/// Each program reports it in its own format and stream.
// spec: L5
#[test]
fn an_agent_that_is_not_logged_in_fails_with_the_login_command() {
    let copilot = "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub.\n\n\
        To do so, you can use any of the following methods:\n  • Start 'copilot'\n  • Set GH_TOKEN\n  • Run 'gh auth login'\n";
    let goose = "\n  error: No provider configured. Run 'goose configure' first.\n\n";
    let qwen = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"No auth type is selected."}}"#;
    let table = [
        ("copilot", "", copilot, "1", "No authentication information found. (hint: run `copilot` once"),
        (
            "goose",
            goose,
            "",
            "1",
            "error: No provider configured. Run 'goose configure' first. (hint: run `goose configure`",
        ),
        ("qwen", qwen, "", "1", "No auth type is selected. (hint: run `qwen` once and log in"),
        ("gemini", "", "Please set an Auth method", "41", "code 41: it is not logged in (hint: run `gemini` once"),
        ("gemini", "", "", "55", "it does not trust this folder (hint: trust the folder in Gemini"),
    ];
    for (agent, output, stderr, exit_code, printed) in table {
        let reason = failure(agent, output.as_bytes(), stderr, exit_code);
        assert!(reason.contains(printed), "{agent}: {reason}");
    }
}

// spec: A4, L5
#[test]
fn an_error_in_plain_text_on_stdout_is_reported() {
    let why = failure("codex", b"Segmentation fault in module 7\n", "", "1");
    assert!(why.ends_with("the agent exited with code 1: Segmentation fault in module 7"), "{why}");
    let why = failure("codex", b"The service is closed today.\n", "", "0");
    assert!(why.ends_with("was the agent updated? The last line is: The service is closed today."), "{why}");
}

// spec: A4, L5
#[test]
fn an_error_on_stderr_is_reported() {
    let refused = failure("codex", b"", "loading\nError: unexpected status 401 Unauthorized\n", "1");
    assert_eq!(refused, "Error: unexpected status 401 Unauthorized (hint: run `codex login`, or set CODEX_API_KEY)");
    let project = Project::new();
    let path = project.outside("odd");
    fs::write(path.with_extension("stdout"), "").unwrap();
    fs::write(path.with_extension("stderr"), "the moon is in the wrong place\n").unwrap();
    set_agent_program(&project, "copilot", &["replay", path.to_str().unwrap(), "1"]);
    let people = project.ralph(["run", "do it", "--agent", "copilot"]).output().expect(4);
    let printed = format!("{}{}", people.stdout, people.stderr);
    assert!(printed.contains("the moon is in the wrong place"), "{printed}");
}
