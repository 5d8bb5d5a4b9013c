//! External checks: a command in the work tree, its whole output in a log, its end in the evidence.
use std::time::{Duration, Instant};

use ralph_core::criterion::ExternalCheck;
use ralph_core::evidence::{CheckEnding, CheckEvidence, Kind, Seen, judge_check};
use sha2::{Digest, Sha256};

use super::Verifier;
use super::compiled::Compiled;
use super::orders::Orders;
use super::program::{self, Program, Ran};
use ralph_process::{Listener, RawLog, Tail, When};
use ralph_util::digest::hex;
use ralph_util::redact;
use ralph_util::sanitize::sanitize;

/// How much of a check's output goes into the evidence.
const TAIL_BYTES: usize = 8_192;

const LEFT_OUT: &str = "[what was printed before this is left out; the log has it]";

/// Runs a check's command once, its output in the log of that name.
pub(super) async fn check(
    verifier: &Verifier,
    check: &ExternalCheck,
    log: String,
    orders: &mut Orders,
) -> CheckEvidence {
    if let Some(known) = verifier.cache.find(&verifier.ground, check) {
        return known;
    }
    let began = Instant::now();
    let mut capture = Capture::new(check, RawLog::new(verifier.folder.join(&log), &verifier.logs));
    let compiled = Compiled::in_folder(&verifier.folder);
    let Ran { ending, leftovers } = match verifier.ground.job(check) {
        Ok(mut job) => {
            compiled.set_in(&mut job.env, &check.env);
            let time = Duration::from_millis(check.timeout_ms);
            let program = Program { job, input: Vec::new(), time };
            program::run(&verifier.keeper, program, &mut capture, orders).await
        }
        Err(error) => Ran::not_started(error.to_string()),
    };
    // A log that is not whole does not change what the check says.
    let _ = capture.log.finish();
    let (verdict, reason) = judge_check(check, &ending, capture.seen());
    let seen = CheckEvidence {
        exit_code: match ending {
            CheckEnding::Exited { code } => Some(code),
            CheckEnding::Signalled { .. } | CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => None,
        },
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tail: capture.end(),
        digest: Some(hex(capture.digest)),
        log,
        leftovers,
        ..CheckEvidence::plain(Kind::External, check.command.to_string(), verdict, harmless(&reason))
    };
    verifier.cache.keep(&verifier.ground, check, &seen);
    seen
}

/// Terminal codes may have stood inside a secret, so they go first.
pub(super) fn harmless(text: &str) -> String {
    redact::text(&sanitize(text)).into_owned()
}

/// Keeps the end of the output and looks for the texts that the check names, in all of it.
struct Capture {
    log: RawLog,
    tail: Tail,
    /// Over all of it, also what no log has room for.
    digest: Sha256,
    /// How much was printed.
    length: usize,
    wanted: Search,
    forbidden: Search,
}

impl Capture {
    /// The log is there even if the check prints nothing.
    fn new(check: &ExternalCheck, mut log: RawLog) -> Self {
        log.write(&mut Vec::new());
        Self {
            log,
            tail: Tail::new(TAIL_BYTES),
            digest: Sha256::new(),
            length: 0,
            wanted: Search::new(check.output_contains.as_deref()),
            forbidden: Search::new(check.output_not_contains.as_deref()),
        }
    }

    fn seen(&self) -> Seen {
        Seen { wanted: self.wanted.found, forbidden: self.forbidden.found }
    }

    /// Returns the end of the output. Where that is not all of it, it says so.
    fn end(&mut self) -> String {
        let end = harmless(&self.tail.finish());
        if self.length > TAIL_BYTES { format!("{LEFT_OUT}\n{end}") } else { end }
    }

    fn hear(&mut self, piece: &mut Vec<u8>, stream: Stream) {
        self.tail.push(piece);
        self.length = self.length.saturating_add(piece.len());
        self.digest.update(&*piece);
        self.wanted.push(piece, stream);
        self.forbidden.push(piece, stream);
        self.log.write(piece);
    }
}

impl Listener for Capture {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.hear(piece, Stream::Out);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.hear(piece, Stream::Err);
    }
}

#[derive(Debug, Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Looks for a text in each stream, across the borders of its pieces: what comes in between on the other one changes nothing.
struct Search {
    needle: Option<memchr::memmem::Finder<'static>>,
    out: Vec<u8>,
    err: Vec<u8>,
    found: bool,
}

impl Search {
    fn new(text: Option<&str>) -> Self {
        let needle = text.map(|text| memchr::memmem::Finder::new(text.as_bytes()).into_owned());
        Self { needle, out: Vec::new(), err: Vec::new(), found: false }
    }

    fn push(&mut self, bytes: &[u8], stream: Stream) {
        let Some(needle) = self.needle.as_ref().filter(|_| !self.found) else { return };
        let carried = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let keep = needle.needle().len().saturating_sub(1);
        carried.extend_from_slice(bytes);
        self.found = needle.find(carried).is_some();
        carried.drain(..carried.len().saturating_sub(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2
    #[test]
    fn a_text_is_found_across_the_borders_of_pieces() {
        let mut search = Search::new(Some("passed"));
        for piece in ["12 pa", "ss", "", "ed."] {
            assert!(!search.found);
            search.push(piece.as_bytes(), Stream::Out);
        }
        assert!(search.found);
        let mut other = Search::new(Some("failed"));
        other.push(b"12 passed", Stream::Out);
        assert!(!other.found);
    }

    // spec: V2
    #[test]
    fn what_the_other_stream_says_in_between_neither_breaks_nor_makes_a_text() {
        let mut search = Search::new(Some("passed"));
        search.push(b"12 pas", Stream::Out);
        search.push(b"warning", Stream::Err);
        search.push(b"sed", Stream::Out);
        assert!(search.found);
        let mut other = Search::new(Some("passed"));
        other.push(b"12 pas", Stream::Out);
        other.push(b"sed", Stream::Err);
        assert!(!other.found);
    }
}
