//! A report in a separate thread. A terminal or pipe that is not read blocks only the report: the run continues, and
//! limits and signals still work.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;

use super::plain_report::OPEN_LINE_DELAY;
use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

/// How many messages about the agent may be queued; further ones are dropped.
const MAX_QUEUED_AGENT_EVENTS: usize = 1_000;
/// How long the end of the run waits for the report to be written.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A message to the report thread.
enum ReportMessage {
    Fact { run: String, seq: i64, at: UnixMillis, fact: Box<Fact> },
    Agent(AgentEvent),
    FilteredLine(String),
    GracePeriod(Duration),
    RateLimitWait(Duration),
    Warning(String),
    StateRequest,
}

/// Asks the report for the state of now.
pub struct StateRequester {
    queue: Sender<ReportMessage>,
}

impl StateRequester {
    pub fn request_state(&self) {
        // The send fails if the report thread has ended.
        let _ = self.queue.send(ReportMessage::StateRequest);
    }
}

/// Forwards everything to a report in another thread.
pub struct ThreadedReporter {
    queue: Option<Sender<ReportMessage>>,
    queued_count: Arc<AtomicUsize>,
    ended: Receiver<()>,
}

impl ThreadedReporter {
    /// Starts the thread. It creates the report at the first message, so that a spinner does not appear earlier.
    pub fn start<W: RunObserver>(make_report: impl FnOnce() -> W + Send + 'static) -> std::io::Result<Self> {
        let (queue, queued) = channel();
        let (end, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let show = move || {
            if let Ok(first) = queued.recv() {
                let mut report = make_report();
                deliver_message(&mut report, &first, &left);
                while let Some(message) = next_message(&queued, &mut report) {
                    deliver_message(&mut report, &message, &left);
                }
            }
            // The send fails if `drop` has stopped waiting.
            let _ = end.send(());
        };
        std::thread::Builder::new().name("report".to_owned()).spawn(show)?;
        Ok(Self { queue: Some(queue), queued_count: waiting, ended })
    }

    /// Returns what asks for the state. The report ends only after it is dropped.
    pub fn state_requester(&self) -> Option<StateRequester> {
        self.queue.clone().map(|queue| StateRequester { queue })
    }

    fn send(&self, message: ReportMessage) {
        if let Some(queue) = &self.queue {
            // The send fails if the report thread has ended.
            let _ = queue.send(message);
        }
    }

    /// Sends a message, or drops it if the queue is full.
    fn send_droppable(&self, message: ReportMessage) {
        if self.queued_count.load(Ordering::Relaxed) < MAX_QUEUED_AGENT_EVENTS {
            self.queued_count.fetch_add(1, Ordering::Relaxed);
            self.send(message);
        }
    }
}

/// Waits for the next message. Returns `None` at the end of the run.
fn next_message(queued: &Receiver<ReportMessage>, report: &mut impl RunObserver) -> Option<ReportMessage> {
    match queued.recv_timeout(OPEN_LINE_DELAY) {
        Ok(message) => Some(message),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            report.on_quiet();
            queued.recv().ok()
        }
    }
}

fn deliver_message(report: &mut impl RunObserver, message: &ReportMessage, queued_count: &AtomicUsize) {
    match message {
        ReportMessage::Fact { run, seq, at, fact } => report.on_fact(JournalPosition { run, seq: *seq, at: *at }, fact),
        ReportMessage::Warning(text) => report.on_warning(text),
        ReportMessage::StateRequest => report.on_state_request(),
        ReportMessage::GracePeriod(grace) => report.on_stop_grace(*grace),
        ReportMessage::RateLimitWait(left) => report.on_limit_wait(*left),
        ReportMessage::Agent(event) => report.on_agent_event(event),
        ReportMessage::FilteredLine(line) => report.on_display_line(line),
    }
    if matches!(message, ReportMessage::Agent(_) | ReportMessage::FilteredLine(_) | ReportMessage::RateLimitWait(_)) {
        queued_count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RunObserver for ThreadedReporter {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        let fact = Box::new(fact.clone());
        self.send(ReportMessage::Fact { run: stamp.run.to_owned(), seq: stamp.seq, at: stamp.at, fact });
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.send_droppable(ReportMessage::Agent(event.clone()));
    }

    fn on_display_line(&mut self, line: &str) {
        self.send_droppable(ReportMessage::FilteredLine(line.to_owned()));
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.send(ReportMessage::GracePeriod(grace));
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.send_droppable(ReportMessage::RateLimitWait(left));
    }

    fn on_warning(&mut self, text: &str) {
        self.send(ReportMessage::Warning(text.to_owned()));
    }
}

impl Drop for ThreadedReporter {
    /// Waits until the queue is written, at most `DRAIN_TIMEOUT`.
    fn drop(&mut self) {
        self.queue = None;
        let _ = self.ended.recv_timeout(DRAIN_TIMEOUT);
    }
}
