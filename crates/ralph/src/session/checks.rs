//! The checks of a claim, within the time that the host gives. Each is begun only where it can be seen through, and what
//! has passed for the same files is not run again.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::criterion::{Criterion, Method};
use ralph_core::duty::Duty;
use ralph_core::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use ralph_core::isolation::Isolation;
use tokio::sync::{mpsc, watch};

use super::entry::Entry;
use super::passed::Passed;
use crate::git;
use crate::memory_size::MemorySize;
use crate::private;
use crate::process::{Keeper, LogBudget, Order};
use crate::project::Project;
use crate::verify::{self, Acceptance, Cache, Claimed, Examiner, Ground, Orders, Sealer, Verifier, Watch};

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
    pub entry: &'a Entry,
    pub keeper: Keeper,
    /// Where results and output are kept, under this name.
    pub folder: &'a Path,
    pub name: String,
    pub until: Instant,
    /// The agent's message.
    pub claim: String,
    /// Changes when nobody wants to know any more.
    pub stop: watch::Receiver<bool>,
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
                    Checked::Through(self.within(work, tell).await)
                }
            },
        }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn verifier(&self) -> Result<Verifier, String> {
        let folder = self.folder.join(format!("{}.checks", self.name));
        private::folder(&folder).map_err(|error| error.to_string())?;
        Ok(Verifier {
            keeper: self.keeper.clone(),
            ground: ground(&self.entry.root, self.entry.id.clone()),
            watch: Watch::default(),
            cache: Cache::default(),
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
        let mut passed = Passed::open(self.folder, &self.name, &self.entry.root);
        let mut evidence = Evidence::default();
        let mut has_run = false;
        for criterion in criteria {
            if let Some(known) = passed.find(criterion) {
                evidence.checks.push(known);
                continue;
            }
            if has_run && self.left() < longest(criterion) {
                return Checked::Still { done: evidence.checks.len(), of: criteria.len() };
            }
            has_run = true;
            let seen = self.look(verifier, criterion).await;
            let is_accepted = seen.verdict() == Verdict::Accepted;
            seen.checks.iter().filter(|_| is_accepted).for_each(|check| passed.keep(criterion, check));
            evidence.checks.extend(seen.checks);
            if !is_accepted {
                break;
            }
        }
        if evidence.verdict() != Verdict::Accepted && evidence.is_reused() {
            passed.forget();
        }
        Checked::Through(evidence)
    }

    /// Lets checks run until the time is over, or nobody wants to know any more, and kills them then.
    async fn within(
        &self,
        work: impl Future<Output = Evidence>,
        orders: mpsc::UnboundedSender<Order>,
    ) -> Evidence {
        let mut work = std::pin::pin!(work);
        let mut stop = self.stop.clone();
        let why = tokio::select! {
            evidence = &mut work => return evidence,
            () = tokio::time::sleep(self.left()) => "it takes longer than the session's program waits for its hook",
            _ = stop.wait_for(|stopped| *stopped) => "the loop was cancelled",
        };
        let _ = orders.send(Order::Kill);
        work.await;
        blind(why.to_owned())
    }

    async fn look(&self, verifier: &Verifier, criterion: &Criterion) -> Evidence {
        let (orders, received) = mpsc::unbounded_channel();
        let one = std::slice::from_ref(criterion);
        let work = async {
            let seen = verify::again(verifier, &[], one, received).await;
            seen.unwrap_or_else(|failed| Evidence { checks: vec![*failed] })
        };
        self.within(work, orders).await
    }
}

/// Returns how long a criterion may take by itself.
fn longest(criterion: &Criterion) -> Duration {
    match &criterion.method {
        Method::External(check) => Duration::from_millis(check.timeout_ms),
        Method::StringMatch | Method::Semantic(_) | Method::MultiStage(_) | Method::Plugin(_) => {
            Duration::ZERO
        }
    }
}

fn blind(why: String) -> Evidence {
    let check = CheckEvidence::plain(Kind::External, "the checks".to_owned(), Verdict::CouldNotEvaluate, why);
    Evidence { checks: vec![check] }
}

/// Returns our own environment without what would lead a check's git elsewhere.
fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !git::ELSEWHERE.iter().any(|gone| name == gone)).collect()
}
