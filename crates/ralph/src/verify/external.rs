//! External checks: a command in the work tree, its whole output in a log, its end in the evidence.
use std::time::{Duration, Instant};

use ralph_core::criterion::ExternalCheck;
use ralph_core::evidence::{CheckEnding, CheckEvidence, Kind, Seen, judge_check};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::Verifier;
use crate::process::{Exit, Input, Listener, Order, RawLog, Tail, When, pump};
use crate::redact;
use crate::sanitize::sanitize;

/// How much of a check's output goes into the evidence.
const TAIL_BYTES: usize = 8_192;

/// Runs a check's command once, its output in the log of that name.
pub(super) async fn check(
    verifier: &Verifier,
    check: &ExternalCheck,
    log: String,
    orders: &mut UnboundedReceiver<Order>,
) -> CheckEvidence {
    let began = Instant::now();
    let mut capture = Capture::new(check, RawLog::new(verifier.folder.join(&log), &verifier.logs));
    let (ending, leftovers) = run(verifier, check, orders, &mut capture).await;
    // A log that is not whole does not change what the check says.
    let _ = capture.log.finish();
    let (verdict, reason) = judge_check(check, &ending, capture.seen());
    CheckEvidence {
        exit_code: match ending {
            CheckEnding::Exited { code } => Some(code),
            CheckEnding::Signalled { .. } | CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => None,
        },
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tail: harmless(&capture.tail.finish()),
        log,
        leftovers,
        ..CheckEvidence::plain(Kind::External, check.command.to_string(), verdict, harmless(&reason))
    }
}

/// Terminal codes may have stood inside a secret, so they go first.
fn harmless(text: &str) -> String {
    redact::text(&sanitize(text)).into_owned()
}

async fn run(
    verifier: &Verifier,
    check: &ExternalCheck,
    orders: &mut UnboundedReceiver<Order>,
    capture: &mut Capture,
) -> (CheckEnding, u32) {
    let not_started = |why: String| (CheckEnding::NotStarted { why }, 0);
    let job = match verifier.ground.job(check) {
        Ok(job) => job,
        Err(error) => return not_started(error.to_string()),
    };
    let job = match verifier.keeper.spawn(job).await {
        Ok(job) => job,
        Err(error) => return not_started(error.to_string()),
    };
    let (inner, mut received) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump(job, Input::Whole(Vec::new()), &mut received, capture));
    let mut time = TimeLeft::new(Duration::from_millis(check.timeout_ms));
    let mut timed_out = false;
    let pumped = loop {
        tokio::select! {
            // On waking from Ctrl-Z an order and the end of the time may both be there: the order comes first.
            biased;
            pumped = &mut pumping => break pumped,
            Some(order) = orders.recv() => {
                time.heed(&order);
                drop(inner.send(order));
            }
            () = time.is_up(), if !timed_out => {
                timed_out = true;
                let _ = inner.send(Order::Kill);
            }
        }
    };
    match pumped {
        Err(error) => not_started(error.to_string()),
        Ok(pumped) if timed_out => (CheckEnding::TimedOut, pumped.gone.killed),
        Ok(pumped) => (ending(pumped.exit), pumped.gone.killed),
    }
}

/// How long a check may still take. While it stands paused, its time stands still.
struct TimeLeft {
    until: tokio::time::Instant,
    paused: Option<tokio::time::Instant>,
}

impl TimeLeft {
    fn new(time: Duration) -> Self {
        Self { until: tokio::time::Instant::now() + time, paused: None }
    }

    fn heed(&mut self, order: &Order) {
        match order {
            Order::Pause { .. } => self.paused = Some(tokio::time::Instant::now()),
            Order::Resume => {
                self.until += self.paused.take().map(|since| since.elapsed()).unwrap_or_default();
            }
            Order::Stop { .. } | Order::Kill => {}
        }
    }

    async fn is_up(&self) {
        match self.paused {
            Some(_) => std::future::pending().await,
            None => tokio::time::sleep_until(self.until).await,
        }
    }
}

fn ending(exit: Exit) -> CheckEnding {
    match exit {
        Exit::Code(code) => CheckEnding::Exited { code },
        Exit::Signal(signal) => CheckEnding::Signalled { signal },
        Exit::SupervisorDied => CheckEnding::NotStarted { why: "its supervisor was killed".to_owned() },
        // No check has a ceiling today; one that has is stopped by us, which says nothing about the work.
        Exit::OverMemory { .. } => CheckEnding::NotStarted { why: "it used too much memory".to_owned() },
    }
}

/// Keeps the end of the output and looks for the texts that the check names, in all of it.
struct Capture {
    log: RawLog,
    tail: Tail,
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
            wanted: Search::new(check.output_contains.as_deref()),
            forbidden: Search::new(check.output_not_contains.as_deref()),
        }
    }

    fn seen(&self) -> Seen {
        Seen { wanted: self.wanted.found, forbidden: self.forbidden.found }
    }

    fn hear(&mut self, piece: &mut Vec<u8>) {
        self.tail.push(piece);
        self.wanted.push(piece);
        self.forbidden.push(piece);
        self.log.write(piece);
    }
}

impl Listener for Capture {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.hear(piece);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.hear(piece);
    }
}

/// Looks for a text across the borders of pieces.
struct Search {
    needle: Option<memchr::memmem::Finder<'static>>,
    carried: Vec<u8>,
    found: bool,
}

impl Search {
    fn new(text: Option<&str>) -> Self {
        let needle = text.map(|text| memchr::memmem::Finder::new(text.as_bytes()).into_owned());
        Self { needle, carried: Vec::new(), found: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        let Some(needle) = self.needle.as_ref().filter(|_| !self.found) else { return };
        let keep = needle.needle().len().saturating_sub(1);
        self.carried.extend_from_slice(bytes);
        self.found = needle.find(&self.carried).is_some();
        self.carried.drain(..self.carried.len().saturating_sub(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 18
    // spec: V2
    #[tokio::test]
    async fn the_time_of_a_paused_check_stands_still() {
        let mut time = TimeLeft::new(Duration::ZERO);
        let (passed_on, _) = tokio::sync::oneshot::channel();
        let until = time.until;
        time.heed(&Order::Pause { passed_on });
        let pause = Duration::from_millis(20);
        assert!(tokio::time::timeout(pause, time.is_up()).await.is_err(), "it is not up during the pause");
        time.heed(&Order::Resume);
        assert!(time.until >= until + pause);
        time.is_up().await;
    }

    // spec: V2
    #[test]
    fn a_text_is_found_across_the_borders_of_pieces() {
        let mut search = Search::new(Some("passed"));
        for piece in ["12 pa", "ss", "", "ed."] {
            assert!(!search.found);
            search.push(piece.as_bytes());
        }
        assert!(search.found);
        let mut other = Search::new(Some("failed"));
        other.push(b"12 passed");
        assert!(!other.found);
    }
}
