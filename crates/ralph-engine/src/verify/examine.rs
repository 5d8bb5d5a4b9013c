//! A claim is looked at: first whether the work left alone what decides, then whether it is committed where it must be, and
//! then the criteria, in the work tree or in a clean room.
use std::path::{Path, PathBuf};

use ralph_core::baseline::Trial;
use ralph_core::commit::{Since, Wanted, objection};
use ralph_core::criterion::{Criterion, ExternalCheck, externals};
use ralph_core::duty::Duty;
use ralph_core::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use ralph_core::policy::Baseline;
use ralph_core::seal::{Seal, SealedFile, Sealing, judge, judge_meanwhile, written_by_checks};
use tokio::sync::mpsc::UnboundedReceiver;

use super::acceptance::Acceptance;
use super::baseline::try_out;
use super::orders::Orders;
use super::room::{Furniture, Room, RoomError};
use super::seal::{SealError, Sealer};
use super::watch::not_looked_at;
use super::{Ground, Verifier, Watch, criteria, external};
use crate::git;
use ralph_core::isolation::Isolation;
use ralph_process::Order;

/// What is asked of every claim of a run.
pub struct Examiner {
    pub criteria: Vec<Criterion>,
    pub acceptance: Acceptance,
    pub duty: Duty,
    /// The commit that the work on the task began at, where it has a tree of its own.
    pub task_base: Option<String>,
    pub sealer: Result<Sealer, SealError>,
}

/// What the preparation of a run came to.
pub struct Preparation {
    pub sealing: Sealing,
    pub baseline: Vec<Trial>,
}

impl Examiner {
    /// Runs the external checks once, where that is wanted, and seals. In the work tree the checks come first: what they leave
    /// behind is no change of the agent's.
    pub async fn prepare(
        self,
        verifier: Verifier,
        baseline: Baseline,
        orders: UnboundedReceiver<Order>,
    ) -> Preparation {
        let orders = &mut Orders::new(orders);
        let Self { criteria, acceptance, duty, sealer, .. } = self;
        let root = verifier.ground.root.clone();
        let note = duty.note(&criteria);
        match (acceptance.isolation, baseline) {
            (Isolation::Workspace, Baseline::Run) => {
                let (sealing, sealer) =
                    seal(sealer, root.clone(), (Isolation::Workspace, None), orders).await;
                let (Sealing::Done { seal: before }, Some(sealer)) = (&sealing, sealer) else {
                    return Preparation { sealing, baseline: Vec::new() };
                };
                let trials = try_out(&verifier, &criteria, orders).await;
                let (mut after, _) = seal(Ok(sealer), root, (Isolation::Workspace, note), orders).await;
                if let Sealing::Done { seal } = &mut after {
                    seal.notes.extend(written_by_checks(&before.files, &seal.files));
                }
                Preparation { sealing: after, baseline: trials }
            }
            (isolation, Baseline::Skip) => {
                let (sealing, _) = seal(sealer, root, (isolation, note), orders).await;
                Preparation { sealing, baseline: Vec::new() }
            }
            (Isolation::Clean, Baseline::Run) => {
                let (sealing, sealer) = seal(sealer, root, (Isolation::Clean, note), orders).await;
                let (Sealing::Done { seal }, Some(sealer)) = (&sealing, sealer) else {
                    return Preparation { sealing, baseline: Vec::new() };
                };
                let commit = seal.base.clone().unwrap_or_default();
                let baseline = match enter(verifier, sealer, (&acceptance, seal, commit), orders).await {
                    Ok((verifier, _room)) => try_out(&verifier, &criteria, orders).await,
                    Err(evidence) => {
                        vec![Trial { evidence: *evidence, lack: ralph_core::baseline::Lack::Else }]
                    }
                };
                Preparation { sealing, baseline }
            }
        }
    }

