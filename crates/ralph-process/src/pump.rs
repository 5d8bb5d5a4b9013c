//! Moves a job's bytes: its input in, output and errors out, all at the same time, until the whole tree is
//! gone. It keeps nothing and understands nothing; a listener does.
use std::future;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::courtesy::Courtesy;
use super::{Control, Ending, Exit, Gone, Job, Polite};

/// Reads of this size are the fastest on pipes; a job that prints little never asks for so much.
const LARGE_READ: usize = 512 * 1024;
const SMALL_READ: usize = 16 * 1024;

/// How many answers may wait for a job that does not read them before nothing more is heard from it.
const UNREAD: usize = 1 << 20;

/// What a job finds on its standard input.
#[derive(Debug)]
pub enum Input {
    /// This, and then the end.
    Whole(Vec<u8>),
    /// What the listener says, for as long as it says: see [`Listener::speech`].
    Talk,
}

/// What a listener says to a job.
#[derive(Debug, Default)]
pub struct Speech {
    pub bytes: Vec<u8>,
    pub then: Then,
}

/// Whether a listener has more to say later.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    #[default]
    GoOn,
    End,
}

/// What a job can be told while it runs.
#[derive(Debug)]
pub enum Order {
    Stop {
        signal: Polite,
        grace: Duration,
    },
    Kill,
    /// Stops the job's time; `passed_on` tells when the order has left.
    Pause {
        passed_on: oneshot::Sender<()>,
    },
    Resume,
}

impl Order {
    #[must_use]
    pub fn ends_the_job(&self) -> bool {
        match self {
            Self::Stop { .. } | Self::Kill => true,
            Self::Pause { .. } | Self::Resume => false,
        }
    }
}

/// Whether bytes came from the program itself or only after its end, from something that it left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    OnTime,
    Late,
}

/// Hears what a job prints, piece by piece. It may keep a piece's buffer and leave another one for it.
pub trait Listener {
    fn stdout(&mut self, piece: &mut Vec<u8>, when: When);
    fn stderr(&mut self, piece: &mut Vec<u8>, when: When);

    /// Tells whether more output can be taken now. While it cannot, the job waits.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes what is to be said to a job that is talked to.
    fn speech(&mut self) -> Speech {
        Speech::default()
    }

    /// Finds the words that ask the job to stop, where it can be asked: [`Listener::speech`] has them then.
    fn interrupt(&mut self) {}

    /// Waits for work of its own and does it. May be cancelled while it waits.
    fn attend(&mut self) -> impl Future<Output = ()> + Send {
        future::pending()
    }
}

/// How a pumped job ended.
#[derive(Debug)]
pub struct Pumped {
    pub exit: Exit,
    pub gone: Gone,
    pub end: End,
}

/// Whether a job was told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    ByItself,
    OnOrder,
}

/// Runs a job to its end. Dropping the future kills the job.
pub async fn pump(
    job: Job,
    input: Input,
    orders: &mut UnboundedReceiver<Order>,
    listener: &mut impl Listener,
) -> io::Result<Pumped> {
    let Job { stdin, stdout, stderr, control, ending, .. } = job;
    let pipes =
        Pipes { inlet: Inlet::new(stdin, input)?, out: Outlet::new(stdout)?, err: Outlet::new(stderr)? };
    Ok(pipes.run(&control, ending, orders, listener).await)
}

struct Pipes {
    inlet: Inlet,
    out: Outlet,
    err: Outlet,
}

impl Pipes {
    async fn run(
        mut self,
        control: &Control,
        mut ending: Ending,
        orders: &mut UnboundedReceiver<Order>,
        listener: &mut impl Listener,
    ) -> Pumped {
        let (mut end, mut courtesy) = (End::ByItself, Courtesy::default());
        let exit = loop {
            self.inlet.take_from(listener);
            let has_room = listener.has_room() && self.inlet.has_room();
            tokio::select! {
                Some(order) = orders.recv() => match order {
                    Order::Stop { signal, grace } if self.inlet.is_told_to_stop(listener) => {
                        end = End::OnOrder;
                        courtesy.extend(signal, grace);
                    }
                    order => obey(control, order, &mut end),
                },
                () = listener.attend() => {}
                () = self.out.fill(), if has_room => listener.stdout(&mut self.out.buffer, When::OnTime),
                () = self.err.fill() => listener.stderr(&mut self.err.buffer, When::OnTime),
                () = self.inlet.pour() => {}
                () = courtesy.over() => courtesy.insist(control),
                exit = ending.exited() => break exit,
            }
        };
        self.out.drain_present(|piece| listener.stdout(piece, When::OnTime));
        self.err.drain_present(|piece| listener.stderr(piece, When::OnTime));
        let gone = loop {
            tokio::select! {
                Some(order) = orders.recv() => obey(control, order, &mut end),
                () = listener.attend() => {}
                () = self.out.fill() => listener.stdout(&mut self.out.buffer, When::Late),
                () = self.err.fill() => listener.stderr(&mut self.err.buffer, When::Late),
                gone = ending.gone() => break gone,
            }
        };
        self.out.drain_present(|piece| listener.stdout(piece, When::Late));
        self.err.drain_present(|piece| listener.stderr(piece, When::Late));
        Pumped { exit, gone, end }
    }
}

