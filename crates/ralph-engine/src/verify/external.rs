//! External checks: run a command in the work tree, with its whole output in a log and the tail in the evidence.
use std::time::{Duration, Instant};

use ralph_core::criterion::ExternalCheck;
use ralph_core::evidence::{
    CheckEnding, CheckEvidence, EvidenceKind, OutputMatches, ReasonedVerdict, evaluate_command,
};
use sha2::{Digest, Sha256};

use super::CheckContext;
use super::program::{self, CheckProgram, ProgramResult};
use super::verification_control::VerificationControl;
use crate::verify::seals::pycache::PycacheFolder;
use ralph_process::{JobListener, OutputTail, OutputTiming, RawLog};
use ralph_util::digest::finish_hex;
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// How much of a check's output goes into the evidence.
const EVIDENCE_TAIL_BYTES: usize = 8_192;

const TRUNCATED_OUTPUT_NOTICE: &str = "[earlier output is omitted; see the log]";

/// Runs the command of a check once and writes its output to the log file `log`.
pub(super) async fn run_external_check(
    context: &CheckContext,
    check: &ExternalCheck,
    log: String,
    control: &mut VerificationControl,
) -> CheckEvidence {
    if let Some(known) = context.cache.find_accepted(&context.environment, check) {
        return known;
    }
    let started = Instant::now();
    let mut capture = CheckOutputCapture::new(check, RawLog::new(context.log_folder.join(&log), &context.log_budget));
    let pycache = PycacheFolder::new_in(&context.log_folder);
    let ProgramResult { ending, leftovers } = match context.environment.build_job(check) {
        Ok(mut job) => {
            pycache.set_variable(&mut job.env, &check.env);
            let timeout = Duration::from_millis(check.timeout_ms);
            let program = CheckProgram { job, input: Vec::new(), timeout };
            program::run_program(&context.keeper, program, &mut capture, control).await
        }
        Err(error) => ProgramResult::not_started(error.to_string()),
    };
    // An incomplete log does not change the verdict.
    let _ = capture.log.finish();
    let ReasonedVerdict { verdict, reason } = evaluate_command(check, &ending, capture.found_texts());
    let evidence = CheckEvidence {
        exit_code: match ending {
            CheckEnding::Exited { code } => Some(code),
            CheckEnding::Signalled { .. } | CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => None,
        },
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        tail: capture.tail_text(),
        digest: Some(finish_hex(capture.digest)),
        log,
        leftovers,
        ..CheckEvidence::without_output(
            EvidenceKind::External,
            check.command.to_string(),
            verdict,
            sanitize_and_redact(&reason),
        )
    };
    context.cache.insert_accepted(&context.environment, check, &evidence);
    evidence
}

/// Removes terminal control codes, then secrets: a code inside a secret would hide it.
pub(super) fn sanitize_and_redact(text: &str) -> String {
    redact::redact_text(&sanitize_text(text)).into_owned()
}

/// Collects the tail of the output and searches all of it for the texts that the check names.
struct CheckOutputCapture {
    log: RawLog,
    tail: OutputTail,
    /// Covers the whole output, including the part that exceeds the log budget.
    digest: Sha256,
    printed_bytes: usize,
    expected_text: StreamSearch,
    forbidden_text: StreamSearch,
}

impl CheckOutputCapture {
    /// Creates the log file even if the check prints nothing.
    fn new(check: &ExternalCheck, mut log: RawLog) -> Self {
        log.write(&mut Vec::new());
        Self {
            log,
            tail: OutputTail::new(EVIDENCE_TAIL_BYTES),
            digest: Sha256::new(),
            printed_bytes: 0,
            expected_text: StreamSearch::new(check.output_contains.as_deref()),
            forbidden_text: StreamSearch::new(check.output_not_contains.as_deref()),
        }
    }

    fn found_texts(&self) -> OutputMatches {
        OutputMatches { wanted: self.expected_text.found, forbidden: self.forbidden_text.found }
    }

    /// Returns the tail of the output, with a notice if it is truncated.
    fn tail_text(&mut self) -> String {
        let tail = sanitize_and_redact(&self.tail.finish());
        if self.printed_bytes > EVIDENCE_TAIL_BYTES { format!("{TRUNCATED_OUTPUT_NOTICE}\n{tail}") } else { tail }
    }

    fn record_output(&mut self, piece: &mut Vec<u8>, stream: CheckStream) {
        self.tail.push(piece);
        self.printed_bytes = self.printed_bytes.saturating_add(piece.len());
        self.digest.update(&*piece);
        self.expected_text.push(piece, stream);
        self.forbidden_text.push(piece, stream);
        self.log.write(piece);
    }
}

impl JobListener for CheckOutputCapture {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.record_output(piece, CheckStream::Stdout);
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.record_output(piece, CheckStream::Stderr);
    }
}

#[derive(Debug, Clone, Copy)]
enum CheckStream {
    Stdout,
    Stderr,
}

/// Searches each stream for a text, across chunk boundaries. Output on the other stream does not interrupt a match.
struct StreamSearch {
    needle: Option<memchr::memmem::Finder<'static>>,
    stdout_carry: Vec<u8>,
    stderr_carry: Vec<u8>,
    found: bool,
}

impl StreamSearch {
    fn new(text: Option<&str>) -> Self {
        let needle = text.map(|text| memchr::memmem::Finder::new(text.as_bytes()).into_owned());
        Self { needle, stdout_carry: Vec::new(), stderr_carry: Vec::new(), found: false }
    }

    fn push(&mut self, bytes: &[u8], stream: CheckStream) {
        let Some(needle) = self.needle.as_ref().filter(|_| !self.found) else { return };
        let carry = match stream {
            CheckStream::Stdout => &mut self.stdout_carry,
            CheckStream::Stderr => &mut self.stderr_carry,
        };
        let keep = needle.needle().len().saturating_sub(1);
        carry.extend_from_slice(bytes);
        self.found = needle.find(carry).is_some();
        carry.drain(..carry.len().saturating_sub(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2
    #[test]
    fn a_text_is_found_across_chunk_boundaries() {
        let mut search = StreamSearch::new(Some("passed"));
        for piece in ["12 pa", "ss", "", "ed."] {
            assert!(!search.found);
            search.push(piece.as_bytes(), CheckStream::Stdout);
        }
        assert!(search.found);
        let mut other = StreamSearch::new(Some("failed"));
        other.push(b"12 passed", CheckStream::Stdout);
        assert!(!other.found);
    }

    // spec: V2
    #[test]
    fn output_on_the_other_stream_neither_breaks_nor_completes_a_match() {
        let mut search = StreamSearch::new(Some("passed"));
        search.push(b"12 pas", CheckStream::Stdout);
        search.push(b"warning", CheckStream::Stderr);
        search.push(b"sed", CheckStream::Stdout);
        assert!(search.found);
        let mut other = StreamSearch::new(Some("passed"));
        other.push(b"12 pas", CheckStream::Stdout);
        other.push(b"sed", CheckStream::Stderr);
        assert!(!other.found);
    }
}
