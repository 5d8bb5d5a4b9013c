//! Listens to one agent: raw bytes to the log, records to the parser, own words to the claim finder. It keeps
//! what the report of the attempt needs and nothing that grows with the output.
use std::future::pending;
use std::time::{Duration, Instant};

use ralph_core::attempt::{Afterlife, AttemptReport, Ending, ErrorKind, Leftovers, Spend, Stream, Trouble};
use ralph_core::claim::Heard;
use tokio::sync::mpsc;

use super::ears::Ears;
use super::news::{News, Shown};
use super::reader::{FilteredDisplay, Said};
use super::sieve::Answer;
use super::trouble::{Step, Summed, Troubles};
use super::usage_file;
use ralph_agents as agent;
use ralph_agents::{AgentEvent, Asides, Exit, FinalRecord, Format, Outside, Sessions, hear, untold};
use ralph_process::{End, Gone, Listener, Order, Speech, Tail, Then, When};
use ralph_util::redact;
use ralph_util::sanitize::sanitize;

/// Stands in the log before what does not count.
const LATE: &[u8] = b"\n[ralph: what follows was printed after the agent had ended]\n";

/// More than this nobody can see of one piece.
const SHOWN_AT_ONCE: usize = 200;

/// How much of stderr is kept for people.
const STDERR_BYTES: usize = 4_096;

/// How long the filters may take for what stands when the agent has ended, and when it was told to end.
const ALL_ANSWERS: Duration = Duration::from_secs(30);
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long a display may lag behind when the agent has ended by itself.
const LAST_LINES: Duration = Duration::from_secs(3);

pub struct AgentListener {
    ears: Ears,
    began: Instant,
    events: Vec<AgentEvent>,
    troubles: Troubles,
    /// Whether the driver knows that a talk is at its beginning.
    told_opening: bool,
    /// Whether the driver knows that the agent only repeats requests.
    told_repeating: bool,
    final_record: FinalRecord,
    session: Option<String>,
    model: Option<String>,
    messages: Messages,
    spend: Spend,
    stderr: Tail,
    asides: Asides,
    result: ResultRecord,
    /// What the driver knows of the result.
    told: ResultRecord,
    /// Whether the agent printed something since the driver was last told.
    went_on: bool,
    late_marked: bool,
}

/// Counts the agent's own messages; a message may come in many pieces.
#[derive(Debug, Default)]
struct Messages {
    count: u32,
    last: Option<u64>,
}

impl Messages {
    fn note(&mut self, message: u64) {
        if self.last.replace(message) != Some(message) {
            self.count = self.count.saturating_add(1);
        }
    }
}

/// Whether the agent's final record has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultRecord {
    Awaited,
    Seen,
}

impl AgentListener {
    #[must_use]
    pub fn new(ears: Ears) -> Self {
        let mut listener = Self {
            ears,
            began: Instant::now(),
            events: Vec::new(),
            troubles: Troubles::default(),
            told_opening: false,
            told_repeating: false,
            final_record: FinalRecord::default(),
            session: None,
            model: None,
            messages: Messages::default(),
            spend: Spend::default(),
            stderr: Tail::new(STDERR_BYTES),
            asides: Asides::default(),
            result: ResultRecord::Awaited,
            told: ResultRecord::Awaited,
            went_on: false,
            late_marked: false,
        };
        listener.tell_about_the_opening();
        listener
    }

    /// Returns the report of the attempt, once the agent is gone.
    #[must_use]
    pub fn report(mut self, ending: Ending, gone: &Gone) -> AttemptReport {
        let mut last = std::mem::take(&mut self.events);
        let failures = self.ears.reader.conclude(&mut last);
        self.read_usage(&mut last);
        self.absorb(last);
        let unseen = self.ears.display.take().and_then(|display| display.sum());
        for failure in failures.into_iter().chain(unseen) {
            self.tell(News::Warning(failure));
        }
        self.finish_logs();
        let stderr_tail = redact::text(&sanitize(&self.stderr.finish())).into_owned();
        let afterlife = self.afterlife(&stderr_tail);
        let Summed { trouble, repeating } = std::mem::take(&mut self.troubles).sum(&ending, &stderr_tail);
        let stray_line = self.stray_line();
        let trouble = trouble.or_else(|| self.untold(&ending, (&stderr_tail, &stray_line)));
        let trouble = trouble.map(|trouble| self.with_remedy(trouble, &ending));
        AttemptReport {
            ending,
            trouble,
            repeating,
            afterlife,
            stream: self.stream(),
            messages: self.messages_of_format(),
            unknown_records: self.ears.reader.counts().unknown,
            stray_line,
            lived_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            reading: self.ears.finder.finish(),
            spend: self.spend,
            session: self.session.or(self.ears.session.untold()),
            model: self.model,
            stderr_tail,
            leftovers: leftovers(gone),
            has_moved: None,
        }
    }

