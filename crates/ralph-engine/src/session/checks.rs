//! The checks of a claim, within the time that the host gives. Each is begun only where it can be seen through, and what
//! has passed for the same files is not run again.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::criterion::Criterion;
use ralph_core::duty::Duty;
use ralph_core::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use ralph_core::isolation::Isolation;
use tokio::sync::mpsc;

use super::book::{Book, Key};
use super::entry::Entry;
use super::passed;
use crate::git;
use crate::project::Project;
use crate::verify::{self, Acceptance, Claimed, Examiner, Ground, Orders, Sealer, Verifier, Watch};
use ralph_process::{Keeper, LogBudget, Order};
use ralph_util::memory_size::MemorySize;
use ralph_util::private;

/// Checks of a loop that was cancelled are stopped this soon.
const LOOK: Duration = Duration::from_millis(100);

/// What the checks came to.
#[derive(Debug)]
pub enum Checked {
    Through(Evidence),
    /// So many have passed, and there is no time for the next one.
    Still {
        done: usize,
        of: usize,
    },
}

/// Where and how long checks run.
pub struct Checking<'a> {
    /// Where the loop, its results and their output are kept.
    pub book: &'a Book,
    pub key: &'a Key,
    pub entry: &'a Entry,
    pub keeper: Keeper,
    pub until: Instant,
    /// The agent's message.
    pub claim: String,
}

/// Returns what must not change, as it is now.
pub fn sealer(root: &Path, acceptance: &Acceptance, criteria: &[Criterion]) -> Result<Sealer, String> {
    let project = Project::around(root).map_err(|error| error.to_string())?;
    let ground = ground(root, String::new());
    Sealer::new(&project, acceptance, criteria, &ground).map_err(|error| error.to_string())
}

/// Returns where checks run.
fn ground(root: &Path, run_id: String) -> Ground {
    Ground { root: root.to_path_buf(), env: environment(), run_id }
}

impl Checking<'_> {
    /// Runs the checks.
    pub async fn run(self) -> Checked {
        let state = &self.entry.state;
        let sealer = match sealer(&self.entry.root, &self.entry.acceptance, &state.criteria) {
            Ok(sealer) => sealer,
            Err(why) => return Checked::Through(blind(why)),
        };
        let examiner = Examiner {
            criteria: state.criteria.clone(),
            acceptance: self.entry.acceptance.clone(),
            duty: Duty::None,
            task_base: None,
            sealer: Ok(sealer),
        };
        let (tell, received) = mpsc::unbounded_channel();
        let mut orders = Orders::new(received);
        let unbroken = match examiner.unbroken(state.seal.clone(), &mut orders).await {
            Ok(unbroken) => unbroken,
            Err(broken) => return Checked::Through(broken),
        };
        match self.verifier() {
            Err(why) => Checked::Through(blind(why)),
            Ok(verifier) => match self.entry.acceptance.isolation {
                Isolation::Workspace => self.one_by_one(&unbroken.watched(verifier, &mut orders).await).await,
                Isolation::Clean => {
                    let work = unbroken.examine(verifier, &mut orders);
                    Checked::Through(self.within(work, tell).await.unwrap_or_else(blind))
                }
            },
        }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn verifier(&self) -> Result<Verifier, String> {
        let folder = self.book.folder().join(format!("{}.checks", self.key.name()));
        private::folder(&folder).map_err(|error| error.to_string())?;
        Ok(Verifier {
            keeper: self.keeper.clone(),
            ground: ground(&self.entry.root, self.entry.id.clone()),
            watch: Watch::default(),
            cache: passed::read(&self.passed(), &self.entry.id),
            logs: LogBudget::new(MemorySize::GIGABYTE.bytes(), &folder),
            folder,
            name: format!("iteration-{:03}", self.entry.state.iteration()),
            verifiers: PathBuf::new(),
            claim: Claimed {
                promise: self.entry.state.rules.promise.as_str().to_owned(),
                report: self.claim.clone(),
                output: PathBuf::new(),
            },
            judge: None,
        })
    }

    async fn one_by_one(&self, verifier: &Verifier) -> Checked {
        let criteria = &self.entry.state.criteria;
        let mut evidence = Evidence::default();
        let mut has_run = false;
        for criterion in criteria {
            let longest = verifier.cache.longest(&verifier.ground, criterion);
            if has_run && self.left() < longest {
                return Checked::Still { done: evidence.checks.len(), of: criteria.len() };
            }
            has_run |= longest > Duration::ZERO;
            evidence = self.look(verifier, criterion, evidence).await;
            passed::write(&self.passed(), &self.entry.id, &verifier.cache);
            if evidence.verdict() != Verdict::Accepted {
                break;
            }
        }
        if evidence.verdict() != Verdict::Accepted && evidence.is_reused() {
            verifier.cache.forget();
            passed::write(&self.passed(), &self.entry.id, &verifier.cache);
        }
        let (_nobody, received) = mpsc::unbounded_channel();
        Checked::Through(verify::with_allowed(verifier, evidence, &mut Orders::new(received)).await)
    }

    fn passed(&self) -> PathBuf {
        passed::place(self.book.folder(), &self.key.name())
    }

    /// Lets checks run until the time or the loop is over, and kills them then.
    async fn within(
        &self,
        work: impl Future<Output = Evidence>,
        orders: mpsc::UnboundedSender<Order>,
    ) -> Result<Evidence, String> {
        let mut work = std::pin::pin!(work);
        let why = tokio::select! {
            evidence = &mut work => return Ok(evidence),
            () = tokio::time::sleep(self.left()) => {
                "it takes longer than the session's program waits for its hook: `ralph install HOST --seconds N` raises that"
            },
            () = self.loop_is_over() => "the loop was cancelled",
        };
        let _ = orders.send(Order::Kill);
        work.await;
        Err(why.to_owned())
    }

    /// Waits until the loop is cancelled or replaced. What cannot be read for a moment goes on.
    async fn loop_is_over(&self) {
        let goes_on = |entry: &Entry| entry.id == self.entry.id && entry.state.is_active();
        loop {
            tokio::time::sleep(LOOK).await;
            match self.book.find(self.key) {
                Ok(Some(entry)) if goes_on(&entry) => {}
                Ok(Some(_) | None) => return,
                Err(_) => {}
            }
        }
    }

    async fn look(&self, verifier: &Verifier, criterion: &Criterion, before: Evidence) -> Evidence {
        let (tell, received) = mpsc::unbounded_channel();
        let mut orders = Orders::new(received);
        let work = verify::look_at_next(verifier, criterion, before.clone(), &mut orders);
        self.within(work, tell).await.unwrap_or_else(|why| {
            let checks = before.checks.into_iter().chain(blind(why).checks).collect();
            Evidence { checks }
        })
    }
}

fn blind(why: String) -> Evidence {
    let check = CheckEvidence::plain(Kind::External, "the checks".to_owned(), Verdict::CouldNotEvaluate, why);
    Evidence { checks: vec![check] }
}

/// Variables that name one call of a hook: what passed for one would never be known to the next.
const OF_THIS_CALL: [&str; 3] = ["_", "TRACEPARENT", "TRACESTATE"];

/// Returns our own environment without what would lead a check's git elsewhere.
fn environment() -> Vec<(OsString, OsString)> {
    let is_gone = |name: &OsString| git::ELSEWHERE.iter().chain(&OF_THIS_CALL).any(|gone| name == gone);
    std::env::vars_os().filter(|(name, _)| !is_gone(name)).collect()
}
