//! Moves a job's bytes: its input in, output and errors out, all at the same time, until the whole tree is
//! gone. It keeps nothing and understands nothing; a listener does.
use std::future;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::graceful_stop::GracefulStop;
use super::{Job, JobCompletion, JobControl, JobExit, TerminationSignal, TreeCleanup};

/// Reads of this size are the fastest on pipes; a job that prints little never asks for so much.
const LARGE_READ_BYTES: usize = 512 * 1024;
const SMALL_READ_BYTES: usize = 16 * 1024;

/// How many answers may wait for a job that does not read them before nothing more is heard from it.
const MAX_UNREAD_INPUT_BYTES: usize = 1 << 20;

/// What a job finds on its standard input.
#[derive(Debug)]
pub enum JobInput {
    /// This, and then the end.
    Whole(Vec<u8>),
    /// What the listener says, for as long as it says: see [`Listener::speech`].
    Interactive,
}

/// What a listener says to a job.
#[derive(Debug, Default)]
pub struct StdinChunk {
    pub bytes: Vec<u8>,
    pub follow_up: StdinFollowUp,
}

/// Whether a listener has more to say later.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum StdinFollowUp {
    #[default]
    KeepOpen,
    Close,
}

/// What a job can be told while it runs.
#[derive(Debug)]
pub enum JobCommand {
    Stop {
        signal: TerminationSignal,
        grace: Duration,
    },
    Kill,
    /// Stops the job's time; `passed_on` tells when the order has left.
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

/// Whether bytes came from the program itself or only after its end, from something that it left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputTiming {
    BeforeExit,
    AfterExit,
}

/// Hears what a job prints, piece by piece. It may keep a piece's buffer and leave another one for it.
pub trait JobListener {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, timing: OutputTiming);
    fn on_stderr(&mut self, piece: &mut Vec<u8>, timing: OutputTiming);

    /// Tells whether more output can be taken now. While it cannot, the job waits.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes what is to be said to a job that is talked to.
    fn next_stdin_chunk(&mut self) -> StdinChunk {
        StdinChunk::default()
    }

    /// Finds the words that ask the job to stop, where it can be asked: [`Listener::speech`] has them then.
    fn queue_interrupt(&mut self) {}

    /// Waits for work of its own and does it. May be cancelled while it waits.
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

/// Whether a job was told to end.
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
    let Job { stdin, stdout, stderr, control, completion: ending, .. } = job;
    let pipes = JobPipes {
        stdin: StdinWriter::new(stdin, input)?,
        stdout: OutputReader::new(stdout)?,
        stderr: OutputReader::new(stderr)?,
    };
    Ok(pipes.run(&control, ending, commands, listener).await)
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
        mut ending: JobCompletion,
        commands: &mut UnboundedReceiver<JobCommand>,
        listener: &mut impl JobListener,
    ) -> JobResult {
        let (mut end_cause, mut graceful_stop) = (EndCause::ByItself, GracefulStop::default());
        let exit = loop {
            self.stdin.queue_from(listener);
            let has_room = listener.has_room() && self.stdin.has_room();
            tokio::select! {
                Some(order) = commands.recv() => match order {
                    JobCommand::Stop { signal, grace } if self.stdin.try_interrupt(listener) => {
                        end_cause = EndCause::OnCommand;
                        graceful_stop.schedule_signal(signal, grace);
                    }
                    order => execute_command(control, order, &mut end_cause),
                },
                () = listener.run_own_work() => {}
                () = self.stdout.read_next(), if has_room => listener.on_stdout(&mut self.stdout.buffer, OutputTiming::BeforeExit),
                () = self.stderr.read_next() => listener.on_stderr(&mut self.stderr.buffer, OutputTiming::BeforeExit),
                () = self.stdin.write_pending() => {}
                () = graceful_stop.wait_until_due() => graceful_stop.send_signal(control),
                exit = ending.wait_for_exit() => break exit,
            }
        };
        self.stdout.drain_available(|piece| listener.on_stdout(piece, OutputTiming::BeforeExit));
        self.stderr.drain_available(|piece| listener.on_stderr(piece, OutputTiming::BeforeExit));
        let cleanup = loop {
            tokio::select! {
                Some(order) = commands.recv() => execute_command(control, order, &mut end_cause),
                () = listener.run_own_work() => {}
                () = self.stdout.read_next() => listener.on_stdout(&mut self.stdout.buffer, OutputTiming::AfterExit),
                () = self.stderr.read_next() => listener.on_stderr(&mut self.stderr.buffer, OutputTiming::AfterExit),
                gone = ending.wait_until_gone() => break gone,
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
        JobCommand::Pause { delivered: passed_on } => {
            control.pause();
            // Nobody waits for it any more: fine.
            let _ = passed_on.send(());
        }
        JobCommand::Resume => control.resume(),
    }
}

/// One of the two pipes that we read. `None` after its end.
struct OutputReader {
    pipe: Option<Receiver>,
    /// What the last read gave.
    buffer: Vec<u8>,
    /// How much to ask for.
    read_size: usize,
}

impl OutputReader {
    fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self { pipe: Some(Receiver::from_owned_fd(pipe)?), buffer: Vec::new(), read_size: SMALL_READ_BYTES })
    }

    /// Waits until something was read. Never returns after the end of the pipe.
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

    /// Reads what stands in the pipe at this moment and not a byte more: something that the program left
    /// behind may go on writing for ever.
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

/// Replaces the buffer's content by what one read gives.
fn read_into(pipe: &Receiver, buffer: &mut Vec<u8>, size: usize) -> io::Result<usize> {
    buffer.clear();
    buffer.reserve_exact(size);
    pipe.try_read_buf(buffer)
}

/// The pipe that we write. An agent that closes or never reads it is no error.
struct StdinWriter {
    pipe: Option<Sender>,
    input: Vec<u8>,
    written_bytes: usize,
    /// Whether more input may follow.
    follow_up: StdinFollowUp,
    /// How much of it may wait: the longest piece so far, however slowly it is read, and a few answers.
    pending_limit: usize,
}

impl StdinWriter {
    fn new(pipe: Option<OwnedFd>, input: JobInput) -> io::Result<Self> {
        let (input, then) = match input {
            JobInput::Whole(input) => (input, StdinFollowUp::Close),
            JobInput::Interactive => (Vec::new(), StdinFollowUp::KeepOpen),
        };
        let pipe = pipe.map(Sender::from_owned_fd).transpose()?;
        let limit = MAX_UNREAD_INPUT_BYTES + input.len();
        Ok(Self { pipe, input, written_bytes: 0, follow_up: then, pending_limit: limit })
    }

    /// Takes what the listener has to say, where it talks with the job; tells whether that was anything.
    fn queue_from(&mut self, listener: &mut impl JobListener) -> bool {
        if self.follow_up == StdinFollowUp::Close {
            return false;
        }
        let StdinChunk { bytes, follow_up: then } = listener.next_stdin_chunk();
        self.follow_up = then;
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

    /// Asks the job in its own language to stop; tells whether that could be said.
    fn try_interrupt(&mut self, listener: &mut impl JobListener) -> bool {
        listener.queue_interrupt();
        self.queue_from(listener)
    }

    fn has_room(&self) -> bool {
        self.pipe.is_none() || self.input.len() - self.written_bytes <= self.pending_limit
    }

    /// Waits for room and writes. Never returns once all is written: where no more follows, the pipe is closed then.
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
                // The agent closed its input; what it did not read is its own affair.
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