    /// Whether it can be read or not, what the agent did stands.
    fn read_usage(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(path) = self.ears.usage_file.take() else { return };
        match usage_file::take(&path) {
            Ok(text) => self.ears.reader.parser().usage_file(&text, out),
            Err(error) => {
                self.tell(News::Warning(format!("what the agent has used is not known: {error}")));
            }
        }
    }

    fn afterlife(&self, stderr: &str) -> Afterlife {
        let asked = &self.ears.session;
        match asked.sessions {
            Sessions::Fresh => Afterlife::None,
            _ if asked.resumed.is_some() && self.troubles.is_session_lost(stderr) => Afterlife::Lost,
            Sessions::Named | Sessions::Chosen => Afterlife::Resumable,
        }
    }

    /// Returns the last line of an output that was not understood.
    fn stray_line(&mut self) -> String {
        match self.stream() {
            Stream::Understood => String::new(),
            Stream::NotUnderstood => {
                let line = String::from_utf8_lossy(self.ears.reader.parser().stray_line()).into_owned();
                redact::text(&sanitize(&line)).into_owned()
            }
        }
    }

    /// Returns what went wrong where no record tells it. Output that is not understood speaks for itself.
    fn untold(&self, ending: &Ending, (stderr, stray_line): (&str, &str)) -> Option<Trouble> {
        let exit = match exit_of(ending)? {
            Exit::Code(0) if self.stream() == Stream::NotUnderstood => return None,
            exit => exit,
        };
        let final_record = self.final_record;
        let outside = Outside { format: self.ears.format, exit, stderr, stray_line, final_record };
        let (kind, message) = untold(self.ears.adapter, &outside)?;
        Some(Trouble { kind, message: sanitize(&message), reset_at: None })
    }

    /// What no retry can mend is told with what can.
    fn with_remedy(&self, trouble: Trouble, ending: &Ending) -> Trouble {
        if trouble.kind != ErrorKind::Auth {
            return trouble;
        }
        let remedy = self.ears.adapter.remedy(exit_of(ending).unwrap_or(Exit::Unknown));
        Trouble { message: format!("{} (hint: {remedy})", trouble.message), ..trouble }
    }

    fn stream(&self) -> Stream {
        match self.ears.format {
            Format::Text => Stream::Understood,
            _ if self.ears.reader.counts().recognised > 0 => Stream::Understood,
            _ => Stream::NotUnderstood,
        }
    }

    /// Plain text is one long message, whatever the agent meant.
    fn messages_of_format(&self) -> Option<u32> {
        (self.ears.format != Format::Text).then_some(self.messages.count)
    }

    /// Nothing is recorded before the logs are written.
    fn finish_logs(&mut self) {
        for failure in [self.ears.output.finish(), self.ears.errors.finish()].into_iter().flatten() {
            self.tell(News::Warning(failure));
        }
    }

    fn absorb(&mut self, mut events: Vec<AgentEvent>) {
        for event in &events {
            self.note(event);
        }
        self.tell_about_the_opening();
        self.tell_about_repeats();
        if self.ears.allowance.is_newly_used_up(self.spend) {
            self.tell(News::Overspent(self.ears.key, self.spend));
        }
        self.tell_about_the_result();
        // A display that cannot follow misses something; the run does not wait for it.
        let seen = events.split_off(events.len().saturating_sub(SHOWN_AT_ONCE));
        if !seen.is_empty() {
            let _ = self.ears.shown.try_send(Shown::Events(seen));
        }
        events.clear();
        self.events = events;
    }

