//! Arbitrary bytes and arbitrary chunk borders: no parser panics, and borders change nothing.
use proptest::prelude::*;

use super::read;
use crate::{AgentEvent, Counts, Format};

const SAMPLES: &[(Format, &str)] = &[
    (Format::Claude, include_str!("../../transcripts/claude/tool.stdout")),
    (Format::Claude, include_str!("../../transcripts/claude/partial.stdout")),
    (Format::Codex, include_str!("../../transcripts/codex/tool-yolo.stdout")),
    (Format::Cline, include_str!("../../transcripts/cline/ok.stdout")),
    (Format::Opencode, include_str!("../../transcripts/opencode/ok.stdout")),
    (Format::Gemini, include_str!("../../transcripts/gemini/ok.stdout")),
    (Format::Qwen, include_str!("../../transcripts/qwen/ok.stdout")),
    (Format::Copilot, include_str!("../../transcripts/copilot/ok.stdout")),
    (Format::Goose, include_str!("../../transcripts/goose/ok.stdout")),
    (Format::Acp, include_str!("../../transcripts/acp/opencode-perm.stdout")),
    (Format::Text, "привет 完了 🎉\nfin"),
];

/// Text comes out as it comes in; only its sum is the same whatever the borders.
fn joined(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut whole: Vec<AgentEvent> = Vec::new();
    for event in events {
        match (whole.last_mut(), event) {
            (Some(AgentEvent::Text { message, text }), AgentEvent::Text { message: same, text: more })
                if *message == same =>
            {
                text.push_str(&more);
            }
            (_, event) => whole.push(event),
        }
    }
    whole
}

fn outcome(format: Format, chunks: &[&[u8]]) -> (Vec<AgentEvent>, Counts) {
    let (events, counts) = read(format, chunks);
    (joined(events), counts)
}

#[test] // spec: A5, S8
fn a_stream_byte_by_byte_says_the_same() {
    for (format, sample) in SAMPLES {
        let bytes: Vec<&[u8]> = sample.as_bytes().chunks(1).collect();
        assert_eq!(outcome(*format, &bytes), outcome(*format, &[sample.as_bytes()]), "{format}");
    }
}

#[test] // spec: A5, S8
fn a_stream_cut_anywhere_never_panics() {
    for (format, sample) in SAMPLES {
        for end in (0..sample.len()).step_by(37) {
            outcome(*format, &[&sample.as_bytes()[..end]]);
        }
    }
}

/// Half a record at the end is no message, however much of it there is.
#[test] // spec: A5, S4
fn a_record_cut_short_by_death_is_no_message() {
    let line =
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>X</promise>"}]}}"#;
    for end in 0..line.len() {
        let (events, _) = read(Format::Claude, &[&line.as_bytes()[..end]]);
        assert_eq!(events, [], "cut at {end}");
    }
}

#[test] // spec: A4, A5, S8
fn a_line_of_100_megabytes_is_skipped_and_what_follows_is_read() {
    let start = br#"{"type":"user","message":{"content":[{"type":"tool_result","content":""#;
    let end = b"\"}]}}\n{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n";
    let megabyte = vec![b'z'; 1 << 20];
    let mut chunks: Vec<&[u8]> = vec![start];
    chunks.extend(std::iter::repeat_n(megabyte.as_slice(), 100));
    chunks.push(end);
    let (events, counts) = read(Format::Claude, &chunks);
    assert_eq!(counts, Counts { recognised: 1, unknown: 0, cut: 1 });
    assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: true }));
}

#[test] // spec: A5
fn absurd_nesting_is_skipped_and_what_follows_is_read() {
    for format in Format::ALL.iter().copied().filter(|format| *format != Format::Text) {
        let deep =
            format!("{{\"type\":\"x\",\"a\":{}\n{}\n{{}}\n", "[".repeat(100_000), "{\"a\":".repeat(100_000));
        let (events, counts) = read(format, &[deep.as_bytes()]);
        assert_eq!((events, counts), (vec![], Counts { recognised: 0, unknown: 3, cut: 0 }), "{format}");
    }
}

fn any_format() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL)
}

proptest! {
    #[test] // spec: A5
    fn arbitrary_bytes_say_the_same_in_any_chunks(
        format in any_format(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        size in 1_usize..50,
    ) {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(outcome(format, &pieces), outcome(format, &[&bytes]));
    }

    #[test] // spec: A5
    fn a_damaged_recording_never_panics(
        sample in prop::sample::select(SAMPLES),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        size in 1_usize..5_000,
    ) {
        let mut bytes = sample.1.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(outcome(sample.0, &pieces), outcome(sample.0, &[&bytes]));
    }
}
