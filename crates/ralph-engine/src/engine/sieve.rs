//! A filter of the user's in a process of its own. It may run for ever, take all memory or overflow its stack:
//! whatever it does, the driver stays free, and a filter that breaks is given up with its reason.
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use ralph_agents::{FILTER_COMMAND, FILTER_MEMORY_MB, Yield};
use ralph_process::{Exit, Job, JobSpec, Keeper, Stdin};

/// How long a filter may think about one line.
const ONE_LINE: Duration = Duration::from_secs(5);

/// What the filter's process says when it dies is short.
const LAST_WORDS: u64 = 4_096;

/// What comes from a filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The answers for the next lines.
    Lines(Vec<Yield>),
    /// The filter is given up; no further line is answered.
    Broken(String),
}

/// Our side of a filter. Dropping it ends the filter.
pub(super) struct Sieve {
    /// `None` when no more lines follow.
    lines: Option<UnboundedSender<Vec<u8>>>,
    answers: UnboundedReceiver<Answer>,
}

impl Sieve {
    /// Starts the filter. That it could not start is its first answer.
    pub(super) fn start(keeper: Keeper, run_id: &str, expression: &str) -> Self {
        let (lines, asked) = unbounded_channel();
        let (answer, answers) = unbounded_channel();
        let spec = job(run_id, expression);
        tokio::spawn(async move {
            tokio::select! {
                why = work(&keeper, spec, asked, &answer) => {
                    if let Err(why) = why {
                        // Nobody listens any more: fine.
                        let _ = answer.send(Answer::Broken(why));
                    }
                }
                // Nobody waits for answers: dropping the job kills it.
                () = answer.closed() => {}
            }
        });
        Self { lines: Some(lines), answers }
    }

    /// Asks for the answers to these whole lines.
    pub(super) fn ask(&self, lines: Vec<u8>) {
        if let Some(asked) = self.lines.as_ref().filter(|_| !lines.is_empty()) {
            // A filter that broke has said so.
            let _ = asked.send(lines);
        }
    }

    /// Says that no more lines follow.
    pub(super) fn close(&mut self) {
        self.lines = None;
    }

    /// Waits for the next answer; `None` when there will be none.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        self.answers.recv().await
    }
}

/// The filter sees its lines and nothing else: no environment, no folder of the user's.
fn job(run_id: &str, expression: &str) -> io::Result<JobSpec> {
    Ok(JobSpec {
        program: own_binary()?,
        args: vec![FILTER_COMMAND.into(), "--".into(), expression.into()],
        env: Vec::new(),
        cwd: "/".into(),
        run_id: run_id.to_owned(),
        stdin: Stdin::Pipe,
        linger: Duration::ZERO,
        memory: None,
    })
}

/// The file that runs, even where another one has its name by now.
fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

async fn work(
    keeper: &Keeper,
    spec: io::Result<JobSpec>,
    asked: UnboundedReceiver<Vec<u8>>,
    answer: &UnboundedSender<Answer>,
) -> Result<(), String> {
    let not_started = |error: &dyn std::error::Error| format!("it cannot be started: {error}");
    let spec = spec.map_err(|error| not_started(&error))?;
    let mut job = keeper.spawn(spec).await.map_err(|error| not_started(&error))?;
    let pipes = Pipes::open(&mut job, asked).map_err(|error| not_started(&error))?;
    match pipes.run(answer).await {
        End::AllAnswered => {
            job.ending.gone().await;
            Ok(())
        }
        End::Overdue => {
            job.control.kill();
            job.ending.gone().await;
            Err(format!("it took longer than {} s for one line", ONE_LINE.as_secs()))
        }
        End::Died => Err(died(job).await),
    }
}

/// How the work of a filter ended.
enum End {
    AllAnswered,
    Overdue,
    Died,
}

struct Pipes {
    inlet: Option<Sender>,
    outlet: Receiver,
    /// What was read and is no whole answer yet.
    read: Vec<u8>,
    asked: UnboundedReceiver<Vec<u8>>,
    /// What is being written, and how much of it has been.
    lines: Vec<u8>,
    written: usize,
    /// Lines without an answer, and since when the next one is waited for.
    waiting: usize,
    since: Instant,
}