    /// Takes in what the response filter says.
    fn answered(&mut self, answer: Answer) {
        let mut events = std::mem::take(&mut self.events);
        match self.ears.reader.answered(answer, &mut events) {
            Said::Nothing => {}
            Said::Complaint(text) => self.tell(News::Warning(text)),
            Said::Broken(why) => self.give_up(why),
        }
        self.absorb(events);
    }

    /// What the agent says from here on is not known, so nothing that it said before is its last word.
    fn give_up(&mut self, why: String) {
        self.ears.finder.hear(Heard::Lost);
        self.tell(News::Warning(why));
    }

    /// Shows what the display filter says.
    fn display_answered(&mut self, answer: Answer) {
        let Some(display) = &mut self.ears.display else { return };
        let (lines, said) = display.answered(answer);
        if !lines.is_empty() {
            let _ = self.ears.shown.try_send(Shown::Lines(lines));
        }
        match said {
            Said::Nothing => {}
            Said::Complaint(text) | Said::Broken(text) => self.tell(News::Warning(text)),
        }
    }

    /// Waits for what the filters have not answered yet. An order that ends the attempt ends the waiting.
    pub async fn settle(&mut self, end: End, orders: &mut mpsc::UnboundedReceiver<Order>) {
        let mut last = std::mem::take(&mut self.events);
        self.ears.reader.finish(&mut last);
        self.absorb(last);
        if let Some(display) = &mut self.ears.display {
            display.finish();
        }
        let (patience, drawing) = match end {
            End::ByItself => (ALL_ANSWERS, LAST_LINES),
            End::OnOrder => (LAST_ANSWERS, LAST_ANSWERS),
        };
        if !self.wait_while(|ears| ears.reader.is_waiting(), patience, orders).await {
            self.give_up("the response filter had not answered when the agent's time was over".to_owned());
        }
        let is_drawing = |ears: &Ears| ears.display.as_ref().is_some_and(FilteredDisplay::is_waiting);
        if !self.wait_while(is_drawing, drawing, orders).await {
            let text = "the display filter could not follow: the end of what the agent printed is not shown";
            self.tell(News::Warning(text.to_owned()));
        }
    }

    /// Tells whether the wait is over in time.
    async fn wait_while(
        &mut self,
        waits: impl Fn(&Ears) -> bool,
        patience: Duration,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> bool {
        let over = tokio::time::sleep(patience);
        tokio::pin!(over);
        while waits(&self.ears) {
            tokio::select! {
                () = self.attend() => {}
                Some(order) = orders.recv() => {
                    if order.ends_the_job() {
                        return false;
                    }
                }
                () = &mut over => return false,
            }
        }
        true
    }

    fn note(&mut self, event: &AgentEvent) {
        hear(&mut self.ears.finder, event);
        self.final_record.note(event);
        if is_work(event) {
            self.goes_on();
        }
        if self.troubles.note(event) == Step::Repeated {
            self.ears.repeated.now();
        }
        match event {
            AgentEvent::Text { message, .. } => self.messages.note(*message),
            AgentEvent::Started { session, model } => {
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
            }
            AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => {
                let spend = Spend {
                    input_tokens: *input_tokens,
                    output_tokens: *output_tokens,
                    cost_micros: cost_usd.map(micros),
                };
                self.spend = self.spend.plus(spend);
            }
            AgentEvent::Finished { .. } => self.result = ResultRecord::Seen,
            AgentEvent::Prompted
            | AgentEvent::Unread
            | AgentEvent::AtWork
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Error { .. } => {}
        }
    }

    fn tell_about_the_opening(&mut self) {
        let (key, is_opening) = (self.ears.key, self.ears.reader.parser().is_opening());
        match (self.told_opening, is_opening) {
            (false, true) => self.tell(News::HandshakeBegan(key)),
            (true, false) => self.tell(News::HandshakeDone(key)),
            (false, false) | (true, true) => {}
        }
        self.told_opening = is_opening;
    }

    fn tell_about_repeats(&mut self) {
        let key = self.ears.key;
        match (self.told_repeating, self.troubles.is_repeating()) {
            (false, true) => self.tell(News::Repeating(key)),
            (true, false) => self.tell(News::GotOn(key)),
            (false, false) | (true, true) => {}
        }
        self.told_repeating = self.troubles.is_repeating();
    }

    fn spoke(&mut self) {
        self.ears.heard.now();
        if !self.ears.reader.is_over() {
            self.goes_on();
        }
    }

    /// New output after the final record: the agent is not done after all. It may come in the same piece.
    fn goes_on(&mut self) {
        self.result = ResultRecord::Awaited;
        self.went_on = true;
    }

    /// Tells the driver what a whole piece means, however many records it holds.
    fn tell_about_the_result(&mut self) {
        if self.told == ResultRecord::Seen && self.went_on {
            self.told = ResultRecord::Awaited;
            self.tell(News::SpokeAgain(self.ears.key));
        }
        if self.told == ResultRecord::Awaited && self.result == ResultRecord::Seen {
            self.told = ResultRecord::Seen;
            self.tell(News::ResultSeen(self.ears.key));
        }
        self.went_on = false;
    }

    fn tell(&self, news: News) {
        // The driver is gone only when the run is over.
        let _ = self.ears.news.send(news);
    }
}

impl Listener for AgentListener {
    fn stdout(&mut self, piece: &mut Vec<u8>, when: When) {
        match when {
            When::OnTime => {
                self.spoke();
                if let Some(display) = &mut self.ears.display {
                    display.push(piece);
                }
                let mut events = std::mem::take(&mut self.events);
                self.ears.reader.push(piece, &mut events);
                self.absorb(events);
            }
            When::Late if !self.late_marked => {
                self.late_marked = true;
                self.ears.output.write(&mut LATE.to_vec());
            }
            When::Late => {}
        }
        self.ears.output.write(piece);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.ears.heard.now();
        self.stderr.push(piece);
        let mut told = std::mem::take(&mut self.events);
        self.asides.push(self.ears.adapter, piece, &mut told);
        self.absorb(told);
        self.ears.errors.write(piece);
    }