    /// Looks whether what decides was left alone, before any program of the work tree is started. A run of before has no seal.
    pub async fn unbroken(self, seal: Option<Seal>, orders: &mut Orders) -> Result<Unbroken, Evidence> {
        let Self { criteria, acceptance, duty, task_base, sealer } = self;
        let Some(seal) = seal else {
            return Ok(Unbroken { criteria, acceptance, duty, task_base, sealed: None });
        };
        let sealer = unbroken(sealer, seal.clone(), orders).await.map_err(one)?;
        Ok(Unbroken { criteria, acceptance, duty, task_base, sealed: Some((seal, sealer)) })
    }
}

/// A claim whose work has left alone what decides.
pub struct Unbroken {
    criteria: Vec<Criterion>,
    acceptance: Acceptance,
    duty: Duty,
    task_base: Option<String>,
    sealed: Option<(Seal, Sealer)>,
}

impl Unbroken {
    /// Lets a verifier watch over what is sealed, and reuse what is known of these files, for checks that are run one by one
    /// in the work tree.
    pub async fn watched(self, verifier: Verifier, orders: &mut Orders) -> Verifier {
        let verifier = match self.sealed {
            Some((seal, sealer)) => Verifier { watch: Watch::over(sealer, seal, None), ..verifier },
            None => verifier,
        };
        knowing(verifier, &self.acceptance, &self.criteria, orders).await
    }

    /// Looks whether it is committed, where it must be, and at the criteria.
    pub async fn examine(self, verifier: Verifier, orders: &mut Orders) -> Evidence {
        let Some((seal, sealer)) = self.sealed else {
            return criteria::look_at_all(&verifier, &self.criteria, orders).await;
        };
        let wanted = match (self.acceptance.isolation, self.duty) {
            (Isolation::Clean, _) => Wanted::Everything,
            (Isolation::Workspace, duty) => of_duty(duty),
        };
        let base = match self.duty {
            Duty::CommitForTask => self.task_base.or_else(|| seal.base.clone()),
            Duty::None | Duty::Commit | Duty::Approve | Duty::Back => seal.base.clone(),
        };
        let from = (verifier.ground.root.as_path(), base);
        let commit = match committed(from, &seal, (wanted, self.duty), orders).await {
            Ok(commit) => commit,
            Err(objection) => return one(objection),
        };
        match self.acceptance.isolation {
            Isolation::Workspace => {
                let watch = Watch::over(sealer, seal, None);
                let verifier = Verifier { watch, ..verifier };
                let verifier = knowing(verifier, &self.acceptance, &self.criteria, orders).await;
                let evidence = looked_at(&verifier, &self.criteria, orders).await;
                if evidence.verdict() != Verdict::Accepted && evidence.is_reused() {
                    verifier.cache.forget();
                }
                evidence
            }
            Isolation::Clean => {
                match enter(verifier, sealer, (&self.acceptance, &seal, commit), orders).await {
                    Ok((verifier, _room)) => looked_at(&verifier, &self.criteria, orders).await,
                    Err(evidence) => one(evidence),
                }
            }
        }
    }
}

/// Looks at all criteria. Without one it is the seal that accepts, which says nothing about the work.
async fn looked_at(verifier: &Verifier, criteria: &[Criterion], orders: &mut Orders) -> Evidence {
    let evidence = criteria::look_at_all(verifier, criteria, orders).await;
    let is_seal_alone = criteria.is_empty() && evidence.checks.is_empty();
    let evidence = if is_seal_alone { one(Box::new(judge(&[]))) } else { evidence };
    with_allowed(verifier, evidence, orders).await
}

/// Adds to what is accepted what was changed although it decides, and may be.
pub async fn with_allowed(verifier: &Verifier, mut evidence: Evidence, orders: &mut Orders) -> Evidence {
    if evidence.verdict() == Verdict::Accepted {
        evidence.checks.extend(verifier.watch.allowed(orders).await);
    }
    evidence
}

fn one(check: Box<CheckEvidence>) -> Evidence {
    Evidence { checks: vec![*check] }
}

