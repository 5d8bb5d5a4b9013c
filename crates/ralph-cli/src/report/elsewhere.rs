//! A report in a thread of its own. A terminal or pipe that nobody reads then holds up the report, and never
//! the run: limits and signals work on.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;
use ralph_engine::engine::{Stamp, Watcher};

/// How much of the agent may wait to be shown; what comes beyond it is not shown.
const WAITING: usize = 1_000;
/// How long a reader may take to read the end of the story.
const FAREWELL: Duration = Duration::from_secs(2);

/// What there is to show.
enum Seen {
    Fact { run: String, seq: i64, at: Millis, fact: Box<Fact> },
    Agent(AgentEvent),
    Filtered(String),
    Grace(Duration),
    Waiting(Duration),
    Warning(String),
}

/// Passes everything on to a report in another thread.
pub struct Elsewhere {
    queue: Option<Sender<Seen>>,
    waiting: Arc<AtomicUsize>,
    ended: Receiver<()>,
}

impl Elsewhere {
    /// Starts the thread. The report is made there when there is something to show: a spinner must not turn before.
    pub fn start<W: Watcher>(make: impl FnOnce() -> W + Send + 'static) -> std::io::Result<Self> {
        let (queue, queued) = channel();
        let (end, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let show = move || {
            if let Ok(first) = queued.recv() {
                let mut report = make();
                for seen in std::iter::once(first).chain(queued) {
                    show(&mut report, &seen, &left);
                }
            }
            // Nobody waits any more: the process ends.
            let _ = end.send(());
        };
        std::thread::Builder::new().name("report".to_owned()).spawn(show)?;
        Ok(Self { queue: Some(queue), waiting, ended })
    }

    fn send(&self, seen: Seen) {
        if let Some(queue) = &self.queue {
            // A report that ended shows nothing more.
            let _ = queue.send(seen);
        }
    }

    /// Sends what may be missed.
    fn offer(&self, seen: Seen) {
        if self.waiting.load(Ordering::Relaxed) < WAITING {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            self.send(seen);
        }
    }
}

fn show(report: &mut impl Watcher, seen: &Seen, waiting: &AtomicUsize) {
    match seen {
        Seen::Fact { run, seq, at, fact } => report.fact(Stamp { run, seq: *seq, at: *at }, fact),
        Seen::Warning(text) => report.warning(text),
        Seen::Grace(grace) => report.grace(*grace),
        Seen::Waiting(left) => report.waiting(*left),
        Seen::Agent(event) => report.agent(event),
        Seen::Filtered(line) => report.filtered(line),
    }
    if matches!(seen, Seen::Agent(_) | Seen::Filtered(_) | Seen::Waiting(_)) {
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watcher for Elsewhere {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        let fact = Box::new(fact.clone());
        self.send(Seen::Fact { run: stamp.run.to_owned(), seq: stamp.seq, at: stamp.at, fact });
    }

    fn agent(&mut self, event: &AgentEvent) {
        self.offer(Seen::Agent(event.clone()));
    }

    fn filtered(&mut self, line: &str) {
        self.offer(Seen::Filtered(line.to_owned()));
    }

    fn grace(&mut self, grace: Duration) {
        self.send(Seen::Grace(grace));
    }

    fn waiting(&mut self, left: Duration) {
        self.offer(Seen::Waiting(left));
    }

    fn warning(&mut self, text: &str) {
        self.send(Seen::Warning(text.to_owned()));
    }
}

impl Drop for Elsewhere {
    /// Waits for the last words, but not for ever.
    fn drop(&mut self) {
        self.queue = None;
        let _ = self.ended.recv_timeout(FAREWELL);
    }
}
