//! Tests of the plain report.
use super::*;

fn report_of(events: &[AgentEvent]) -> String {
    let mut out = Vec::new();
    let mut report = PlainReport::line_based(&mut out, ColorMode::Plain, ReportDetail::Everything, 3);
    for event in events {
        report.on_agent_event(event);
        report.on_quiet();
    }
    report.flush_open_line();
    drop(report);
    String::from_utf8(out).unwrap()
}

fn chunk(message: u64, text: &str) -> AgentEvent {
    AgentEvent::Text { message, text: text.to_owned() }
}

// finding: N66
#[test]
fn the_chunks_of_a_streamed_message_are_joined() {
    let call = AgentEvent::ToolCall { name: "shell".to_owned(), detail: "ls".to_owned() };
    let chunks =
        [chunk(1, "I re"), chunk(1, "ad the\nfi"), chunk(1, "le.\n"), chunk(1, "\nOn"), call, chunk(2, "Done")];
    assert_eq!(report_of(&chunks), "  I read the\n  file.\n  \n  On\n  ● shell  ls\n  Done\n");
}

// spec: X3
// finding: N45
#[test]
fn a_secret_that_is_streamed_in_parts_is_redacted() {
    redact::register_variables([("PARTS_TOKEN", "first-half\nsecond-half")]);
    let split = [chunk(1, "it is first-h"), chunk(1, "alf\nsecond-"), chunk(1, "half.\n")];
    assert_eq!(report_of(&split), "  it is [redacted:PARTS_TOKEN].\n");
}

// finding: N66
#[test]
fn messages_are_not_joined_with_each_other() {
    assert_eq!(report_of(&[chunk(1, "one"), chunk(2, "two")]), "  one\n  two\n");
}
