//! Runs a filter of the user in a separate process. It may loop forever, exhaust its memory or overflow its stack
//! without blocking the driver; a filter that breaks is stopped, and the reason is reported.
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use ralph_agents::{FILTER_MEMORY_MB, FILTER_SUBCOMMAND, FilterOutput};
use ralph_process::{Job, JobExit, JobSpec, Keeper, StdinSource};

/// How long a filter may take for one line.
const LINE_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_STDERR_BYTES: u64 = 4_096;

/// A message from a filter.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::run_driver) enum FilterAnswer {
    /// The answers for the next lines.
    Lines(Vec<FilterOutput>),
    /// The filter was stopped for this reason; no further line is answered.
    Broken(String),
}

/// A running filter. Dropping it ends the process.
pub(in crate::run_driver) struct FilterProcess {
    /// `None` when no more lines follow.
    lines: Option<UnboundedSender<Vec<u8>>>,
    answers: UnboundedReceiver<FilterAnswer>,
}

impl FilterProcess {
    /// Starts the filter. If it cannot start, its first answer says so.
    pub(in crate::run_driver) fn start(keeper: Keeper, run_id: &str, expression: &str) -> Self {
        let (lines, requests) = unbounded_channel();
        let (answer, answers) = unbounded_channel();
        let spec = filter_job_spec(run_id, expression);
        tokio::spawn(async move {
            tokio::select! {
                result = run_filter(&keeper, spec, requests, &answer) => {
                    if let Err(reason) = result {
                        // The receiver may have been dropped.
                        let _ = answer.send(FilterAnswer::Broken(reason));
                    }
                }
                // The receiver was dropped: dropping the job kills it.
                () = answer.closed() => {}
            }
        });
        Self { lines: Some(lines), answers }
    }

    /// Sends whole lines to the filter.
    pub(in crate::run_driver) fn send_lines(&self, lines: Vec<u8>) {
        if let Some(sender) = self.lines.as_ref().filter(|_| !lines.is_empty()) {
            // A filter that broke has reported that in an answer.
            let _ = sender.send(lines);
        }
    }

    /// Closes the input: no more lines follow.
    pub(in crate::run_driver) fn close_input(&mut self) {
        self.lines = None;
    }

    /// Waits for the next answer; `None` when there will be none.
    pub(in crate::run_driver) async fn next_answer(&mut self) -> Option<FilterAnswer> {
        self.answers.recv().await
    }
}

/// Returns how the filter is started: without environment, in the root folder, so that it sees only its input.
fn filter_job_spec(run_id: &str, expression: &str) -> io::Result<JobSpec> {
    Ok(JobSpec {
        program: own_binary()?,
        args: vec![FILTER_SUBCOMMAND.into(), "--".into(), expression.into()],
        env: Vec::new(),
        cwd: "/".into(),
        run_id: run_id.to_owned(),
        stdin: StdinSource::Pipe,
        linger: Duration::ZERO,
        memory_limit: None,
    })
}

/// Returns the running executable, even if the file at its path was replaced.
fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

async fn run_filter(
    keeper: &Keeper,
    spec: io::Result<JobSpec>,
    requests: UnboundedReceiver<Vec<u8>>,
    answers: &UnboundedSender<FilterAnswer>,
) -> Result<(), String> {
    let not_started = |error: &dyn std::error::Error| format!("cannot start it: {error}");
    let spec = spec.map_err(|error| not_started(&error))?;
    let mut job = keeper.spawn(spec).await.map_err(|error| not_started(&error))?;
    let pipes = FilterPipes::open(&mut job, requests).map_err(|error| not_started(&error))?;
    match pipes.exchange_lines(answers).await {
        FilterEnd::AllAnswered => {
            job.completion.wait_until_gone().await;
            Ok(())
        }
        FilterEnd::TimedOut => {
            job.control.kill();
            job.completion.wait_until_gone().await;
            Err(format!("it took longer than {} s for one line", LINE_TIMEOUT.as_secs()))
        }
        FilterEnd::Died => Err(describe_exit(job).await),
    }
}

/// How a filter ended.
enum FilterEnd {
    AllAnswered,
    TimedOut,
    Died,
}

struct FilterPipes {
    input: Option<Sender>,
    output: Receiver,
    /// Output that is not a whole answer yet.
    partial_output: Vec<u8>,
    requests: UnboundedReceiver<Vec<u8>>,
    pending_input: Vec<u8>,
    /// How much of `pending_input` has been written.
    written_bytes: usize,
    unanswered_lines: usize,
    /// Since when the next answer is awaited.
    waiting_since: Instant,
}

