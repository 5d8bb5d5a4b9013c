//! What real programs printed. All of it must be understood; some of it is pinned word for word.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{events, final_text, read};
use crate::agent::{AgentEvent, ErrorKind, Format};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts").join(name)
}

fn recording(agent: &str, name: &str) -> String {
    std::fs::read_to_string(folder(agent).join(format!("{name}.stdout"))).unwrap()
}

fn recordings(agent: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(folder(agent))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stdout"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

/// Recordings that are not in the agent's JSON format at all.
const PLAIN: &[&str] = &["claude/plain", "codex/nojson", "amp/nokey", "opencode/serve-plugin", "gemini/json"];

#[test] // spec: A1, A5, A8
fn every_recording_is_understood() {
    let agents = [
        ("claude", Format::Claude, 60),
        ("claude197", Format::Claude, 2),
        ("codex", Format::Codex, 50),
        ("opencode", Format::Opencode, 10),
        ("cline", Format::Cline, 10),
        ("amp", Format::Amp, 2),
        ("gemini", Format::Gemini, 20),
        ("qwen", Format::Qwen, 15),
        ("copilot", Format::Copilot, 12),
        ("goose", Format::Goose, 8),
    ];
    for (agent, format, least) in agents {
        let found = recordings(agent);
        assert!(found.len() >= least, "{agent}: {}", found.len());
        for (name, bytes) in found {
            let (_, counts) = read(format, &[&bytes]);
            let plain = PLAIN.contains(&format!("{agent}/{name}").as_str()) || bytes.is_empty();
            assert_eq!(counts.recognised > 0, !plain, "{agent}/{name}: {counts:?}");
            assert!(
                plain || (counts.unknown, counts.cut) == (banner(&bytes), 0),
                "{agent}/{name}: {counts:?}"
            );
        }
    }
}

/// Counts the lines that are meant for people.
fn banner(bytes: &[u8]) -> u64 {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"{")).count() as u64
}

/// One event a line, as `ralph agents parse` would show them.
fn listing(format: Format, stream: &str) -> String {
    let mut text = String::new();
    for event in events(format, stream) {
        writeln!(text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
    }
    text
}

fn pin(agent: &str, format: Format, names: &[&str]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for name in names {
            insta::assert_snapshot!(format!("{agent}-{name}"), listing(format, &recording(agent, name)));
        }
    });
}

#[test] // spec: A5, A8
fn claude_recordings_keep_their_events() {
    let names = [
        "text",
        "tool",
        "tool-noperm",
        "e429",
        "e529",
        "ecut",
        "connrefused",
        "ecredit",
        "oauth-warn",
        "subagent",
        "background2",
        "partial",
        "stop-cap",
        "maxturns",
        "budget-final",
        "json",
        "resume",
        "resume-missing",
        "sigstream-SIGINT",
        "streaminput",
    ];
    pin("claude", Format::Claude, &names);
    pin("claude197", Format::Claude, &["resume"]);
}

#[test] // spec: A5, A8
fn recordings_of_other_agents_keep_their_events() {
    pin("codex", Format::Codex, &["tool-yolo", "x429usage", "xcut", "resume", "text", "bg"]);
    pin("opencode", Format::Opencode, &["ok", "401", "429long", "askperm"]);
    pin("cline", Format::Cline, &["ok", "401", "mid-term", "shell"]);
}

#[test] // spec: A8, L5, L6
fn a_recorded_failure_has_its_kind() {
    let table = [
        ("claude", Format::Claude, "e429", ErrorKind::RateLimit),
        ("claude", Format::Claude, "429-long", ErrorKind::RateLimit),
        ("claude", Format::Claude, "e529", ErrorKind::Overloaded),
        ("claude", Format::Claude, "e500", ErrorKind::Overloaded),
        ("claude", Format::Claude, "e404", ErrorKind::Model),
        ("claude", Format::Claude, "e400", ErrorKind::Unknown),
        ("claude", Format::Claude, "ecredit", ErrorKind::Budget),
        ("claude", Format::Claude, "ecut", ErrorKind::Network),
        ("claude", Format::Claude, "connrefused", ErrorKind::Network),
        ("claude", Format::Claude, "hang-head", ErrorKind::Network),
        ("claude", Format::Claude, "stopfailure4", ErrorKind::Auth),
        ("claude", Format::Claude, "stopfailure6", ErrorKind::Overloaded),
        ("claude", Format::Claude, "maxturns", ErrorKind::Budget),
        ("claude", Format::Claude, "budget-final", ErrorKind::Budget),
        ("claude", Format::Claude, "sigstream-SIGINT", ErrorKind::Crash),
        ("codex", Format::Codex, "x429", ErrorKind::RateLimit),
        ("codex", Format::Codex, "x429usage", ErrorKind::RateLimit),
        ("codex", Format::Codex, "xsserl", ErrorKind::RateLimit),
        ("codex", Format::Codex, "x429quota", ErrorKind::Budget),
        ("codex", Format::Codex, "x401", ErrorKind::Auth),
        ("codex", Format::Codex, "x500", ErrorKind::Overloaded),
        ("codex", Format::Codex, "xcut", ErrorKind::Network),
        ("opencode", Format::Opencode, "401", ErrorKind::Auth),
        ("opencode", Format::Opencode, "429long", ErrorKind::RateLimit),
        ("cline", Format::Cline, "401", ErrorKind::Auth),
    ];
    for (agent, format, name, expected) in table {
        let found = events(format, &recording(agent, name)).into_iter().rev().find_map(|event| match event {
            AgentEvent::Error { kind, fatal: true, .. } => Some(kind),
            _ => None,
        });
        assert_eq!(found, Some(expected), "{agent}/{name}");
    }
}

#[test] // spec: A5, S2
fn a_recorded_answer_is_the_final_text_and_is_said_once() {
    let words = |agent: &str, format, name: &str| final_text(&events(format, &recording(agent, name)));
    assert_eq!(words("claude", Format::Claude, "tool"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(words("claude", Format::Claude, "partial"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(words("claude", Format::Claude, "subagent"), "main done <promise>COMPLETE</promise>");
    assert_eq!(
        words("claude", Format::Claude, "background2"),
        "after notification <promise>COMPLETE</promise>"
    );
    assert_eq!(words("claude", Format::Claude, "json"), "Hello from the mock. <promise>COMPLETE</promise>");
    assert_eq!(words("claude", Format::Claude, "stop-cap"), "", "the last claim was followed by a prompt");
    assert_eq!(words("codex", Format::Codex, "tool-yolo"), "All done.\n<promise>COMPLETE</promise>");
    assert_eq!(
        words("opencode", Format::Opencode, "ok"),
        "The work is finished. <promise>COMPLETE</promise>"
    );
    assert_eq!(words("cline", Format::Cline, "ok"), "The work is finished. <promise>COMPLETE</promise>");
    assert_eq!(words("cline", Format::Cline, "mid-term"), "", "the run was aborted");
}
