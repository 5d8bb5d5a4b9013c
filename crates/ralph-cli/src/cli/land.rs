//! `ralph land`.
use clap::Args;
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{Evidence, Verdict};
use ralph_core::outcome::exit_code;
use ralph_core::task::Status;
use uuid::Uuid;

use super::around::refuse_recursion;
use super::land_proof::{Proof, Subject, proof};
use super::land_report::Report;
use super::land_turn::{Patience, Turn};
use super::looking::{Looked, Looking};
use super::out;
use super::resume::refuse_tracked;
use super::run::with_keeper;
use super::task::{opened, unknown};
use super::tree_hold::run_named;
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::engine::Asks;
use ralph_engine::git::{Checkout, CheckoutError};
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Landing, Removal, Site, TreeError};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store};

/// Merges the accepted work of finished tasks into your branch, after the merged result was verified
///
/// The checks of the task run once more, in a checkout of what your branch would be. Only if they pass are your branch and
/// your files moved; a conflict or a failure leaves everything as it was. The work tree of the task is removed when nothing
/// in it would be lost; its branch ralph/TASK stays.
#[derive(Debug, Args)]
#[command(after_help = "Several tasks are landed one after the other, up to the first that cannot be.

Exit codes: 0 landed, 1 cannot be landed as things are (not done, a conflict, your uncommitted changes, no branch),
3 the checks fail on the merged result, 5 git failed")]
pub struct LandArgs {
    /// Tasks that are done, in the order in which they are merged
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Prints one object for each task: task, landed, branch, commit, work, verified, checks, tree
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LandArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    with_keeper(|keeper| all(args, project, keeper))
}

async fn all(args: &LandArgs, project: Project, keeper: Keeper) -> Result<u8, Failure> {
    let store = opened().await?;
    let mut patience = Patience::none()?;
    for id in &args.tasks {
        let landed = land((&store, &project), id, keeper.clone(), &mut patience).await?;
        match &landed {
            Landed::Stopped(code) => return Ok(*code),
            Landed::Done(report) | Landed::Refused(report) => {
                if args.json {
                    out::line(&report.json().to_string());
                } else {
                    out::data(&report.text());
                }
            }
        }
        if let Landed::Refused(_) = landed {
            return Ok(exit_code::NOT_COMPLETE);
        }
    }
    Ok(exit_code::COMPLETED)
}

