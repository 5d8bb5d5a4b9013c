//! Runs one program for a verifier: its input in, a limit of time, orders passed on, and its whole tree gone afterwards.
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use tokio::sync::mpsc;

use super::orders::Orders;
use ralph_process::{Exit, Input, JobSpec, Keeper, Listener, Order, pump};

pub(super) struct Program {
    pub(super) job: JobSpec,
    pub(super) input: Vec<u8>,
    pub(super) time: Duration,
}

/// How a program ended, and how many descendants it left behind; they were killed.
pub(super) struct Ran {
    pub(super) ending: CheckEnding,
    pub(super) leftovers: u32,
}

impl Ran {
    pub(super) fn not_started(why: String) -> Self {
        Self { ending: CheckEnding::NotStarted { why }, leftovers: 0 }
    }
}

pub(super) async fn run(
    keeper: &Keeper,
    program: Program,
    listener: &mut impl Listener,
    orders: &mut Orders,
) -> Ran {
    let Program { job, input, time } = program;
    let job = match keeper.spawn(job).await {
        Ok(job) => job,
        Err(error) => return Ran::not_started(error.to_string()),
    };
    let (inner, mut received) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump(job, Input::Whole(input), &mut received, listener));
    let mut time = TimeLeft::new(time);
    let mut timed_out = false;
    let pumped = loop {
        tokio::select! {
            // On waking from Ctrl-Z an order and the end of the time may both be there: the order comes first.
            biased;
            pumped = &mut pumping => break pumped,
            order = orders.next() => {
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
        Err(error) => Ran::not_started(error.to_string()),
        Ok(pumped) if timed_out => Ran { ending: CheckEnding::TimedOut, leftovers: pumped.gone.killed },
        Ok(pumped) => Ran { ending: ending(pumped.exit), leftovers: pumped.gone.killed },
    }
}

/// How long a program may still take. While it stands paused, its time stands still.
pub(super) struct TimeLeft {
    until: tokio::time::Instant,
    paused: Option<tokio::time::Instant>,
}

impl TimeLeft {
    pub(super) fn new(time: Duration) -> Self {
        Self { until: tokio::time::Instant::now() + time, paused: None }
    }

    pub(super) fn heed(&mut self, order: &Order) {
        match order {
            Order::Pause { .. } => self.paused = Some(tokio::time::Instant::now()),
            Order::Resume => {
                self.until += self.paused.take().map(|since| since.elapsed()).unwrap_or_default();
            }
            Order::Stop { .. } | Order::Kill => {}
        }
    }

    /// Returns what is left of it now.
    pub(super) fn left_ms(&self) -> u64 {
        let left = self.until.saturating_duration_since(tokio::time::Instant::now());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) async fn is_up(&self) {
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
}
