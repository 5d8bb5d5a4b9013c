//! The adapter for any program that reads a prompt on stdin. Everything that it prints is agent text.
use memchr::memchr_iter;

use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::PermissionGrants;
use crate::profile::AgentProfile;
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::AgentEvent;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::{RecordCounts, StreamParser};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install_hint: "name the program with --agent-cmd PATH",
    login_hint: "ralph does not know how the program logs in",
    login_variables: &[],
    login_files: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "text",
    program: AgentProgram::UserProvided,
    output_format: OutputFormat::Text,
    default_args: &[],
    grants: PermissionGrants::unsupported(
        "a plain program takes no permissions from ralph",
        "may do whatever the program does: ralph cannot limit it",
    ),
    session_support: SessionSupport::Unsupported,
    profile: PROFILE,
};

pub(crate) struct TextAgent;

impl Agent for TextAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// The flags of a plain program are unknown, so model, permission and session are ignored.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        self.base_invocation(request).with_user_additions(request, &[])
    }

    /// Whether the program uses tools is the responsibility of the user, who configured it as a judge.
    fn build_one_shot(&self, request: &LaunchRequest<'_>) -> Option<AgentInvocation> {
        let request = LaunchRequest { extra_args: &[], ..*request };
        Some(self.build_invocation(&request))
    }
}

/// Treats the whole output as message 1.
#[derive(Debug, Default)]
pub(crate) struct PlainTextParser {
    /// The first bytes of a character that the next chunk completes, at most three.
    partial_char: Vec<u8>,
    newline_count: u64,
    has_open_line: bool,
}

impl StreamParser for PlainTextParser {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let Some(&last) = bytes.last() else { return };
        self.newline_count += memchr_iter(b'\n', bytes).count() as u64;
        self.has_open_line = last != b'\n';
        let joined;
        let mut bytes = bytes;
        if !self.partial_char.is_empty() {
            joined = [std::mem::take(&mut self.partial_char).as_slice(), bytes].concat();
            bytes = &joined;
        }
        let (whole, partial) = bytes.split_at(bytes.len() - incomplete_char_len(bytes));
        self.partial_char = partial.to_vec();
        push_text_event(whole, out);
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        push_text_event(&std::mem::take(&mut self.partial_char), out);
    }

    fn record_counts(&self) -> RecordCounts {
        RecordCounts { recognised: self.newline_count + u64::from(self.has_open_line), unknown: 0, oversized: 0 }
    }
}

fn push_text_event(bytes: &[u8], out: &mut Vec<AgentEvent>) {
    if bytes.is_empty() {
        return;
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    // NUL is a valid character, but databases and C programs reject it.
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    out.push(AgentEvent::Text { message: 1, text });
}

/// Returns the length of an incomplete character at the end of the bytes.
fn incomplete_char_len(bytes: &[u8]) -> usize {
    let tail = bytes.get(bytes.len().saturating_sub(3)..).unwrap_or_default();
    for length in 1..=tail.len() {
        let Some(end) = tail.get(tail.len() - length..) else { return 0 };
        if let Err(error) = std::str::from_utf8(end)
            && error.valid_up_to() == 0
            && error.error_len().is_none()
        {
            return length;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_chunks(chunks: &[&[u8]]) -> (String, RecordCounts) {
        let (mut parser, mut out, mut text) = (PlainTextParser::default(), Vec::new(), String::new());
        for chunk in chunks {
            parser.push(chunk, &mut out);
        }
        parser.finish(&mut out);
        for event in out {
            let AgentEvent::Text { message: 1, text: part } = event else { panic!("{event:?}") };
            text.push_str(&part);
        }
        (text, parser.record_counts())
    }

    #[test] // spec: S8
    fn characters_split_over_chunks_stay_whole() {
        let text = "привет – 完了 🎉\n<promise>DONE</promise>\n";
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(parse_chunks(&bytes), (text.to_owned(), RecordCounts { recognised: 2, unknown: 0, oversized: 0 }));
    }

    #[test] // spec: S8
    fn invalid_bytes_become_replacement_characters_and_hide_nothing() {
        let (text, _) = parse_chunks(&[b"ok \xff\xfe \xed\xa0\x80\n<promise>", b"DONE</promise>\n\xe5"]);
        assert!(text.ends_with("\n<promise>DONE</promise>\n\u{fffd}"), "{text:?}");
        let (text, _) = parse_chunks(&[b"a\x00b\n"]);
        assert_eq!(text, "a\u{fffd}b\n");
    }

    #[test] // spec: A5
    fn empty_output_has_no_records() {
        assert_eq!(parse_chunks(&[b"", b""]).1.recognised, 0);
        assert_eq!(parse_chunks(&[b"x"]).1.recognised, 1);
    }

    #[test] // spec: S8
    fn chunk_boundaries_do_not_change_the_text() {
        let bytes = b"a\xf0\x9f\x8e\x89\xf0\x9f\xff\xe5\xae\x8c \xf0\x9f\x8e";
        let whole = parse_chunks(&[bytes]);
        for at in 0..bytes.len() {
            assert_eq!(parse_chunks(&[&bytes[..at], &bytes[at..]]), whole, "split at {at}");
        }
    }
}
