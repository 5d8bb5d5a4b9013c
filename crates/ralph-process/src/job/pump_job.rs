//! Moves the bytes of a job's stdin, stdout and stderr concurrently until its process tree is gone.
//! A `JobListener` receives and interprets them.
use std::future;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::job::graceful_stop::GracefulStop;
use crate::{Job, JobCompletion, JobControl, JobExit, TerminationSignal, TreeCleanup};

/// The fastest read size for pipes. Used once a job has filled a small read.
const LARGE_READ_BYTES: usize = 512 * 1024;
const SMALL_READ_BYTES: usize = 16 * 1024;

/// How much input may be pending for a job that does not read it before ralph stops reading the job's stdout.
const MAX_UNREAD_INPUT_BYTES: usize = 1 << 20;

/// The stdin of a job.
#[derive(Debug)]
pub enum JobInput {
    /// These bytes, then end of file.
    Whole(Vec<u8>),
    /// The chunks that the listener provides: see [`JobListener::next_stdin_chunk`].
    Interactive,
}

/// Input from a listener to a job.
#[derive(Debug, Default)]
pub struct StdinChunk {
    pub bytes: Vec<u8>,
    pub follow_up: StdinFollowUp,
}

/// Whether stdin stays open after a chunk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum StdinFollowUp {
    #[default]
    KeepOpen,
    Close,
}

/// A command to a running job.
#[derive(Debug)]
pub enum JobCommand {
    Stop {
        signal: TerminationSignal,
        grace: Duration,
    },
    Kill,
    /// Suspends the job; `delivered` is notified when the command was sent.
    Pause {
        delivered: oneshot::Sender<()>,
    },
    Resume,
}

impl JobCommand {
    #[must_use]
    pub fn ends_job(&self) -> bool {
        match self {
            Self::Stop { .. } | Self::Kill => true,
            Self::Pause { .. } | Self::Resume => false,
        }
    }
}

/// Whether output arrived before or after the program's exit; after it, only descendants can have written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputTiming {
    BeforeExit,
    AfterExit,
}

/// Receives the output of a job in pieces. It may take a piece's buffer and leave another one in its place.
pub trait JobListener {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, timing: OutputTiming);
    fn on_stderr(&mut self, piece: &mut Vec<u8>, timing: OutputTiming);

    /// Returns whether the listener can accept more output. While it cannot, stdout is not read, so the job blocks.
    fn has_room(&self) -> bool {
        true
    }

    /// Returns the next input for a job with [`JobInput::Interactive`].
    fn next_stdin_chunk(&mut self) -> StdinChunk {
        StdinChunk::default()
    }

    /// Queues the message that asks the job to stop, if its protocol has one: [`Self::next_stdin_chunk`] returns it
    /// then.
    fn queue_interrupt(&mut self) {}

    /// Waits for other work of the listener and does it. May be cancelled while it waits.
    fn run_own_work(&mut self) -> impl Future<Output = ()> + Send {
        future::pending()
    }
}

/// How a pumped job ended.
#[derive(Debug)]
pub struct JobResult {
    pub exit: JobExit,
    pub cleanup: TreeCleanup,
    pub end_cause: EndCause,
}

/// Whether a job ended because of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    ByItself,
    OnCommand,
}

/// Runs a job to its end. Dropping the future kills the job.
pub async fn pump_job(
    job: Job,
    input: JobInput,
    commands: &mut UnboundedReceiver<JobCommand>,
    listener: &mut impl JobListener,
) -> io::Result<JobResult> {
    let Job { stdin, stdout, stderr, control, completion, .. } = job;
    let pipes = JobPipes {
        stdin: StdinWriter::new(stdin, input)?,
        stdout: OutputReader::new(stdout)?,
        stderr: OutputReader::new(stderr)?,
    };
    Ok(pipes.run(&control, completion, commands, listener).await)
}