impl Pipes {
    fn open(job: &mut Job, asked: UnboundedReceiver<Vec<u8>>) -> io::Result<Self> {
        let inlet = job.stdin.take().map(Sender::from_owned_fd).transpose()?;
        let outlet = Receiver::from_owned_fd(job.stdout.try_clone()?)?;
        let (read, lines, since) = (Vec::new(), Vec::new(), Instant::now());
        Ok(Self { inlet, outlet, read, asked, lines, written: 0, waiting: 0, since })
    }

    /// Moves lines in and answers out, until there are no more or the filter breaks.
    async fn run(mut self, answer: &UnboundedSender<Answer>) -> End {
        loop {
            let rest = self.lines.get(self.written..).unwrap_or_default();
            tokio::select! {
                // An answer that is there counts, however late we look.
                biased;
                count = self.outlet.read_buf(&mut self.read) => match count {
                    Ok(0) | Err(_) if self.inlet.is_none() && self.waiting == 0 => return End::AllAnswered,
                    Ok(0) | Err(_) => return End::Died,
                    Ok(_) => match self.whole_answers() {
                        Some(said) if said.is_empty() => {}
                        Some(said) => drop(answer.send(Answer::Lines(said))),
                        None => return End::Died,
                    },
                },
                () = tokio::time::sleep_until(self.since + ONE_LINE), if self.waiting > 0 => return End::Overdue,
                written = pour(self.inlet.as_mut(), rest), if !rest.is_empty() => match written {
                    Ok(count) => self.written += count,
                    // It has ended; the end of its output tells why.
                    Err(_) => self.stop_writing(),
                },
                asked = self.asked.recv(), if rest.is_empty() && self.inlet.is_some() => self.take(asked),
            }
        }
    }

    /// Takes the whole answers out of what was read; `None` where one is no answer.
    fn whole_answers(&mut self) -> Option<Vec<Yield>> {
        let Some(end) = memchr::memrchr(b'\n', &self.read) else { return Some(Vec::new()) };
        let rest = self.read.split_off(end + 1);
        let whole = std::mem::replace(&mut self.read, rest);
        let lines = whole.get(..end).unwrap_or_default().split(|byte| *byte == b'\n');
        let said: Option<Vec<Yield>> = lines.map(Yield::decode).collect();
        self.waiting = self.waiting.saturating_sub(said.as_ref().map_or(0, Vec::len));
        self.since = Instant::now();
        said
    }

    fn take(&mut self, asked: Option<Vec<u8>>) {
        let Some(lines) = asked else { return self.stop_writing() };
        if self.waiting == 0 {
            self.since = Instant::now();
        }
        self.waiting += memchr::memchr_iter(b'\n', &lines).count();
        (self.lines, self.written) = (lines, 0);
    }

    fn stop_writing(&mut self) {
        self.inlet = None;
        self.lines = Vec::new();
    }
}

async fn pour(inlet: Option<&mut Sender>, lines: &[u8]) -> io::Result<usize> {
    match inlet {
        Some(inlet) => inlet.write(lines).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Says why the filter's process ended.
async fn died(mut job: Job) -> String {
    let exit = job.ending.exited().await;
    job.ending.gone().await;
    let said = last_words(job.stderr).await;
    if said.contains("memory allocation") {
        return format!("it needs more than {FILTER_MEMORY_MB} MB of memory");
    }
    if said.contains("overflowed its stack") {
        return "it calls itself too deeply".to_owned();
    }
    match exit {
        Exit::Code(code) => format!("its process ended with exit code {code}"),
        Exit::Signal(signal) => format!("its process was ended by signal {signal}"),
        Exit::SupervisorDied => "its process was killed".to_owned(),
        Exit::OverMemory { .. } => format!("it needs more than {FILTER_MEMORY_MB} MB of memory"),
    }
}

async fn last_words(stderr: OwnedFd) -> String {
    let mut said = Vec::new();
    if let Ok(pipe) = Receiver::from_owned_fd(stderr) {
        // What cannot be read is not told.
        let _ = pipe.take(LAST_WORDS).read_to_end(&mut said).await;
    }
    String::from_utf8_lossy(&said).into_owned()
}
