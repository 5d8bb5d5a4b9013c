//! Arbitrary bytes and chunk boundaries: no parser panics, and the boundaries do not affect the events.
use proptest::prelude::*;

use super::parse_chunks;
use crate::{AgentEvent, OutputFormat, RecordCounts};

const SAMPLE_STREAMS: &[(OutputFormat, &str)] = &[
    (OutputFormat::Claude, include_str!("../../transcripts/claude/tool.stdout")),
    (OutputFormat::Claude, include_str!("../../transcripts/claude/partial.stdout")),
    (OutputFormat::Codex, include_str!("../../transcripts/codex/tool-yolo.stdout")),
    (OutputFormat::Cline, include_str!("../../transcripts/cline/ok.stdout")),
    (OutputFormat::Opencode, include_str!("../../transcripts/opencode/ok.stdout")),
    (OutputFormat::Gemini, include_str!("../../transcripts/gemini/ok.stdout")),
    (OutputFormat::Qwen, include_str!("../../transcripts/qwen/ok.stdout")),
    (OutputFormat::Copilot, include_str!("../../transcripts/copilot/ok.stdout")),
    (OutputFormat::Goose, include_str!("../../transcripts/goose/ok.stdout")),
    (OutputFormat::Acp, include_str!("../../transcripts/acp/opencode-perm.stdout")),
    (OutputFormat::Text, "привет 完了 🎉\nfin"),
];

/// Joins adjacent text events of one message, because plain text is split at chunk boundaries.
fn join_texts(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut joined: Vec<AgentEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(AgentEvent::Text { message, text }), AgentEvent::Text { message: same, text: more })
                if *message == same =>
            {
                text.push_str(&more);
            }
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn parse_joined(format: OutputFormat, chunks: &[&[u8]]) -> (Vec<AgentEvent>, RecordCounts) {
    let (events, counts) = parse_chunks(format, chunks);
    (join_texts(events), counts)
}

#[test] // spec: A5, S8
fn a_stream_read_byte_by_byte_gives_the_same_events() {
    for (format, sample) in SAMPLE_STREAMS {
        let bytes: Vec<&[u8]> = sample.as_bytes().chunks(1).collect();
        assert_eq!(parse_joined(*format, &bytes), parse_joined(*format, &[sample.as_bytes()]), "{format}");
    }
}

#[test] // spec: A5, S8
fn a_stream_cut_anywhere_never_panics() {
    for (format, sample) in SAMPLE_STREAMS {
        for end in (0..sample.len()).step_by(37) {
            parse_joined(*format, &[&sample.as_bytes()[..end]]);
        }
    }
}

#[test] // spec: A5, S4
fn a_truncated_record_is_not_a_message() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>X</promise>"}]}}"#;
    for end in 0..line.len() {
        let (events, _) = parse_chunks(OutputFormat::Claude, &[&line.as_bytes()[..end]]);
        assert_eq!(events, [], "cut at {end}");
    }
}

#[test] // spec: A4, A5, S8
fn a_line_of_100_megabytes_is_skipped_and_later_lines_are_read() {
    let start = br#"{"type":"user","message":{"content":[{"type":"tool_result","content":""#;
    let end = b"\"}]}}\n{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n";
    let megabyte = vec![b'z'; 1 << 20];
    let mut chunks: Vec<&[u8]> = vec![start];
    chunks.extend(std::iter::repeat_n(megabyte.as_slice(), 100));
    chunks.push(end);
    let (events, counts) = parse_chunks(OutputFormat::Claude, &chunks);
    assert_eq!(counts, RecordCounts { recognised: 1, unknown: 0, oversized: 1 });
    assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: true }));
}

#[test] // spec: A5
fn excessive_nesting_is_skipped_and_later_lines_are_read() {
    for format in OutputFormat::ALL.iter().copied().filter(|format| *format != OutputFormat::Text) {
        let deep = format!("{{\"type\":\"x\",\"a\":{}\n{}\n{{}}\n", "[".repeat(100_000), "{\"a\":".repeat(100_000));
        let (events, counts) = parse_chunks(format, &[deep.as_bytes()]);
        assert_eq!((events, counts), (vec![], RecordCounts { recognised: 0, unknown: 3, oversized: 0 }), "{format}");
    }
}

fn any_format() -> impl Strategy<Value = OutputFormat> {
    prop::sample::select(OutputFormat::ALL)
}

proptest! {
    #[test] // spec: A5
    fn arbitrary_bytes_give_the_same_events_in_any_chunks(
        format in any_format(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        size in 1_usize..50,
    ) {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(parse_joined(format, &pieces), parse_joined(format, &[&bytes]));
    }

    #[test] // spec: A5
    fn a_damaged_recording_never_panics(
        sample in prop::sample::select(SAMPLE_STREAMS),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        size in 1_usize..5_000,
    ) {
        let mut bytes = sample.1.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(parse_joined(sample.0, &pieces), parse_joined(sample.0, &[&bytes]));
    }
}
