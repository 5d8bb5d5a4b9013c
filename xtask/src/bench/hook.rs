//! The answer to a stop of a session, at transcripts of any length, against the limit, and against a hook of bash and jq.
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::rounds::{Contestant, take_turns};
use super::stage::{Stage, time};
use super::table::{Amount, Limit, Report, Row};
use super::transcript::{self, MEGABYTE};
use crate::failure::{Failure, Result};

/// One answer is short: many of them make a round of the others.
const ANSWERS: usize = 10;

/// How long an answer may take.
const MOST_MILLIS: f64 = 20.0;

/// The shell's hook takes at least so many times as long.
const TIMES: f64 = 10.0;

const LENGTHS: [(&str, usize); 3] =
    [("0.1 MB", MEGABYTE / 10), ("10 MB", 10 * MEGABYTE), ("500 MB", 500 * MEGABYTE)];

/// What a hook without ralph does: find the state and the last message of the agent, look for the promise, count, and go on.
const SHELL: &str = r#"
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
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let stage = stage.in_memory(600)?;
    let mut report = Report { notes: vec![stage.whereabouts()], ..Report::default() };
    for (name, bytes) in LENGTHS {
        let scene = Scene::set_up(&stage, bytes, SHORT_TURN.to_owned())?;
        report.rows.push(within_limit(&scene, &format!("an answer at {name}"), stage.rounds * ANSWERS)?);
    }
    let scene = Scene::set_up(&stage, MEGABYTE, long_turn(7 * MEGABYTE))?;
    report.rows.push(within_limit(&scene, "an answer after a turn of 7 MB", stage.rounds)?);
    report.rows.push(against_shell(&stage)?);
    Ok(report)
}

fn within_limit(scene: &Scene<'_>, what: &str, rounds: usize) -> Result<Row> {
    let rounds = take_turns(rounds, &mut [&mut || scene.ours()])?;
    let millis = rounds.time(0) * 1000.0;
    Ok(Row {
        what: format!("{what} / the limit"),
        ours: Amount::Millis(millis),
        theirs: Amount::Millis(MOST_MILLIS),
        ratio: millis / MOST_MILLIS,
        limit: Limit::Ratio(1.0),
    })
}

/// The agent says something more, so that no stop is like another.
const SHORT_TURN: &str = r#"{"type":"user","message":{"role":"user","content":"go on"}}
{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Working on it."}]}}
"#;

/// Returns a turn of many steps, each of which says what it used.
fn long_turn(bytes: usize) -> String {
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

fn against_shell(stage: &Stage) -> Result<Row> {
    let scene = Scene::set_up(stage, 10 * MEGABYTE, SHORT_TURN.to_owned())?;
    let mut pair: [Contestant<'_>; 2] = [&mut || scene.ours(), &mut || scene.shell()];
    let rounds = take_turns(stage.rounds, &mut pair)?;
    Ok(Row {
        what: "an answer at 10 MB / bash and jq".to_owned(),
        ours: Amount::Millis(rounds.time(0) * 1000.0),
        theirs: Amount::Millis(rounds.time(1) * 1000.0),
        ratio: rounds.ratio(0, 1),
        limit: Limit::Ratio(1.0 / TIMES),
    })
}

/// A session with a loop and a transcript.
struct Scene<'a> {
    stage: &'a Stage,
    transcript: PathBuf,
    state: PathBuf,
    event: PathBuf,
    /// What is written between two stops.
    turn: String,
}

impl<'a> Scene<'a> {
    fn set_up(stage: &'a Stage, bytes: usize, turn: String) -> Result<Self> {
        let scene = Self {
            stage,
            transcript: stage.path("session.jsonl"),
            state: stage.path("state.json"),
            event: stage.path("event.json"),
            turn,
        };
        transcript::write(&scene.transcript, bytes)?;
        let path = scene.transcript.display();
        let event = format!(
            r#"{{"session_id":"s","transcript_path":"{path}","cwd":"/","hook_event_name":"Stop","stop_hook_active":false}}"#
        );
        let state =
            r#"{"active":true,"iteration":1,"completionPromise":"DONE","prompt":"Do it.","sessionId":"s"}"#;
        for (path, text) in [(&scene.event, event.as_str()), (&scene.state, state)] {
            fs::write(path, text).map_err(|error| Failure::of(path.display(), error))?;
        }
        let mut start =
            scene.ralph(&["loop", "start", "--session", "s", "--host", "claude", "--prompt", "Do it."]);
        start.args(["--max-iterations", "1000000"]).stdin(Stdio::null());
        time(start, 0)?;
        Ok(scene)
    }

    fn ralph(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.stage.ralph);
        command.args(args).current_dir(self.folder()).env("XDG_STATE_HOME", self.folder());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn folder(&self) -> &Path {
        self.event.parent().unwrap_or(&self.event)
    }

    fn ours(&self) -> Result<Duration> {
        let event = self.another_turn()?;
        let mut command = self.ralph(&["hook", "claude"]);
        command.stdin(event);
        time(command, 0)
    }

    fn shell(&self) -> Result<Duration> {
        let event = self.another_turn()?;
        let mut command = Command::new("bash");
        command.args(["-c", SHELL, "bash"]).arg(&self.state).stdin(event);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        time(command, 0)
    }

    fn another_turn(&self) -> Result<fs::File> {
        let append = || {
            let mut file = OpenOptions::new().append(true).open(&self.transcript)?;
            file.write_all(self.turn.as_bytes())?;
            fs::File::open(&self.event)
        };
        append().map_err(|error| Failure::of(self.transcript.display(), error))
    }
}
