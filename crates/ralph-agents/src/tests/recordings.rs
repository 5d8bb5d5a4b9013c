//! Recorded output of the real agents. Every record must be recognised, and the events and the summary of each
//! recording are pinned by a snapshot.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{final_text, parse_chunks};
use crate::{Agent, AgentErrorKind, AgentEvent, AgentExit, AttemptSummary, AttemptSummaryBuilder, find_agent};

/// The folders, their agents, and the minimum number of recordings in each.
const RECORDING_FOLDERS: &[(&str, &str, usize)] = &[
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
    ("pi", "pi", 2),
    ("acp", "acp", 26),
];

/// Recordings that are not in the agent's JSON format at all.
const NON_JSON_RECORDINGS: &[&str] =
    &["claude/plain", "codex/nojson", "amp/nokey", "opencode/serve-plugin", "gemini/json"];

struct AgentRecording {
    folder: &'static str,
    name: String,
    agent: &'static dyn Agent,
    output: Vec<u8>,
    exit: AgentExit,
}

impl AgentRecording {
    fn title(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }

    fn parse_events(&self) -> Vec<AgentEvent> {
        parse_chunks(self.agent.output_format(), &[&self.output]).0
    }

    fn summarize(&self) -> AttemptSummary {
        let (events, counts) = parse_chunks(self.agent.output_format(), &[&self.output]);
        let mut summary = AttemptSummaryBuilder::default();
        events.iter().for_each(|event| summary.record_event(event));
        let now = "2026-11-15T20:00:00+00:00[UTC]".parse().unwrap();
        summary.into_summary(self.agent, counts, self.exit, &now)
    }
}

fn transcript_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts").join(name)
}

fn load_recordings() -> Vec<AgentRecording> {
    let mut all = Vec::new();
    for (name, agent, least) in RECORDING_FOLDERS {
        let found = load_folder_recordings(name, find_agent(agent).unwrap());
        assert!(found.len() >= *least, "{name}: {}", found.len());
        all.extend(found);
    }
    all
}

fn load_folder_recordings(name: &'static str, agent: &'static dyn Agent) -> Vec<AgentRecording> {
    let paths = std::fs::read_dir(transcript_folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "stdout"))
        .map(|path| AgentRecording {
            folder: name,
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            agent,
            output: std::fs::read(&path).unwrap(),
            exit: recorded_exit(&path),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Reads the exit code from the `.rc` or `.meta` file of a recording. A negative code is a signal.
fn recorded_exit(output: &Path) -> AgentExit {
    let read_sibling = |extension: &str| std::fs::read_to_string(output.with_extension(extension)).ok();
    let code = read_sibling("rc").map(|text| text.trim().parse().unwrap());
    let code = code.or_else(|| {
        let meta: serde_json::Value = serde_json::from_str(&read_sibling("meta")?).unwrap();
        i32::try_from(meta["rc"].as_i64()?).ok()
    });
    match code {
        None => AgentExit::Unknown,
        Some(signal @ ..0) => AgentExit::Signal(-signal),
        Some(code) => AgentExit::Code(code),
    }
}

fn find_recording(title: &str) -> AgentRecording {
    load_recordings().into_iter().find(|found| found.title() == title).unwrap()
}

#[test] // spec: A1, A5, A8
fn every_record_of_every_recording_is_recognised() {
    for found in load_recordings() {
        let (_, counts) = parse_chunks(found.agent.output_format(), &[&found.output]);
        let title = found.title();
        let plain = NON_JSON_RECORDINGS.contains(&title.as_str()) || found.output.is_empty();
        assert_eq!(counts.recognised > 0, !plain, "{title}: {counts:?}");
        assert!(
            plain || (counts.unknown, counts.oversized) == (count_banner_lines(&found.output), 0),
            "{title}: {counts:?}"
        );
    }
}

/// Counts the lines that are not JSON records.
fn count_banner_lines(bytes: &[u8]) -> u64 {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"{")).count() as u64
}

#[test] // spec: A1, A5, A8
fn every_recording_keeps_its_events_and_summary() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for found in load_recordings() {
            insta::assert_snapshot!(format!("{}-{}", found.folder, found.name), render_listing(&found));
        }
    });
}

