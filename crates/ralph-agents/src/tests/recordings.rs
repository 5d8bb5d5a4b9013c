//! What real programs printed. All of it must be understood, and what is read from each recording is pinned: its
//! events, and what the attempt comes to with the exit code that it had.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{final_text, read};
use crate::{Agent, AgentEvent, Attempt, ErrorKind, Exit, Summary, find};

/// The folders, the agents that wrote them, and how many recordings they hold at least.
const FOLDERS: &[(&str, &str, usize)] = &[
    ("claude", "claude", 75),
    ("claude197", "claude", 2),
    ("codex", "codex", 55),
    ("opencode", "opencode", 15),
    ("gemini", "gemini", 20),
    ("qwen", "qwen", 15),
    ("copilot", "copilot", 12),
    ("cline", "cline", 14),
    ("goose", "goose", 8),
    ("amp", "amp", 2),
    ("acp", "acp", 24),
];

/// Recordings that are not in the agent's JSON format at all.
const PLAIN: &[&str] = &["claude/plain", "codex/nojson", "amp/nokey", "opencode/serve-plugin", "gemini/json"];

struct Recording {
    folder: &'static str,
    name: String,
    agent: &'static dyn Agent,
    output: Vec<u8>,
    exit: Exit,
}

impl Recording {
    fn title(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }

    fn events(&self) -> Vec<AgentEvent> {
        read(self.agent.format(), &[&self.output]).0
    }

    fn attempt(&self) -> Attempt {
        let (events, counts) = read(self.agent.format(), &[&self.output]);
        let mut summary = Summary::default();
        events.iter().for_each(|event| summary.note(event));
        let now = "2026-11-15T20:00:00+00:00[UTC]".parse().unwrap();
        summary.attempt(self.agent, counts, self.exit, &now)
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts").join(name)
}

fn recordings() -> Vec<Recording> {
    let mut all = Vec::new();
    for (name, agent, least) in FOLDERS {
        let found = recordings_in(name, find(agent).unwrap());
        assert!(found.len() >= *least, "{name}: {}", found.len());
        all.extend(found);
    }
    all
}

fn recordings_in(name: &'static str, agent: &'static dyn Agent) -> Vec<Recording> {
    let paths = std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "stdout"))
        .map(|path| Recording {
            folder: name,
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            agent,
            output: std::fs::read(&path).unwrap(),
            exit: exit_of(&path),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The exit code stands beside the output: alone, or among other facts. It is negative where a signal was the end.
fn exit_of(output: &Path) -> Exit {
    let beside = |extension: &str| std::fs::read_to_string(output.with_extension(extension)).ok();
    let code = beside("rc").map(|text| text.trim().parse().unwrap());
    let code = code.or_else(|| {
        let facts: serde_json::Value = serde_json::from_str(&beside("meta")?).unwrap();
        i32::try_from(facts["rc"].as_i64()?).ok()
    });
    match code {
        None => Exit::Unknown,
        Some(signal @ ..0) => Exit::Signal(-signal),
        Some(code) => Exit::Code(code),
    }
}

fn recording(title: &str) -> Recording {
    recordings().into_iter().find(|found| found.title() == title).unwrap()
}

#[test] // spec: A1, A5, A8
fn every_recording_is_understood() {
    for found in recordings() {
        let (_, counts) = read(found.agent.format(), &[&found.output]);
        let title = found.title();
        let plain = PLAIN.contains(&title.as_str()) || found.output.is_empty();
        assert_eq!(counts.recognised > 0, !plain, "{title}: {counts:?}");
        assert!(plain || (counts.unknown, counts.cut) == (banner(&found.output), 0), "{title}: {counts:?}");
    }
}

/// Counts the lines that are meant for people.
fn banner(bytes: &[u8]) -> u64 {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"{")).count() as u64
}

#[test] // spec: A1, A5, A8
fn every_recording_keeps_its_events_and_what_they_come_to() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for found in recordings() {
            insta::assert_snapshot!(format!("{}-{}", found.folder, found.name), listing(&found));
        }
    });
}

