//! The plain adapter: any command that reads a prompt and prints. All it prints is the agent's own text.
use memchr::memchr_iter;

use super::about::About;
use super::card::Card;
use super::event::AgentEvent;
use super::format::Format;
use super::grant::Grants;
use super::job::{Invocation, Job};
use super::parser::{Counts, Parser};
use super::registry::{Agent, Program, Sessions};

const ABOUT: About = About {
    package: None,
    tested: None,
    install_hint: "name the program with --agent-cmd PATH",
    login_hint: "it needs none that ralph knows of",
    login_variables: &[],
    login_files: &[],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "text",
    program: Program::Required,
    format: Format::Text,
    args: &[],
    grants: Grants::own(
        "a plain program takes no permissions from ralph",
        "does whatever the program does: ralph cannot limit it",
    ),
    sessions: Sessions::Fresh,
    about: ABOUT,
};

pub(super) struct Text;

impl Agent for Text {
    fn card(&self) -> &'static Card {
        &CARD
    }

    /// A plain command has no flags that we know: model, permission and session mean nothing to it.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        self.start(job).finished_by(job, &[])
    }

    /// Whether it has tools only the user knows, who made it a judge.
    fn one_shot(&self, job: &Job<'_>) -> Option<Invocation> {
        let job = Job { extra_args: &[], ..*job };
        Some(self.invocation(&job))
    }
}

/// Reads everything as message 1.
#[derive(Debug, Default)]
pub(super) struct TextParser {
    /// The first bytes of a character that the next chunk completes. Never more than three.
    begun: Vec<u8>,
    newlines: u64,
    line_is_open: bool,
}

impl Parser for TextParser {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let Some(&last) = bytes.last() else { return };
        self.newlines += memchr_iter(b'\n', bytes).count() as u64;
        self.line_is_open = last != b'\n';
        let joined;
        let mut bytes = bytes;
        if !self.begun.is_empty() {
            joined = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
            bytes = &joined;
        }
        let (whole, begun) = bytes.split_at(bytes.len() - unfinished(bytes));
        self.begun = begun.to_vec();
        say(whole, out);
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        say(&std::mem::take(&mut self.begun), out);
    }

    fn counts(&self) -> Counts {
        Counts { recognised: self.newlines + u64::from(self.line_is_open), unknown: 0, cut: 0 }
    }
}

fn say(bytes: &[u8], out: &mut Vec<AgentEvent>) {
    if bytes.is_empty() {
        return;
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    // A NUL is legal text, but neither databases nor C programs take it.
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    out.push(AgentEvent::Text { message: 1, text });
}

/// Returns how many bytes at the end begin a character whose rest may still come.
fn unfinished(bytes: &[u8]) -> usize {
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

    fn read(chunks: &[&[u8]]) -> (String, Counts) {
        let (mut parser, mut out, mut text) = (TextParser::default(), Vec::new(), String::new());
        for chunk in chunks {
            parser.push(chunk, &mut out);
        }
        parser.finish(&mut out);
        for event in out {
            let AgentEvent::Text { message: 1, text: part } = event else { panic!("{event:?}") };
            text.push_str(&part);
        }
        (text, parser.counts())
    }

    #[test] // spec: S8
    fn characters_split_over_chunks_stay_whole() {
        let text = "привет – 完了 🎉\n<promise>DONE</promise>\n";
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), (text.to_owned(), Counts { recognised: 2, unknown: 0, cut: 0 }));
    }

    #[test] // spec: S8
    fn bad_bytes_become_marks_and_hide_nothing() {
        let (text, _) = read(&[b"ok \xff\xfe \xed\xa0\x80\n<promise>", b"DONE</promise>\n\xe5"]);
        assert!(text.ends_with("\n<promise>DONE</promise>\n\u{fffd}"), "{text:?}");
        let (text, _) = read(&[b"a\x00b\n"]);
        assert_eq!(text, "a\u{fffd}b\n");
    }

    #[test] // spec: A5
    fn silence_is_no_record() {
        assert_eq!(read(&[b"", b""]).1.recognised, 0);
        assert_eq!(read(&[b"x"]).1.recognised, 1);
    }

    #[test] // spec: S8
    fn chunk_borders_change_no_text() {
        let bytes = b"a\xf0\x9f\x8e\x89\xf0\x9f\xff\xe5\xae\x8c \xf0\x9f\x8e";
        let whole = read(&[bytes]);
        for at in 0..bytes.len() {
            assert_eq!(read(&[&bytes[..at], &bytes[at..]]), whole, "split at {at}");
        }
    }
}
