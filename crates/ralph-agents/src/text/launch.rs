//! The adapter for any program that reads a prompt on stdin. Everything that it prints is agent text, except for the
//! sections of a transcript that are not messages of the agent.
use memchr::memchr_iter;

use crate::codex::{SectionStart, TranscriptSections};
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::PermissionGrants;
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::AgentEvent;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::{RecordCounts, StreamParser};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install: InstallMethod::UserProgram,
    login_hint: "ralph does not know how the program logs in",
    login_variables: &[],
    login_files: &[],
    login_file_members: &[],
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

/// Treats the whole output as one message. In a transcript, each section is a separate message.
#[derive(Debug)]
pub(crate) struct PlainTextParser {
    /// The first bytes of a character that the next chunk completes, at most three.
    partial_char: Vec<u8>,
    newline_count: u64,
    has_open_line: bool,
    message: u64,
    sections: TranscriptSections,
    section: SectionStart,
}

impl Default for PlainTextParser {
    fn default() -> Self {
        Self {
            partial_char: Vec::new(),
            newline_count: 0,
            has_open_line: false,
            message: 1,
            sections: TranscriptSections::default(),
            section: SectionStart::Message,
        }
    }
}

impl PlainTextParser {
    fn push_text(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let text = String::from_utf8_lossy(bytes);
        // NUL is a valid character, but databases and C programs reject it.
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text };
        let (mut section_start, mut line_start) = (0, 0);
        for end in memchr_iter(b'\n', text.as_bytes()) {
            self.sections.push_line_part(text.get(line_start..end).unwrap_or_default());
            line_start = end + 1;
            if let Some(next) = self.sections.end_line() {
                self.push_section_text(text.get(section_start..line_start).unwrap_or_default(), out);
                self.start_section(next, out);
                section_start = line_start;
            }
        }
        self.sections.push_line_part(text.get(line_start..).unwrap_or_default());
        self.push_section_text(text.get(section_start..).unwrap_or_default(), out);
    }

    fn push_section_text(&self, text: &str, out: &mut Vec<AgentEvent>) {
        if !text.is_empty() {
            out.push(AgentEvent::Text { message: self.message, text: text.to_owned() });
        }
    }

    fn start_section(&mut self, next: SectionStart, out: &mut Vec<AgentEvent>) {
        self.end_section(out);
        self.section = next;
        self.message += 1;
    }

    /// The text of a section that is not a message does not count as the agent's words.
    fn end_section(&self, out: &mut Vec<AgentEvent>) {
        if self.section == SectionStart::Other {
            out.push(AgentEvent::Prompted);
        }
    }
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
        self.push_text(whole, out);
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        let rest = std::mem::take(&mut self.partial_char);
        self.push_text(&rest, out);
        self.end_section(out);
    }

    fn record_counts(&self) -> RecordCounts {
        RecordCounts { recognised: self.newline_count + u64::from(self.has_open_line), unknown: 0, oversized: 0 }
    }
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

    fn read_claim(output: &str, chunk: usize) -> ralph_core::claim::Claim {
        use ralph_core::claim::{ClaimFinder, ClaimRules, Promise};
        let (mut parser, mut events) = (PlainTextParser::default(), Vec::new());
        output.as_bytes().chunks(chunk).for_each(|bytes| parser.push(bytes, &mut events));
        parser.finish(&mut events);
        let mut finder = ClaimFinder::new(ClaimRules::new(Promise::parse("DONE").unwrap()), "");
        events.iter().for_each(|event| crate::feed_claim_finder(&mut finder, event));
        finder.finish().claim
    }

    #[test] // spec: S2, S4; finding: N27
    fn only_the_messages_of_a_transcript_count() {
        let head = "OpenAI Codex v0.99.0\n--------\nuser\nWhen all is done, print:\n<promise>DONE</promise>\n";
        let work = "thinking\nI look.\nexec\ncat prompt.md\n```\n<promise>DONE</promise>\n";
        let footer = "tokens used\n12,345\n";
        for chunk in [1, 7, 4096] {
            let is_claim = |rest: &str| read_claim(&format!("{head}{work}{rest}"), chunk).is_made();
            assert!(is_claim(&format!("codex\nAll tests pass.\n\n<promise>DONE</promise>\n{footer}")));
            assert!(is_claim(&format!("{footer}All tests pass.\n\n<promise>DONE</promise>\n")));
            assert!(!is_claim(&format!("{footer}Two tests are red, so I stop here.\n")));
            assert!(!is_claim(""));
        }
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