/// One event a line, as `ralph agents parse` prints them.
fn listing(found: &Recording) -> String {
    let mut text = format!("{:?}\n", found.exit);
    for event in found.events() {
        writeln!(text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
    }
    writeln!(text, "{}", serde_json::to_string(&found.attempt()).unwrap()).unwrap();
    text
}

#[test] // spec: A8, L5, L6
fn a_recorded_failure_has_its_kind() {
    let table = [
        ("claude/e429", ErrorKind::RateLimit),
        ("claude/429-long", ErrorKind::RateLimit),
        ("claude/e529", ErrorKind::Overloaded),
        ("claude/e500", ErrorKind::Overloaded),
        ("claude/e404", ErrorKind::Model),
        ("claude/e400", ErrorKind::Unknown),
        ("claude/ecredit", ErrorKind::Budget),
        ("claude/ecut", ErrorKind::Network),
        ("claude/connrefused", ErrorKind::Network),
        ("claude/hang-head", ErrorKind::Network),
        ("claude/stopfailure4", ErrorKind::Auth),
        ("claude/stopfailure6", ErrorKind::Overloaded),
        ("claude/maxturns", ErrorKind::Budget),
        ("claude/budget-final", ErrorKind::Budget),
        ("claude/sigstream-SIGINT", ErrorKind::Crash),
        ("claude/sig-SIGINT", ErrorKind::Crash),
        ("codex/x429", ErrorKind::RateLimit),
        ("codex/x429usage", ErrorKind::RateLimit),
        ("codex/xsserl", ErrorKind::RateLimit),
        ("codex/x429quota", ErrorKind::Budget),
        ("codex/x401", ErrorKind::Auth),
        ("codex/x500", ErrorKind::Overloaded),
        ("codex/xcut", ErrorKind::Network),
        ("opencode/401", ErrorKind::Auth),
        ("opencode/429long", ErrorKind::RateLimit),
        ("opencode/askperm", ErrorKind::Unknown),
        ("gemini/401", ErrorKind::Auth),
        ("gemini/quota", ErrorKind::RateLimit),
        ("gemini/term-mid", ErrorKind::Crash),
        ("gemini/untrusted", ErrorKind::Auth),
        ("qwen/maxturns", ErrorKind::Budget),
        ("copilot/401", ErrorKind::Auth),
        ("copilot/429always", ErrorKind::RateLimit),
        ("copilot/500", ErrorKind::Overloaded),
        ("copilot/termgrp", ErrorKind::Crash),
        ("cline/401", ErrorKind::Auth),
        ("cline/mid-term", ErrorKind::Crash),
        ("goose/401", ErrorKind::Auth),
        ("goose/429always", ErrorKind::RateLimit),
        ("amp/nokey", ErrorKind::Crash),
        ("acp/opencode-401", ErrorKind::Auth),
        ("acp/gemini-401", ErrorKind::Auth),
        ("acp/goose-401", ErrorKind::Auth),
        ("acp/cline", ErrorKind::Auth),
        ("acp/copilot-429", ErrorKind::RateLimit),
        ("acp/claude-429", ErrorKind::RateLimit),
        ("acp/copilot-cancel", ErrorKind::Crash),
        ("acp/opencode-cancel", ErrorKind::Crash),
        ("acp/gemini-load-settle", ErrorKind::Unknown),
    ];
    let all = recordings();
    for (title, expected) in table {
        let found = all.iter().find(|found| found.title() == title).unwrap();
        let attempt = found.attempt();
        assert!(!attempt.ok, "{title}");
        assert_eq!(attempt.error.map(|error| error.kind), Some(expected), "{title}");
    }
}

#[test] // spec: A8, L6
fn a_recorded_limit_says_when_it_ends() {
    let reset = |title: &str| recording(title).attempt().error.unwrap().reset_at;
    assert_eq!(reset("codex/x429usage"), Some(1_794_789_960), "12:46 AM in the zone of the machine");
    assert_eq!(reset("codex/xsserl"), Some(1_794_772_802), "1.2 s after it is read");
    assert_eq!(reset("claude/429-long2"), None);
    assert_eq!(reset("goose/429always"), None);
}

#[test] // spec: A5, S2
fn a_recorded_answer_is_the_final_text_and_is_said_once() {
    let words = |title: &str| final_text(&recording(title).events());
    let done = "The work is finished. <promise>COMPLETE</promise>";
    assert_eq!(words("claude/tool"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(words("claude/partial"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(words("claude/subagent"), "main done <promise>COMPLETE</promise>");
    assert_eq!(words("claude/background2"), "after notification <promise>COMPLETE</promise>");
    assert_eq!(words("claude/json"), "Hello from the mock. <promise>COMPLETE</promise>");
    assert_eq!(words("claude/stop-cap"), "", "the last claim was followed by a prompt");
    assert_eq!(words("codex/tool-yolo"), "All done.\n<promise>COMPLETE</promise>");
    for title in
        ["opencode/ok", "gemini/ok", "gemini/hooks", "qwen/ok", "qwen/partial", "copilot/ok", "goose/ok"]
    {
        assert_eq!(words(title), done, "{title}");
    }
    assert_eq!(words("cline/ok"), done);
    for title in ["acp/opencode", "acp/copilot-load", "acp/opencode-load", "acp/gemini-load", "acp/goose-w"] {
        assert_eq!(words(title), done, "{title}");
    }
    assert_eq!(words("cline/mid-term"), "", "the run was aborted");
    assert_eq!(words("copilot/autopilot"), "Still working on it, not done yet.");
}
