//! Time of the Stop hook with transcripts of several lengths, against a limit and against a hook in bash and jq.
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::{BenchContestant, run_rounds};
use super::transcript::{self, MEGABYTE};
use super::workspace::{BenchWorkspace, time_command};
use crate::error::{Result, XtaskError};

/// A single answer is too short to measure; a round consists of many.
const ANSWERS_PER_ROUND: usize = 10;

/// Limit for one answer.
const MAX_ANSWER_MILLIS: f64 = 20.0;

/// The shell hook must take at least this many times as long.
const MIN_SHELL_SLOWDOWN: f64 = 10.0;

const TRANSCRIPT_LENGTHS: [(&str, usize); 3] =
    [("0.1 MB", MEGABYTE / 10), ("10 MB", 10 * MEGABYTE), ("500 MB", 500 * MEGABYTE)];

/// The same work without ralph: read the state and the last message, search for the promise, count, and continue.
const SHELL_HOOK_SCRIPT: &str = r#"
set -euo pipefail
input=$(cat)
state=$1
transcript=$(jq -r .transcript_path <<<"$input")
session=$(jq -r .session_id <<<"$input")
[ "$(jq -r .sessionId "$state")" = "$session" ] || exit 0
iteration=$(jq -r .iteration "$state"); promise=$(jq -r .completionPromise "$state"); prompt=$(jq -r .prompt "$state")
last=$(grep '"type":"assistant"' "$transcript" | tail -n 1 | jq -r '.message.content | map(select(.type == "text") | .text) | join("\n")')
case $last in *"<promise>$promise</promise>"*) exit 0 ;; esac
jq ".iteration = $((iteration + 1))" "$state" > "$state.new" && mv "$state.new" "$state"
jq -n --arg prompt "$prompt" --arg at "$((iteration + 1))" '{decision: "block", reason: $prompt, systemMessage: $at}'
"#;

// spec: F3
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let workspace = workspace.in_memory(600)?;
    let mut report = BenchReport { notes: vec![workspace.location_note()], ..BenchReport::default() };
    for (name, bytes) in TRANSCRIPT_LENGTHS {
        let scenario = HookScenario::set_up(&workspace, bytes, SHORT_TURN.to_owned())?;
        report.rows.push(compare_with_limit(
            &scenario,
            &format!("an answer at {name}"),
            workspace.rounds * ANSWERS_PER_ROUND,
        )?);
    }
    let scenario = HookScenario::set_up(&workspace, MEGABYTE, build_long_turn(7 * MEGABYTE))?;
    report.rows.push(compare_with_limit(&scenario, "an answer after a turn of 7 MB", workspace.rounds)?);
    report.rows.push(compare_with_shell(&workspace)?);
    Ok(report)
}

fn compare_with_limit(scenario: &HookScenario<'_>, title: &str, rounds: usize) -> Result<ComparisonRow> {
    let rounds = run_rounds(rounds, &mut [&mut || scenario.time_ralph_hook()])?;
    let millis = rounds.median_seconds(0) * 1000.0;
    Ok(ComparisonRow {
        title: format!("{title} / the limit"),
        ours: MeasuredValue::Millis(millis),
        theirs: MeasuredValue::Millis(MAX_ANSWER_MILLIS),
        ratio: millis / MAX_ANSWER_MILLIS,
        limit: RatioLimit::AtMost(1.0),
    })
}