/// Lets a verifier reuse what is known of these files. With a single check there is nothing to reuse: once it accepts, the
/// run is over.
async fn knowing(
    verifier: Verifier,
    acceptance: &Acceptance,
    criteria: &[Criterion],
    orders: &mut Orders,
) -> Verifier {
    if acceptance.is_always_fresh || externals(criteria).len() < 2 {
        return verifier;
    }
    let root = verifier.ground.root.clone();
    let looked = orders.hold(move || git::telling_tree(&root)).await;
    let tree = looked.ok().and_then(Result::ok).flatten();
    Verifier { cache: verifier.cache.at(tree), ..verifier }
}

/// Hashes what must not change. That may be much, so it does not hold up the driver.
async fn seal(
    sealer: Result<Sealer, SealError>,
    root: PathBuf,
    (isolation, note): (Isolation, Option<String>),
    orders: &mut Orders,
) -> (Sealing, Option<Sealer>) {
    let sealed = orders.hold(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        let mut seal = sealer.seal().map_err(|error| error.to_string())?;
        if isolation == Isolation::Clean {
            let position = git::position(&root, None).map_err(|error| error.to_string())?;
            if position.head.is_none() {
                return Err("isolation: clean needs a commit to start from, and there is none".to_owned());
            }
            seal.uncommitted = position.uncommitted;
        }
        seal.notes.extend(note);
        Ok((seal, sealer))
    });
    match sealed.await.flatten() {
        Ok((seal, sealer)) => (Sealing::Done { seal }, Some(sealer)),
        Err(why) => (Sealing::Impossible { why }, None),
    }
}

/// Gives the sealer back where nothing that it sealed has changed, else what the seal says.
async fn unbroken(
    sealer: Result<Sealer, SealError>,
    seal: Seal,
    orders: &mut Orders,
) -> Result<Sealer, Box<CheckEvidence>> {
    let looked = orders.hold(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        Ok((sealer.look(&seal), sealer))
    });
    let looked = looked.await.flatten();
    if orders.is_stopped() {
        return Err(Box::new(not_looked_at()));
    }
    match looked {
        Ok((evidence, sealer)) if evidence.verdict == Verdict::Accepted => Ok(sealer),
        Ok((evidence, _)) => Err(Box::new(evidence)),
        Err(why) => Err(Box::new(judge(&[why]))),
    }
}

/// Returns the commit that is claimed, or why it is not enough.
async fn committed(
    (root, base): (&Path, Option<String>),
    seal: &Seal,
    (wanted, duty): (Wanted, Duty),
    orders: &mut Orders,
) -> Result<String, Box<CheckEvidence>> {
    if wanted == Wanted::Nothing {
        return Ok(String::new());
    }
    let root = root.to_path_buf();
    let looked =
        orders.hold(move || git::position(&root, base.as_deref()).map_err(|error| error.to_string()));
    let mut position =
        looked.await.flatten().map_err(|why| Box::new(blind(Kind::Commit, "the commit", why)))?;
    position.uncommitted.retain(|file| !seal.uncommitted.contains(file));
    let objection = objection(wanted, &position).or_else(|| objection(of_duty(duty), &position));
    match objection {
        Some(objection) => Err(Box::new(objection)),
        None => Ok(position.head.unwrap_or_default()),
    }
}

/// A coder must have committed something, also where everything must be committed.
fn of_duty(duty: Duty) -> Wanted {
    match duty {
        Duty::Commit => Wanted::Something(Since::Run),
        Duty::CommitForTask => Wanted::Something(Since::Task),
        Duty::None | Duty::Approve | Duty::Back => Wanted::Nothing,
    }
}

fn blind(kind: Kind, what: &str, why: String) -> CheckEvidence {
    CheckEvidence::plain(kind, what.to_owned(), Verdict::CouldNotEvaluate, why)
}