struct JobPipes {
    stdin: StdinWriter,
    stdout: OutputReader,
    stderr: OutputReader,
}

impl JobPipes {
    async fn run(
        mut self,
        control: &JobControl,
        mut completion: JobCompletion,
        commands: &mut UnboundedReceiver<JobCommand>,
        listener: &mut impl JobListener,
    ) -> JobResult {
        let (mut end_cause, mut graceful_stop) = (EndCause::ByItself, GracefulStop::default());
        let exit = loop {
            self.stdin.queue_from(listener);
            let has_room = listener.has_room() && self.stdin.has_room();
            tokio::select! {
                Some(command) = commands.recv() => match command {
                    JobCommand::Stop { signal, grace } if self.stdin.try_interrupt(listener) => {
                        end_cause = EndCause::OnCommand;
                        graceful_stop.schedule_signal(signal, grace);
                    }
                    command => execute_command(control, command, &mut end_cause),
                },
                () = listener.run_own_work() => {}
                () = self.stdout.read_next(), if has_room => listener.on_stdout(&mut self.stdout.buffer, OutputTiming::BeforeExit),
                () = self.stderr.read_next() => listener.on_stderr(&mut self.stderr.buffer, OutputTiming::BeforeExit),
                () = self.stdin.write_pending() => {}
                () = graceful_stop.wait_until_due() => graceful_stop.send_signal(control),
                exit = completion.wait_for_exit() => break exit,
            }
        };
        self.stdout.drain_available(|piece| listener.on_stdout(piece, OutputTiming::BeforeExit));
        self.stderr.drain_available(|piece| listener.on_stderr(piece, OutputTiming::BeforeExit));
        let cleanup = loop {
            tokio::select! {
                Some(command) = commands.recv() => execute_command(control, command, &mut end_cause),
                () = listener.run_own_work() => {}
                () = self.stdout.read_next() => listener.on_stdout(&mut self.stdout.buffer, OutputTiming::AfterExit),
                () = self.stderr.read_next() => listener.on_stderr(&mut self.stderr.buffer, OutputTiming::AfterExit),
                cleanup = completion.wait_until_gone() => break cleanup,
            }
        };
        self.stdout.drain_available(|piece| listener.on_stdout(piece, OutputTiming::AfterExit));
        self.stderr.drain_available(|piece| listener.on_stderr(piece, OutputTiming::AfterExit));
        JobResult { exit, cleanup, end_cause }
    }
}

fn execute_command(control: &JobControl, command: JobCommand, end_cause: &mut EndCause) {
    if command.ends_job() {
        *end_cause = EndCause::OnCommand;
    }
    match command {
        JobCommand::Stop { signal, grace } => control.stop(signal, grace),
        JobCommand::Kill => control.kill(),
        JobCommand::Pause { delivered } => {
            control.pause();
            // The receiver may be gone already.
            let _ = delivered.send(());
        }
        JobCommand::Resume => control.resume(),
    }
}

/// Reads stdout or stderr of a job.
struct OutputReader {
    /// `None` after end of file.
    pipe: Option<Receiver>,
    /// The bytes of the last read.
    buffer: Vec<u8>,
    read_size: usize,
}

