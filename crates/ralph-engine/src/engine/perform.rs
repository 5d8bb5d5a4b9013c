//! The hands of the driver: starts agents and checks as tasks and passes orders to whatever is running.
use std::any::Any;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::attempt::{AttemptReport, Hope, Spend};
use ralph_core::budget::Used;
use ralph_core::claim::{Finder, Nonce};
use ralph_core::event::AttemptKey;
use ralph_core::policy::Baseline;
use ralph_core::prompt::PromptPlan;
use ralph_core::seal::Seal;
use ralph_core::state::Session;
use ralph_core::template::Expanded;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};

use super::allowance::Allowance;
use super::attempt::{self, not_started};
use super::books::look;
use super::ears::{Ears, SessionAsked};
use super::judge::JudgeChoice;
use super::keep::Kept;
use super::last_heard::LastHeard;
use super::ledger::Account;
use super::movement::{Look, Movement, has_moved};
use super::news::{News, Shown};
use super::notes;
use super::plan::{AgentChoice, Audience, ForNow, RunPlan};
use super::reader::{FilteredDisplay, Reader};
use super::sieve::Sieve;
use crate::verify::{Cache, Claimed, Examiner, Orders, Preparation, Verifier, Watch};
use ralph_agents::hearing::read_output;
use ralph_agents::{Before, FilterError, PoliteSignal, parser};
use ralph_process::{JobSpec, Keeper, LogBudget, Order, Polite, RawLog};
use ralph_util::fail::{self, Point};

/// How long a tree may take to die.
const PUT_DOWN: Duration = Duration::from_secs(10);

pub(super) struct Hands {
    pub(super) plan: Arc<RunPlan>,
    /// When the running agent was last heard.
    pub(super) heard: LastHeard,
    /// When it was last heard to repeat a request that failed.
    pub(super) repeated: LastHeard,
    keeper: Keeper,
    logs: LogBudget,
    news: mpsc::UnboundedSender<News>,
    shown: mpsc::Sender<Shown>,
    running: Option<Running>,
    /// The start that comes next, while it is being stored.
    prepared: Option<Prepared>,
    /// The agent at work: 0 is the preferred one, the fallbacks follow.
    agent: u32,
    /// What the run had used when the agent was started.
    pub(super) spent: Spend,
    /// What other runs have used of the budgets that this one shares.
    pub(super) others: Vec<Used>,
    /// Where the worker that drives this run counts what it costs.
    pub(super) account: Option<Account>,
    /// The variables without a value that were named already.
    unknown: BTreeSet<String>,
    cache: Cache,
    /// Looks whether the agent changes anything, where that matters.
    movement: Option<Movement>,
    /// The tree of ralph's own that it works in, where it does.
    kept: Option<Kept>,
    /// The work tree before the agent's work.
    before: Option<JoinHandle<Look>>,
    /// The notes as they were when this iteration began.
    notes: (u32, String),
    /// What the agent said last, and when.
    said: Option<(AttemptKey, String)>,
}

/// One start of an agent.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) key: AttemptKey,
    pub(super) plan: PromptPlan,
    pub(super) nonce: Option<Nonce>,
    pub(super) guidance: Vec<String>,
    pub(super) session: Option<Session>,
    pub(super) agent: u32,
}

/// What an agent is told and how it is started, or why it cannot be.
struct Prepared {
    key: AttemptKey,
    told: Result<Told, String>,
}

struct Told {
    prompt: String,
    asked: SessionAsked,
    job: (JobSpec, String),
}

/// The one agent or check that is alive.
struct Running {
    orders: mpsc::UnboundedSender<Order>,
    work: AbortHandle,
    /// Ends after the work.
    watch: JoinHandle<()>,
}

impl Hands {
    pub(super) fn new(
        plan: RunPlan,
        (keeper, account): (Keeper, Option<Account>),
        news: mpsc::UnboundedSender<News>,
        shown: mpsc::Sender<Shown>,
    ) -> Self {
        let logs = LogBudget::new(plan.room_for_logs(), &plan.project.run_folder(&plan.id));
        let movement = (plan.policy.stall_after > 0).then(|| Movement::of(&plan.project));
        let kept = Kept::of(&plan);
        Self {
            plan: Arc::new(plan),
            heard: LastHeard::new(),
            repeated: LastHeard::new(),
            keeper,
            logs,
            news,
            shown,
            running: None,
            prepared: None,
            agent: 0,
            spent: Spend::default(),
            others: Vec::new(),
            account,
            unknown: BTreeSet::new(),
            cache: Cache::default(),
            movement,
            kept,
            before: None,
            notes: (0, String::new()),
            said: None,
        }
    }