/// A short turn, appended between two stops so that each stop is different.
const SHORT_TURN: &str = r#"{"type":"user","message":{"role":"user","content":"go on"}}
{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Working on it."}]}}
"#;

/// Returns a turn with many steps, each with its token usage.
fn build_long_turn(bytes: usize) -> String {
    let output = r#"    let value = table.get(\"name\").copied().unwrap_or_default();\n"#.repeat(60);
    let mut turn = String::with_capacity(bytes + 2 * output.len());
    for step in 0.. {
        if turn.len() >= bytes {
            break;
        }
        turn += &format!(
            concat!(
                r#"{{"type":"assistant","timestamp":"2099-01-01T00:00:00.000Z","message":{{"id":"m{0}","role":"assistant","content":"#,
                r#"[{{"type":"text","text":"{1}"}}],"usage":{{"input_tokens":9,"output_tokens":7}}}}}}"#,
                "\n"
            ),
            step, output
        );
    }
    turn + SHORT_TURN
}

fn compare_with_shell(workspace: &BenchWorkspace) -> Result<ComparisonRow> {
    let scenario = HookScenario::set_up(workspace, 10 * MEGABYTE, SHORT_TURN.to_owned())?;
    let mut pair: [BenchContestant<'_>; 2] = [&mut || scenario.time_ralph_hook(), &mut || scenario.time_shell_hook()];
    let rounds = run_rounds(workspace.rounds, &mut pair)?;
    Ok(ComparisonRow {
        title: "an answer at 10 MB / bash and jq".to_owned(),
        ours: MeasuredValue::Millis(rounds.median_seconds(0) * 1000.0),
        theirs: MeasuredValue::Millis(rounds.median_seconds(1) * 1000.0),
        ratio: rounds.median_ratio(0, 1),
        limit: RatioLimit::AtMost(1.0 / MIN_SHELL_SLOWDOWN),
    })
}

/// A session with an active loop and a transcript.
struct HookScenario<'a> {
    workspace: &'a BenchWorkspace,
    transcript: PathBuf,
    state: PathBuf,
    event: PathBuf,
    /// Appended to the transcript between two stops.
    turn: String,
}

impl<'a> HookScenario<'a> {
    fn set_up(workspace: &'a BenchWorkspace, bytes: usize, turn: String) -> Result<Self> {
        let scenario = Self {
            workspace,
            transcript: workspace.path("session.jsonl"),
            state: workspace.path("state.json"),
            event: workspace.path("event.json"),
            turn,
        };
        transcript::write_transcript(&scenario.transcript, bytes)?;
        let path = scenario.transcript.display();
        let event = format!(
            r#"{{"session_id":"s","transcript_path":"{path}","cwd":"/","hook_event_name":"Stop","stop_hook_active":false}}"#
        );
        let state = r#"{"active":true,"iteration":1,"completionPromise":"DONE","prompt":"Do it.","sessionId":"s"}"#;
        for (path, text) in [(&scenario.event, event.as_str()), (&scenario.state, state)] {
            fs::write(path, text).map_err(|error| XtaskError::with_cause(path.display(), error))?;
        }
        let mut start =
            scenario.ralph_command(&["loop", "start", "--session", "s", "--host", "claude", "--prompt", "Do it."]);
        start.args(["--max-iterations", "1000000"]).stdin(Stdio::null());
        time_command(start, 0)?;
        Ok(scenario)
    }

    fn ralph_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.workspace.ralph);
        command.args(args).current_dir(self.state_folder()).env("XDG_STATE_HOME", self.state_folder());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn state_folder(&self) -> &Path {
        self.event.parent().unwrap_or(&self.event)
    }

    fn time_ralph_hook(&self) -> Result<Duration> {
        let event = self.append_turn()?;
        let mut command = self.ralph_command(&["hook", "claude"]);
        command.stdin(event);
        time_command(command, 0)
    }

    fn time_shell_hook(&self) -> Result<Duration> {
        let event = self.append_turn()?;
        let mut command = Command::new("bash");
        command.args(["-c", SHELL_HOOK_SCRIPT, "bash"]).arg(&self.state).stdin(event);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        time_command(command, 0)
    }

    fn append_turn(&self) -> Result<fs::File> {
        let append = || {
            let mut file = OpenOptions::new().append(true).open(&self.transcript)?;
            file.write_all(self.turn.as_bytes())?;
            fs::File::open(&self.event)
        };
        append().map_err(|error| XtaskError::with_cause(self.transcript.display(), error))
    }
}