fn obey(control: &Control, order: Order, end: &mut End) {
    if order.ends_the_job() {
        *end = End::OnOrder;
    }
    match order {
        Order::Stop { signal, grace } => control.stop(signal, grace),
        Order::Kill => control.kill(),
        Order::Pause { passed_on } => {
            control.pause();
            // Nobody waits for it any more: fine.
            let _ = passed_on.send(());
        }
        Order::Resume => control.resume(),
    }
}

/// One of the two pipes that we read. `None` after its end.
struct Outlet {
    pipe: Option<Receiver>,
    /// What the last read gave.
    buffer: Vec<u8>,
    /// How much to ask for.
    size: usize,
}

impl Outlet {
    fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self { pipe: Some(Receiver::from_owned_fd(pipe)?), buffer: Vec::new(), size: SMALL_READ })
    }

    /// Waits until something was read. Never returns after the end of the pipe.
    async fn fill(&mut self) {
        while let Some(pipe) = &self.pipe {
            let ready = pipe.readable().await;
            match ready.and_then(|()| read_into(pipe, &mut self.buffer, self.size)) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.size = if count == self.size { LARGE_READ } else { self.size };
                    return;
                }
                Err(error) if is_passing(&error) => {}
                Err(_) => self.pipe = None,
            }
        }
        future::pending::<()>().await;
    }

    /// Reads what stands in the pipe at this moment and not a byte more: something that the program left
    /// behind may go on writing for ever.
    fn drain_present(&mut self, mut heard: impl FnMut(&mut Vec<u8>)) {
        let Some(pipe) = &self.pipe else { return };
        let mut present = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
        while present > 0 {
            self.buffer.resize(usize::try_from(present).unwrap_or(LARGE_READ).min(LARGE_READ), 0);
            match rustix::io::read(pipe, &mut self.buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    present = present.saturating_sub(count as u64);
                    self.buffer.truncate(count);
                    heard(&mut self.buffer);
                }
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Replaces the buffer's content by what one read gives.
fn read_into(pipe: &Receiver, buffer: &mut Vec<u8>, size: usize) -> io::Result<usize> {
    buffer.clear();
    buffer.reserve_exact(size);
    pipe.try_read_buf(buffer)
}

/// The pipe that we write. An agent that closes or never reads it is no error.
struct Inlet {
    pipe: Option<Sender>,
    input: Vec<u8>,
    written: usize,
    /// Whether more input may follow.
    then: Then,
    /// How much of it may wait: the longest piece so far, however slowly it is read, and a few answers.
    limit: usize,
}

impl Inlet {
    fn new(pipe: Option<OwnedFd>, input: Input) -> io::Result<Self> {
        let (input, then) = match input {
            Input::Whole(input) => (input, Then::End),
            Input::Talk => (Vec::new(), Then::GoOn),
        };
        let pipe = pipe.map(Sender::from_owned_fd).transpose()?;
        let limit = UNREAD + input.len();
        Ok(Self { pipe, input, written: 0, then, limit })
    }

    /// Takes what the listener has to say, where it talks with the job; tells whether that was anything.
    fn take_from(&mut self, listener: &mut impl Listener) -> bool {
        if self.then == Then::End {
            return false;
        }
        let Speech { bytes, then } = listener.speech();
        self.then = then;
        if bytes.is_empty() || self.pipe.is_none() {
            return false;
        }
        self.limit = self.limit.max(UNREAD + bytes.len());
        if self.written == self.input.len() {
            (self.input, self.written) = (bytes, 0);
        } else {
            self.input.extend(bytes);
        }
        true
    }

    /// Asks the job in its own language to stop; tells whether that could be said.
    fn is_told_to_stop(&mut self, listener: &mut impl Listener) -> bool {
        listener.interrupt();
        self.take_from(listener)
    }

    fn has_room(&self) -> bool {
        self.pipe.is_none() || self.input.len() - self.written <= self.limit
    }

    /// Waits for room and writes. Never returns once all is written: where no more follows, the pipe is closed then.
    async fn pour(&mut self) {
        while let Some(pipe) = &self.pipe {
            let rest = self.input.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                match self.then {
                    Then::End => self.close(),
                    Then::GoOn => {}
                }
                break;
            }
            let ready = pipe.writable().await;
            match ready.and_then(|()| pipe.try_write(rest)) {
                Ok(count) => self.written += count,
                Err(error) if is_passing(&error) => {}
                // The agent closed its input; what it did not read is its own affair.
                Err(_) => self.close(),
            }
        }
        future::pending::<()>().await;
    }

    fn close(&mut self) {
        self.pipe = None;
        self.input = Vec::new();
        self.written = 0;
    }
}