    /// Prepares a start while it is being stored. Only reads: nothing is started.
    pub(super) fn prepare(&mut self, start: &Start) {
        self.before = self.movement.clone().map(|movement| spawn_blocking(move || movement.look()));
        self.prepared = Some(Prepared { key: start.key, told: self.told(start) });
    }

    fn told(&mut self, start: &Start) -> Result<Told, String> {
        let Start { key, plan, nonce, guidance, session, agent } = start;
        self.read_notes(key.iteration);
        let for_now = ForNow { iteration: key.iteration, notes: &self.notes.1, guidance };
        let Expanded { text: prompt, unknown } = self
            .plan
            .prompt_text(plan, nonce.as_ref(), for_now)
            .map_err(|error| format!("the prompt cannot be read: {error}"))?;
        self.name_unknown(unknown);
        let choice = self.plan.agent_at(*agent);
        let asked = choice.asked(session.as_ref().map(|session| session.id.clone()));
        let job = self.plan.agent_job(choice, &prompt, &asked);
        let job = job.map_err(|error| format!("the agent's program cannot be found: {error}"))?;
        Ok(Told { prompt, asked, job })
    }

    pub(super) fn start_agent(&mut self, start: Start) {
        if self.prepared.as_ref().is_none_or(|prepared| prepared.key != start.key) {
            self.prepare(&start);
        }
        let Start { key, nonce, session, agent, .. } = start;
        self.agent = agent;
        let Told { prompt, asked, job } = match self.prepared.take().map(|prepared| prepared.told) {
            Some(Ok(told)) => told,
            Some(Err(why)) => return self.could_not(key, why),
            None => return,
        };
        let spent = session.map(|session| session.spent);
        (self.heard, self.repeated) = (LastHeard::new(), LastHeard::new());
        let talk = self.plan.talk(self.plan.agent_at(agent), &prompt, asked.resumed.clone());
        match self.ears(key, (asked, spent), Finder::new(self.plan.rules_with(nonce), &prompt)) {
            Ok(mut ears) => {
                ears.reader.parser().converse(talk);
                self.launch(key, job, ears);
            }
            Err(error) => self.could_not(key, format!("a filter cannot be used: {error}")),
        }
    }

    /// Reads the notes once for all attempts of an iteration: a retry gets the same prompt.
    fn read_notes(&mut self, iteration: u32) {
        if self.notes.0 == iteration {
            return;
        }
        let path = self.plan.project.notes(&self.plan.id);
        let text = notes::read(&path).unwrap_or_else(|error| {
            let text = format!("the notes {} cannot be read: {error}", path.display());
            let _ = self.news.send(News::Warning(text));
            String::new()
        });
        self.notes = (iteration, text);
    }

    /// Names variables that had no value, each once.
    fn name_unknown(&mut self, unknown: Vec<String>) {
        let new: Vec<String> = unknown
            .into_iter()
            .filter(|name| self.unknown.insert(name.clone()))
            .map(|name| format!("${name}"))
            .collect();
        if !new.is_empty() {
            let text = format!("variables of the prompt that have no value became empty: {}", new.join(", "));
            let _ = self.news.send(News::Warning(text));
        }
    }

    fn launch(&mut self, key: AttemptKey, job: (JobSpec, String), ears: Ears) {
        let AttemptKey { iteration, attempt } = key;
        tracing::debug!(iteration, attempt, program = %job.0.program.display(), "starts the agent");
        let (orders, received) = mpsc::unbounded_channel();
        let (keeper, news) = (self.keeper.clone(), self.news.clone());
        let (movement, before) = (self.movement.clone(), self.before.take());
        let kept = self.kept.clone();
        let work = async move {
            let before = match before {
                Some(looking) => looking.await.ok().flatten(),
                None => None,
            };
            let mut report = attempt::run(keeper, job, ears, received).await;
            report.has_moved = has_moved(movement, before).await;
            let trouble = match kept {
                Some(kept) => kept.after_attempt(key).await,
                None => None,
            };
            trouble.into_iter().for_each(|trouble| drop(news.send(News::Warning(trouble))));
            let _ = news.send(News::AttemptEnded(key, report));
        };
        self.running = Some(self.start(key, orders, work));
    }