/// Makes a clean room and lets the checks run in it. What prepares it counts as a check.
async fn enter(
    verifier: Verifier,
    sealer: Sealer,
    (acceptance, seal, commit): (&Acceptance, &Seal, String),
    orders: &mut Orders,
) -> Result<(Verifier, Room), Box<CheckEvidence>> {
    let root = verifier.ground.root.clone();
    let furniture = Furniture { root, commit, share: acceptance.share.clone(), seal: seal.clone() };
    let made = orders.hold(move || {
        let room = Room::make(&sealer, &furniture)?;
        let there = sealer.at(room.path());
        let files = there.without_programs().files()?;
        Ok((room, (sealer, there, files)))
    });
    let (room, sealed) = made
        .await
        .and_then(|made: Result<_, RoomError>| made.map_err(|error| error.to_string()))
        .map_err(|why| Box::new(blind(Kind::Commit, "the clean room", why)))?;
    let ground = Ground { root: room.path().to_path_buf(), ..verifier.ground };
    let verifier = Verifier { ground, ..verifier };
    set_up(&verifier, &acceptance.setup, orders).await?;
    let watch = watch_room(sealed, seal.clone(), orders).await?;
    Ok((Verifier { watch, ..verifier }, room))
}

/// Watches over a room that is set up. Its commands may have installed programs, and must have left alone all else.
async fn watch_room(
    (sealer, there, files): (Sealer, Sealer, Vec<SealedFile>),
    seal: Seal,
    orders: &mut Orders,
) -> Result<Watch, Box<CheckEvidence>> {
    let looked = orders.hold(move || {
        let changes = there.without_programs().changes_of(&files);
        if !changes.is_empty() {
            return Err(changes);
        }
        let files = there.files().map_err(|error| vec![error.to_string()])?;
        Ok(Watch::over(sealer, seal, Some((there, files))))
    });
    let looked = looked.await.map_err(|why| vec![why]).flatten();
    looked.map_err(|changes| Box::new(judge_meanwhile(&changes)))
}

/// Runs the commands that make a checkout fit for the checks.
async fn set_up(
    verifier: &Verifier,
    setup: &[String],
    orders: &mut Orders,
) -> Result<(), Box<CheckEvidence>> {
    let commands = setup.iter().map(|command| ExternalCheck::of_command(command));
    in_turn(verifier, commands, orders, async || true).await
}

/// Runs the commands that make a work tree fit for work, which may take longer than a check.
pub async fn set_up_tree(
    verifier: &Verifier,
    setup: &[String],
    orders: UnboundedReceiver<Order>,
    may_go_on: impl AsyncFn() -> bool,
) -> Result<(), Box<CheckEvidence>> {
    let patient = |command: &String| ExternalCheck {
        timeout_ms: LONGEST_SET_UP_MS,
        ..ExternalCheck::of_command(command)
    };
    in_turn(verifier, setup.iter().map(patient), &mut Orders::new(orders), may_go_on).await
}

/// Runs commands one after the other. The first that fails ends it.
async fn in_turn(
    verifier: &Verifier,
    commands: impl Iterator<Item = ExternalCheck>,
    orders: &mut Orders,
    may_go_on: impl AsyncFn() -> bool,
) -> Result<(), Box<CheckEvidence>> {
    for (check, number) in commands.zip(1_u32..) {
        let seen = if may_go_on().await {
            let log = format!("{}.setup-{number}.log", verifier.name);
            external::check(verifier, &check, log, orders).await
        } else {
            blind(Kind::External, &check.command.to_string(), "somebody else has the tree".to_owned())
        };
        if seen.verdict != Verdict::Accepted {
            return Err(Box::new(CheckEvidence { name: Some(format!("setup {}", seen.called())), ..seen }));
        }
    }
    Ok(())
}

/// Packages may have to be fetched and built.
const LONGEST_SET_UP_MS: u64 = 30 * 60 * 1_000;

/// Verifies criteria in a checkout, long after the run. Returns what could not be set up, if that is so.
pub async fn again(
    verifier: &Verifier,
    setup: &[String],
    criteria: &[Criterion],
    orders: UnboundedReceiver<Order>,
) -> Result<Evidence, Box<CheckEvidence>> {
    let orders = &mut Orders::new(orders);
    set_up(verifier, setup, orders).await?;
    Ok(criteria::look_at_all(verifier, criteria, orders).await)
}