/// What became of a landing.
pub enum Landed {
    Done(Report),
    /// The checks fail on the merged result.
    Refused(Report),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

/// Lands one task. Nobody else lands in this project meanwhile.
pub async fn land(
    (store, project): (&Store, &Project),
    id: &str,
    keeper: Keeper,
    patience: &mut Patience,
) -> Result<Landed, Failure> {
    let subject = finished(store, id).await?;
    let site = Site::of(project)?;
    let _queue = match patience.take(project, "land-lock").await? {
        Turn::Ours(held) => held,
        Turn::Stopped(code) => return Ok(Landed::Stopped(code)),
    };
    let landing = apart((site.clone(), id.to_owned()), |site, id| {
        tree::recover(site, id)?;
        tree::merged(site, id)
    })
    .await?;
    let mut report = Report::of(&landing, project.state().join("land"));
    if !landing.is_there_already() {
        let proof = proof(store, &subject, project).await?;
        let evidence =
            match verified((project, &landing), &proof, (keeper, &report), &mut patience.asks).await? {
                Looked::Through(evidence) => evidence,
                Looked::Stopped(code) => return Ok(Landed::Stopped(code)),
            };
        let is_refused = !evidence.checks.is_empty() && evidence.verdict() != Verdict::Accepted;
        report.evidence = evidence;
        if is_refused {
            return Ok(Landed::Refused(report));
        }
    }
    // An agent that works in the user's files must not find them moved.
    let _tree = match patience.take(project, "lock").await? {
        Turn::Ours(held) => held,
        Turn::Stopped(code) => return Ok(Landed::Stopped(code)),
    };
    report.removal = apart((site, landing), |site, landing| {
        tree::finish(site, landing)?;
        Ok(tree::remove(site, &landing.name).unwrap_or_else(|error| Removal::Kept(error.to_string())))
    })
    .await?;
    report.is_landed = true;
    Ok(Landed::Done(report))
}

/// Does something with git that may take a while; whatever else this process drives goes on meanwhile.
async fn apart<A: Send + 'static, T: Send + 'static>(
    (site, about): (Site, A),
    work: impl FnOnce(&Site, &A) -> Result<T, TreeError> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(move || work(&site, &about)).await;
    Ok(done.map_err(|error| Failure::new(exit_code::INTERNAL, &error))??)
}

/// What came of a landing for a worker, for people.
pub enum InTurn {
    Landed(String),
    Not(String),
    /// A signal stopped it.
    Stopped(String),
}

impl InTurn {
    pub fn told(self) -> Result<String, String> {
        match self {
            Self::Landed(text) => Ok(text),
            Self::Not(text) | Self::Stopped(text) => Err(text),
        }
    }
}

/// Lands one task for a worker, after all others who land here.
pub async fn land_in_turn(
    (store, project): (&Store, &Project),
    id: &str,
    keeper: &Keeper,
    asks: Asks,
) -> InTurn {
    match land((store, project), id, keeper.clone(), &mut Patience::turn(asks)).await {
        Ok(Landed::Done(report)) => InTurn::Landed(report.text()),
        Ok(Landed::Refused(report)) => InTurn::Not(report.text()),
        Ok(Landed::Stopped(_)) => InTurn::Stopped(format!(
            "not landed: stopped; the next `ralph work` lands it, or ralph land {id}"
        )),
        Err(failure) => {
            let causes = failure.causes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            InTurn::Not(format!("not landed: {} ({causes}); ralph land {id}", failure.message))
        }
    }
}

async fn finished(store: &Store, id: &str) -> Result<Subject, Failure> {
    let Some(row) = store.task(id).await? else {
        if let Some(run) = finished_run(store, id).await? {
            return Ok(Subject::Run(Box::new(run)));
        }
        let all = store.tasks().await?;
        return Err(unknown(id, &all.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()));
    };
    if row.task.status == Status::Done {
        return Ok(Subject::Task(Box::new(row)));
    }
    Err(Failure::preflight(format!(
        "task {id} is {}: only finished work is landed",
        row.task.status.as_str()
    ))
    .hint(format!("`ralph task show {id}` tells what is missing; its branch so far is ralph/{id}")))
}

async fn finished_run(store: &Store, name: &str) -> Result<Option<RunRow>, Failure> {
    match run_named(store, name).await? {
        Some(run) if run.status != "completed" => {
            let short = short_id(&run.id);
            Err(Failure::preflight(format!("run {short} is {}: only finished work is landed", run.status))
                .hint(format!("`ralph show {short}` tells why; its branch so far is ralph/{name}")))
        }
        run => Ok(run),
    }
}

/// Runs the checks in a checkout of what the branch would be.
async fn verified(
    (project, landing): (&Project, &Landing),
    proof: &Proof,
    (keeper, report): (Keeper, &Report),
    asks: &mut Asks,
) -> Result<Looked, Failure> {
    if proof.criteria.is_empty() {
        return Ok(Looked::Through(Evidence { checks: Vec::new() }));
    }
    let (root, merged) = (project.root.clone(), landing.merged.clone());
    let made = tokio::task::spawn_blocking(move || Checkout::make(&root, &merged)).await;
    let checkout = made
        .map_err(|error| Failure::new(exit_code::INTERNAL, &error))?
        .map_err(|error: CheckoutError| Failure::new(exit_code::GIT, &error))?;
    let name = format!("{}-{}", landing.name, jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let looking = Looking {
        project,
        checkout: &checkout,
        acceptance: &proof.acceptance,
        run: Uuid::now_v7().to_string(),
        logs: (report.logs.clone(), &name),
    };
    let criteria: &[Criterion] = &proof.criteria;
    looking.look(criteria, keeper, asks).await
}