    /// Starts work in a task of its own. Should it panic, the rules hear of it: nobody waits for news of the dead.
    fn start(
        &self,
        key: AttemptKey,
        orders: mpsc::UnboundedSender<Order>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Running {
        let news = self.news.clone();
        let task = tokio::spawn(work);
        let work = task.abort_handle();
        let watch = tokio::spawn(async move {
            if let Err(error) = task.await
                && let Ok(panic) = error.try_into_panic()
            {
                let _ = news.send(News::Faulted(key, last_words(panic.as_ref())));
            }
        });
        Running { orders, work, watch }
    }

    /// Tells the worker what the run has cost.
    pub(super) fn note_cost(&self, spent: Spend) {
        if let Some(account) = &self.account {
            account.note(spent);
        }
    }

    fn ears(
        &self,
        key: AttemptKey,
        (session, spent): (SessionAsked, Option<Spend>),
        finder: Finder,
    ) -> Result<Ears, FilterError> {
        let name = log_name(key);
        Ok(Ears {
            key,
            adapter: self.choice().adapter,
            format: self.choice().format(),
            session,
            allowance: Allowance::new(&self.plan.policy, self.spent, &self.others, self.account.clone()),
            usage_file: self.plan.usage_file(self.choice()),
            reader: self.reader(spent)?,
            display: self.display()?,
            finder,
            output: self.log(format!("{name}.ndjson")),
            errors: self.log(format!("{name}.stderr")),
            heard: self.heard.clone(),
            repeated: self.repeated.clone(),
            news: self.news.clone(),
            shown: self.shown.clone(),
        })
    }

    /// Returns the agent that works, or worked last.
    pub(super) fn choice(&self) -> &AgentChoice {
        self.plan.agent_at(self.agent)
    }

    /// Prepares a log of the agent, which goes to the session log as well where there is one.
    fn log(&self, name: String) -> RawLog {
        let folder = self.plan.project.run_folder(&self.plan.id);
        RawLog::new(folder.join(name), &self.logs).also_to(self.plan.session.clone())
    }

    /// `spent` is what the session had used before, where one is resumed.
    fn reader(&self, spent: Option<Spend>) -> Result<Reader, FilterError> {
        let mut parser = parser(self.choice().format());
        match self.plan.audience {
            Audience::People => {}
            Audience::Nobody => parser.unwatched(),
        }
        if let Some(spent) = spent {
            let Spend { input_tokens, output_tokens, .. } = spent;
            parser.continues(Before { input_tokens, output_tokens, cost_usd: spent.dollars() });
        }
        let filter = self.choice().response_filter()?;
        Ok(match filter {
            None => Reader::Format(parser),
            Some(filter) => Reader::filtered(parser, self.sieve(&filter)),
        })
    }

    /// A filter for a display that nobody sees is not started.
    fn display(&self) -> Result<Option<FilteredDisplay>, FilterError> {
        let filter = self.choice().display_filter()?;
        let filter = filter.filter(|_| self.plan.audience == Audience::People);
        Ok(filter.map(|filter| FilteredDisplay::new(self.sieve(&filter))))
    }

    fn sieve(&self, filter: &str) -> Sieve {
        Sieve::start(self.keeper.clone(), &self.plan.id, filter)
    }

    fn could_not(&self, key: AttemptKey, why: String) {
        let report = Box::new(not_started(why, Hope::None));
        let _ = self.news.send(News::AttemptEnded(key, report));
    }

    /// Remembers what an agent said last: it may be a claim that is verified.
    pub(super) fn remember(&mut self, key: AttemptKey, report: &AttemptReport) {
        self.said = Some((key, report.reading.final_text.clone()));
    }

    /// Returns what the agent claimed. A resumed run has not heard it, and reads it again.
    fn claimed(&self, key: AttemptKey) -> Claimed {
        let name = format!("{}.ndjson", log_name(key));
        let output = self.plan.project.run_folder(&self.plan.id).join(name);
        let report = match &self.said {
            Some((said, report)) if *said == key => report.clone(),
            Some(_) | None => self.read_again(&output),
        };
        Claimed { promise: self.plan.rules.promise.as_str().to_owned(), report, output }
    }

    /// What cannot be read was not said: nothing is proven by it.
    fn read_again(&self, output: &Path) -> String {
        let rules = self.plan.rules.clone();
        let reading =
            File::open(output).and_then(|mut file| read_output(self.choice().format(), rules, "", &mut file));
        reading.map(|reading| reading.final_text).unwrap_or_default()
    }

    fn verifier(&self, name: String, claim: Claimed) -> Verifier {
        Verifier {
            keeper: self.keeper.clone(),
            ground: self.plan.checking_ground(),
            cache: self.cache.clone(),
            watch: Watch::default(),
            folder: self.plan.project.run_folder(&self.plan.id),
            name,
            logs: self.logs.clone(),
            verifiers: self.plan.project.verifiers(),
            claim,
            judge: self.plan.judge.as_ref().map(JudgeChoice::judge),
        }
    }

    fn examiner(&self) -> Examiner {
        Examiner {
            criteria: self.plan.checks.clone(),
            acceptance: self.plan.acceptance.clone(),
            duty: self.plan.policy.duty,
            task_base: self.plan.tree.as_ref().map(|place| place.tree.base.clone()),
            sealer: self.plan.sealer(),
        }
    }

    /// Runs the external checks once, and then seals: what they leave behind is no change of the agent's.
    pub(super) fn get_ready(&mut self, round: u32, baseline: Baseline) {
        let verifier = self.verifier(round_name("baseline".to_owned(), round), Claimed::default());
        let examiner = self.examiner();
        let (orders, received) = mpsc::unbounded_channel();
        let news = self.news.clone();
        let work = async move {
            fail::point(Point::PrepareStarted);
            let Preparation { sealing, baseline } = examiner.prepare(verifier, baseline, received).await;
            let _ = news.send(News::Prepared(sealing, baseline));
        };
        self.running = Some(self.start(AttemptKey::PREPARATION, orders, work));
    }

    pub(super) fn run_checks(&mut self, key: AttemptKey, round: u32, seal: Option<Seal>) {
        let verifier = self.verifier(round_name(log_name(key), round), self.claimed(key));
        let examiner = self.examiner();
        let (orders, received) = mpsc::unbounded_channel();
        let news = self.news.clone();
        let root = self.plan.project.root.clone();
        let isolation = self.plan.acceptance.isolation;
        let work = async move {
            fail::point(Point::VerifyStarted);
            let orders = &mut Orders::new(received);
            let evidence = match examiner.unbroken(seal, orders).await {
                Err(broken) => broken,
                Ok(unbroken) => {
                    let seen = orders.hold(move || look(&root, isolation)).await.flatten();
                    let _ = news.send(News::Looked(seen));
                    unbroken.examine(verifier, orders).await
                }
            };
            let _ = news.send(News::Verified(key, evidence));
        };
        self.running = Some(self.start(key, orders, work));
    }

    pub(super) fn stop_agent(&mut self) {
        let signal = match self.choice().adapter.polite_signal() {
            PoliteSignal::Term => Polite::Term,
            PoliteSignal::Int => Polite::Int,
        };
        let grace: Duration = self.plan.grace;
        self.order(Order::Stop { signal, grace });
    }

    pub(super) fn kill(&mut self) {
        self.order(Order::Kill);
    }

    /// Passes an order to whatever is running; tells whether something is.
    pub(super) fn order(&mut self, order: Order) -> bool {
        self.running.as_ref().is_some_and(|running| running.orders.send(order).is_ok())
    }

    /// Leaves nothing running behind.
    pub(super) fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            running.work.abort();
        }
    }

    /// Kills whatever is running, because nothing of it can be recorded any more.
    pub(super) async fn put_down(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.orders.send(Order::Kill);
            let _ = tokio::time::timeout(PUT_DOWN, running.watch).await;
            running.work.abort();
        }
    }
}

/// Returns what a panic said.
fn last_words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked without a word").to_owned()
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Returns the name that the logs of an attempt begin with.
#[must_use]
pub fn log_name(key: AttemptKey) -> String {
    match key.attempt {
        1 => format!("iteration-{:03}", key.iteration),
        attempt => format!("iteration-{:03}-attempt-{attempt}", key.iteration),
    }
}

/// Returns the name that the logs of checks begin with. Checks that run again leave the logs of the earlier ones.
fn round_name(name: String, round: u32) -> String {
    match round {
        1 => name,
        round => format!("{name}-round-{round}"),
    }
}