/// Renders one event per line, as `ralph agents parse` prints them.
fn render_listing(found: &AgentRecording) -> String {
    let mut text = format!("{:?}\n", found.exit);
    for event in found.parse_events() {
        writeln!(text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
    }
    writeln!(text, "{}", serde_json::to_string(&found.summarize()).unwrap()).unwrap();
    text
}

#[test] // spec: A8, L5, L6
fn recorded_failures_are_classified() {
    let table = [
        ("claude/e429", AgentErrorKind::RateLimit),
        ("claude/429-long", AgentErrorKind::RateLimit),
        ("claude/e529", AgentErrorKind::Overloaded),
        ("claude/e500", AgentErrorKind::Overloaded),
        ("claude/e404", AgentErrorKind::Model),
        ("claude/e400", AgentErrorKind::Unknown),
        ("claude/ecredit", AgentErrorKind::Budget),
        ("claude/ecut", AgentErrorKind::Network),
        ("claude/connrefused", AgentErrorKind::Network),
        ("claude/hang-head", AgentErrorKind::Network),
        ("claude/stopfailure4", AgentErrorKind::Auth),
        ("claude/stopfailure6", AgentErrorKind::Overloaded),
        ("claude/maxturns", AgentErrorKind::Budget),
        ("claude/budget-final", AgentErrorKind::Budget),
        ("claude/sigstream-SIGINT", AgentErrorKind::Crash),
        ("claude/sig-SIGINT", AgentErrorKind::Crash),
        ("codex/x429", AgentErrorKind::RateLimit),
        ("codex/x429usage", AgentErrorKind::RateLimit),
        ("codex/xsserl", AgentErrorKind::RateLimit),
        ("codex/x429quota", AgentErrorKind::Budget),
        ("codex/x401", AgentErrorKind::Auth),
        ("codex/x500", AgentErrorKind::Overloaded),
        ("codex/xcut", AgentErrorKind::Network),
        ("opencode/401", AgentErrorKind::Auth),
        ("opencode/429long", AgentErrorKind::RateLimit),
        ("opencode/askperm", AgentErrorKind::Unknown),
        ("gemini/401", AgentErrorKind::Auth),
        ("gemini/quota", AgentErrorKind::RateLimit),
        ("gemini/term-mid", AgentErrorKind::Crash),
        ("gemini/untrusted", AgentErrorKind::Auth),
        ("qwen/maxturns", AgentErrorKind::Budget),
        ("copilot/401", AgentErrorKind::Auth),
        ("copilot/429always", AgentErrorKind::RateLimit),
        ("copilot/500", AgentErrorKind::Overloaded),
        ("copilot/termgrp", AgentErrorKind::Crash),
        ("cline/401", AgentErrorKind::Auth),
        ("cline/mid-term", AgentErrorKind::Crash),
        ("goose/401", AgentErrorKind::Auth),
        ("goose/429always", AgentErrorKind::RateLimit),
        ("amp/nokey", AgentErrorKind::Crash),
        ("acp/opencode-401", AgentErrorKind::Auth),
        ("acp/gemini-401", AgentErrorKind::Auth),
        ("acp/goose-401", AgentErrorKind::Auth),
        ("acp/cline", AgentErrorKind::Auth),
        ("acp/copilot-429", AgentErrorKind::RateLimit),
        ("acp/claude-429", AgentErrorKind::RateLimit),
        ("acp/copilot-cancel", AgentErrorKind::Crash),
        ("acp/opencode-cancel", AgentErrorKind::Crash),
        ("acp/gemini-load-settle", AgentErrorKind::Unknown),
    ];
    let all = load_recordings();
    for (title, expected) in table {
        let found = all.iter().find(|found| found.title() == title).unwrap();
        let attempt = found.summarize();
        assert!(!attempt.ok, "{title}");
        assert_eq!(attempt.error.map(|error| error.kind), Some(expected), "{title}");
    }
}

#[test] // spec: A8, L6
fn a_recorded_rate_limit_has_its_reset_time() {
    let reset = |title: &str| find_recording(title).summarize().error.unwrap().reset_at;
    assert_eq!(reset("codex/x429usage"), Some(1_794_789_960), "12:46 AM in the local time zone");
    assert_eq!(reset("codex/xsserl"), Some(1_794_772_802), "1.2 s after the message");
    assert_eq!(reset("claude/429-long2"), None);
    assert_eq!(reset("goose/429always"), None);
}

#[test] // spec: A5, S2
fn a_recorded_answer_is_the_final_text_and_occurs_once() {
    let text_of = |title: &str| final_text(&find_recording(title).parse_events());
    let done = "The work is finished. <promise>COMPLETE</promise>";
    assert_eq!(text_of("claude/tool"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(text_of("claude/partial"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(text_of("claude/subagent"), "main done <promise>COMPLETE</promise>");
    assert_eq!(text_of("claude/background2"), "after notification <promise>COMPLETE</promise>");
    assert_eq!(text_of("claude/json"), "Hello from the mock. <promise>COMPLETE</promise>");
    assert_eq!(text_of("claude/stop-cap"), "", "the last claim was followed by a prompt");
    assert_eq!(text_of("codex/tool-yolo"), "All done.\n<promise>COMPLETE</promise>");
    for title in ["opencode/ok", "gemini/ok", "gemini/hooks", "qwen/ok", "qwen/partial", "copilot/ok", "goose/ok"] {
        assert_eq!(text_of(title), done, "{title}");
    }
    assert_eq!(text_of("cline/ok"), done);
    for title in ["acp/opencode", "acp/copilot-load", "acp/opencode-load", "acp/gemini-load", "acp/goose-w"] {
        assert_eq!(text_of(title), done, "{title}");
    }
    assert_eq!(text_of("cline/mid-term"), "", "the run was aborted");
    assert_eq!(text_of("copilot/autopilot"), "Still working on it, not done yet.");
}

#[test]
fn every_folder_of_recordings_is_read() {
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")).unwrap();
    for folder in folders {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(RECORDING_FOLDERS.iter().any(|(known, ..)| *known == name), "{name} is not in RECORDING_FOLDERS");
    }
}