    fn has_room(&self) -> bool {
        self.ears.reader.has_room()
    }

    fn speech(&mut self) -> Speech {
        let agent::Words { bytes, then } = self.ears.reader.parser().take_words();
        let then = match then {
            agent::Then::GoOn => Then::GoOn,
            agent::Then::End => Then::End,
        };
        Speech { bytes, then }
    }

    fn interrupt(&mut self) {
        self.ears.reader.parser().interrupt();
    }

    async fn attend(&mut self) {
        let Ears { reader, display, .. } = &mut self.ears;
        let shown = async {
            match display {
                Some(display) => display.answer().await,
                None => pending().await,
            }
        };
        tokio::select! {
            answer = reader.answer() => self.answered(answer),
            answer = shown => self.display_answered(answer),
        }
    }
}

/// Tells whether an agent that reports this is at work.
fn is_work(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Started { .. }
        | AgentEvent::Prompted
        | AgentEvent::Unread
        | AgentEvent::AtWork
        | AgentEvent::Text { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::ToolCall { .. }
        | AgentEvent::ToolResult { .. } => true,
        AgentEvent::Usage { .. }
        | AgentEvent::RateLimit { .. }
        | AgentEvent::Error { .. }
        | AgentEvent::Finished { .. } => false,
    }
}

/// Returns how a process ended that was seen to end.
fn exit_of(ending: &Ending) -> Option<Exit> {
    match ending {
        Ending::Exited { code } => Some(Exit::Code(*code)),
        Ending::Signalled { signal } => Some(Exit::Signal(*signal)),
        Ending::NotStarted { .. } | Ending::Unwatched | Ending::OverMemory { .. } | Ending::Unseen => None,
    }
}

fn leftovers(gone: &Gone) -> Leftovers {
    let leaked = gone.leaked.iter().map(|survivor| format!("{} ({})", survivor.name, survivor.pid));
    Leftovers { killed: gone.killed, leaked: leaked.collect() }
}

/// Dollars as an agent reports them, in millionths. What is not a sensible amount counts as nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn micros(dollars: f64) -> u64 {
    let micros = (dollars * 1e6).round();
    if micros.is_finite() && micros > 0.0 && micros < 1e18 { micros as u64 } else { 0 }
}
