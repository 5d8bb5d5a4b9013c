//! Runs the program of a workflow node, bash or a script, to its end: with its whole output, a log, and a deadline.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use ralph_process::{JobCommand, JobListener, JobSpec, Keeper, LogBudget, OutputTail, OutputTiming, RawLog};
use ralph_util::redact;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::verify::VerificationControl;
use crate::verify::program::{self, CheckProgram, ProgramResult};

/// A longer output fails the node: a part of it would be a wrong value.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// How much of the end of stderr explains a failure.
const STDERR_TAIL_BYTES: usize = 4_096;

/// A program to run, and where its output is kept.
pub struct NodeProgram {
    pub job: JobSpec,
    /// Bytes for its stdin.
    pub input: Vec<u8>,
    pub timeout: Duration,
    /// The file is created with the first output: on some file systems a new file takes as long as the program.
    pub log: PathBuf,
    pub log_budget: LogBudget,
}

/// How the program of a node ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeProgramResult {
    pub ending: CheckEnding,
    /// Its stdout without secrets; `None` if it was longer than the limit.
    pub stdout: Option<String>,
    /// The end of its stderr, without secrets.
    pub stderr_tail: String,
    /// Why the log is not complete, if it is not.
    pub warning: Option<String>,
}

/// Runs a program to its end. Commands stop or pause it.
pub async fn run_node_program(
    keeper: &Keeper,
    program: NodeProgram,
    commands: UnboundedReceiver<JobCommand>,
) -> NodeProgramResult {
    let NodeProgram { job, input, timeout, log, log_budget } = program;
    let mut capture = OutputCapture::new(RawLog::new(log, &log_budget));
    let mut control = VerificationControl::new(commands);
    let checked = CheckProgram { job, input, timeout };
    let ProgramResult { ending, .. } = program::run_program(keeper, checked, &mut capture, &mut control).await;
    capture.into_result(ending)
}

struct OutputCapture {
    log: RawLog,
    stdout: Vec<u8>,
    is_too_long: bool,
    stderr: OutputTail,
}

impl OutputCapture {
    fn new(log: RawLog) -> Self {
        Self { log, stdout: Vec::new(), is_too_long: false, stderr: OutputTail::new(STDERR_TAIL_BYTES) }
    }

    fn into_result(mut self, ending: CheckEnding) -> NodeProgramResult {
        let stdout = (!self.is_too_long).then(|| {
            let text = String::from_utf8_lossy(&self.stdout);
            redact::redact_text(&text).into_owned()
        });
        NodeProgramResult { ending, stdout, stderr_tail: self.stderr.finish(), warning: self.log.finish() }
    }
}

impl JobListener for OutputCapture {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.is_too_long |= self.stdout.len() + piece.len() > MAX_OUTPUT_BYTES;
        if self.is_too_long {
            self.stdout = Vec::new();
        } else {
            self.stdout.extend_from_slice(piece);
        }
        self.log.write(piece);
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.stderr.push(piece);
        self.log.write(piece);
    }
}