impl FilterPipes {
    fn open(job: &mut Job, requests: UnboundedReceiver<Vec<u8>>) -> io::Result<Self> {
        Ok(Self {
            input: job.stdin.take().map(Sender::from_owned_fd).transpose()?,
            output: Receiver::from_owned_fd(job.stdout.try_clone()?)?,
            partial_output: Vec::new(),
            requests,
            pending_input: Vec::new(),
            written_bytes: 0,
            unanswered_lines: 0,
            waiting_since: Instant::now(),
        })
    }

    /// Writes lines and reads answers until the input is closed and answered, or the filter breaks.
    async fn exchange_lines(mut self, answer: &UnboundedSender<FilterAnswer>) -> FilterEnd {
        loop {
            let rest = self.pending_input.get(self.written_bytes..).unwrap_or_default();
            tokio::select! {
                // An answer that has arrived counts, even if the timeout has passed too.
                biased;
                count = self.output.read_buf(&mut self.partial_output) => match count {
                    Ok(0) | Err(_) if self.input.is_none() && self.unanswered_lines == 0 => return FilterEnd::AllAnswered,
                    Ok(0) | Err(_) => return FilterEnd::Died,
                    Ok(_) => match self.take_whole_answers() {
                        Some(outputs) if outputs.is_empty() => {}
                        Some(outputs) => drop(answer.send(FilterAnswer::Lines(outputs))),
                        None => return FilterEnd::Died,
                    },
                },
                () = tokio::time::sleep_until(self.waiting_since + LINE_TIMEOUT), if self.unanswered_lines > 0 => return FilterEnd::TimedOut,
                written = write_lines(self.input.as_mut(), rest), if !rest.is_empty() => match written {
                    Ok(count) => self.written_bytes += count,
                    // The filter has exited; the end of its output is handled above.
                    Err(_) => self.stop_writing(),
                },
                lines = self.requests.recv(), if rest.is_empty() && self.input.is_some() => self.queue_lines(lines),
            }
        }
    }

    /// Removes the whole answers from the output that was read; `None` if one of them is malformed.
    fn take_whole_answers(&mut self) -> Option<Vec<FilterOutput>> {
        let Some(end) = memchr::memrchr(b'\n', &self.partial_output) else { return Some(Vec::new()) };
        let rest = self.partial_output.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial_output, rest);
        let lines = whole.get(..end).unwrap_or_default().split(|byte| *byte == b'\n');
        let answers: Option<Vec<FilterOutput>> = lines.map(FilterOutput::decode_line).collect();
        self.unanswered_lines = self.unanswered_lines.saturating_sub(answers.as_ref().map_or(0, Vec::len));
        self.waiting_since = Instant::now();
        answers
    }

    fn queue_lines(&mut self, lines: Option<Vec<u8>>) {
        let Some(lines) = lines else { return self.stop_writing() };
        if self.unanswered_lines == 0 {
            self.waiting_since = Instant::now();
        }
        self.unanswered_lines += memchr::memchr_iter(b'\n', &lines).count();
        (self.pending_input, self.written_bytes) = (lines, 0);
    }

    fn stop_writing(&mut self) {
        self.input = None;
        self.pending_input = Vec::new();
    }
}

async fn write_lines(input: Option<&mut Sender>, lines: &[u8]) -> io::Result<usize> {
    match input {
        Some(input) => input.write(lines).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Returns why the filter's process exited.
async fn describe_exit(mut job: Job) -> String {
    let exit = job.completion.wait_for_exit().await;
    job.completion.wait_until_gone().await;
    let stderr = read_stderr(job.stderr).await;
    if stderr.contains("memory allocation") {
        return format!("it needs more than {FILTER_MEMORY_MB} MB of memory");
    }
    if stderr.contains("overflowed its stack") {
        return "its recursion is too deep".to_owned();
    }
    match exit {
        JobExit::Code(code) => format!("its process exited with code {code}"),
        JobExit::Signal(signal) => format!("its process was killed by signal {signal}"),
        JobExit::SupervisorDied => "its process was killed".to_owned(),
        JobExit::OverMemory { .. } => format!("it needs more than {FILTER_MEMORY_MB} MB of memory"),
    }
}

async fn read_stderr(stderr: OwnedFd) -> String {
    let mut bytes = Vec::new();
    if let Ok(pipe) = Receiver::from_owned_fd(stderr) {
        // After a read error the message stays incomplete.
        let _ = pipe.take(MAX_STDERR_BYTES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