impl OutputReader {
    fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self { pipe: Some(Receiver::from_owned_fd(pipe)?), buffer: Vec::new(), read_size: SMALL_READ_BYTES })
    }

    /// Waits until bytes were read. Never returns after end of file.
    async fn read_next(&mut self) {
        while let Some(pipe) = &self.pipe {
            let ready = pipe.readable().await;
            match ready.and_then(|()| read_into(pipe, &mut self.buffer, self.read_size)) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.read_size = if count == self.read_size { LARGE_READ_BYTES } else { self.read_size };
                    return;
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => self.pipe = None,
            }
        }
        future::pending::<()>().await;
    }

    /// Reads the bytes that are in the pipe now and not more, because a descendant of the program may write forever.
    fn drain_available(&mut self, mut on_piece: impl FnMut(&mut Vec<u8>)) {
        let Some(pipe) = &self.pipe else { return };
        let mut present = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
        while present > 0 {
            self.buffer.resize(usize::try_from(present).unwrap_or(LARGE_READ_BYTES).min(LARGE_READ_BYTES), 0);
            match rustix::io::read(pipe, &mut self.buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    present = present.saturating_sub(count as u64);
                    self.buffer.truncate(count);
                    on_piece(&mut self.buffer);
                }
            }
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Replaces the buffer's content with the bytes of one read.
fn read_into(pipe: &Receiver, buffer: &mut Vec<u8>, size: usize) -> io::Result<usize> {
    buffer.clear();
    buffer.reserve_exact(size);
    pipe.try_read_buf(buffer)
}

/// Writes the stdin of a job. An agent that closes it or never reads it is not an error.
struct StdinWriter {
    pipe: Option<Sender>,
    input: Vec<u8>,
    written_bytes: usize,
    /// Whether more input may follow.
    follow_up: StdinFollowUp,
    /// How many bytes may be pending: the longest chunk so far plus [`MAX_UNREAD_INPUT_BYTES`].
    pending_limit: usize,
}

impl StdinWriter {
    fn new(pipe: Option<OwnedFd>, input: JobInput) -> io::Result<Self> {
        let (input, follow_up) = match input {
            JobInput::Whole(input) => (input, StdinFollowUp::Close),
            JobInput::Interactive => (Vec::new(), StdinFollowUp::KeepOpen),
        };
        let pipe = pipe.map(Sender::from_owned_fd).transpose()?;
        let limit = MAX_UNREAD_INPUT_BYTES + input.len();
        Ok(Self { pipe, input, written_bytes: 0, follow_up, pending_limit: limit })
    }

    /// Queues the listener's next chunk, unless stdin is to be closed. Returns whether bytes were queued.
    fn queue_from(&mut self, listener: &mut impl JobListener) -> bool {
        if self.follow_up == StdinFollowUp::Close {
            return false;
        }
        let StdinChunk { bytes, follow_up } = listener.next_stdin_chunk();
        self.follow_up = follow_up;
        if bytes.is_empty() || self.pipe.is_none() {
            return false;
        }
        self.pending_limit = self.pending_limit.max(MAX_UNREAD_INPUT_BYTES + bytes.len());
        if self.written_bytes == self.input.len() {
            (self.input, self.written_bytes) = (bytes, 0);
        } else {
            self.input.extend(bytes);
        }
        true
    }

    /// Asks the job to stop through its stdin. Returns whether that was possible.
    fn try_interrupt(&mut self, listener: &mut impl JobListener) -> bool {
        listener.queue_interrupt();
        self.queue_from(listener)
    }

    fn has_room(&self) -> bool {
        self.pipe.is_none() || self.input.len() - self.written_bytes <= self.pending_limit
    }

    /// Writes the pending input as the pipe accepts it. Never returns; closes the pipe after the last chunk.
    async fn write_pending(&mut self) {
        while let Some(pipe) = &self.pipe {
            let rest = self.input.get(self.written_bytes..).unwrap_or_default();
            if rest.is_empty() {
                match self.follow_up {
                    StdinFollowUp::Close => self.close(),
                    StdinFollowUp::KeepOpen => {}
                }
                break;
            }
            let ready = pipe.writable().await;
            match ready.and_then(|()| pipe.try_write(rest)) {
                Ok(count) => self.written_bytes += count,
                Err(error) if is_transient(&error) => {}
                // The agent closed its stdin; the unread input is dropped.
                Err(_) => self.close(),
            }
        }
        future::pending::<()>().await;
    }

    fn close(&mut self) {
        self.pipe = None;
        self.input = Vec::new();
        self.written_bytes = 0;
    }
}
