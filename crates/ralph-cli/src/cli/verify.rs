//! `ralph verify`.
use clap::Args;
use ralph_core::criterion::Criterion;
use ralph_core::fact::Fact;
use ralph_core::outcome::exit_code;
use ralph_core::receipt::{Again, Checked, Doubt, End, Receipt, Tally, doubts, repeatable};

use super::around::refuse_recursion;
use super::config_args::ConfigArgs;
use super::looking::{Looked, Looking};
use super::resume::{HIDDEN, refuse_tracked};
use super::run::with_keeper;
use super::verify_report::Found;
use super::{out, pick};
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::engine::{Asks, KIND_GENERATE, RunSettings, SettingsError};
use ralph_engine::git::{self, Checkout, CheckoutError};
use ralph_engine::project::Project;
use ralph_engine::verify::Acceptance;
use ralph_process::Keeper;
use ralph_store::receipt::{self, Copy};
use ralph_store::{ReceiptRow, RunRow, Store};
use ralph_util::digest::sha256;
use ralph_util::redact;

/// Runs the checks of a completed run again, on a fresh checkout of the commit that was verified, and compares
///
/// Without RUN, the newest. RUN is the beginning or the end of an id. Your work tree is not touched, and no judge is asked
/// again. Commands of a run that `ralph import` read in are started only with --approve.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 confirmed, 3 not confirmed, 1 cannot be verified again (no receipt, no check that can
be repeated, the work was never committed, its commit is gone, verification.setup fails, or a check cannot run there)"
)]
pub struct VerifyArgs {
    run: Option<String>,
    /// Prints one object: run, confirmed, doubts, commit, tree, checks, not_repeated
    #[arg(long)]
    json: bool,
    /// Starts the commands of a run that was read in from a file
    #[arg(long)]
    approve: bool,
}

pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    with_keeper(|keeper| again(args, project, keeper))
}

/// A receipt that can be looked at again.
struct Case {
    run: RunRow,
    stored: ReceiptRow,
    receipt: Receipt,
    /// What can be repeated of its criteria.
    criteria: Vec<Criterion>,
    /// What makes a checkout fit for them, and the hash of all criteria as the run was given them.
    acceptance: Acceptance,
    criteria_sha256: String,
    /// The commit that holds what was verified.
    commit: String,
}

async fn again(args: &VerifyArgs, project: Project, keeper: Keeper) -> Result<u8, Failure> {
    let (store, run) = pick::run(args.run.as_deref()).await?;
    let case = Case::of(&store, &project, run).await?;
    case.refuse_foreign(&store, args).await?;
    let checkout = Checkout::make(&project.root, &case.commit).map_err(|error| gone(&error))?;
    let tree = git::snapshot(checkout.path()).map_err(|error| Failure::new(exit_code::GIT, &error))?.tree;
    let name = format!("verify-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let looking = Looking {
        project: &project,
        checkout: &checkout,
        acceptance: &case.acceptance,
        run: case.run.id.clone(),
        logs: (project.run_folder(&case.run.id), &name),
    };
    let mut asks = Asks::signals().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let evidence = match looking.look(&case.criteria, keeper, &mut asks).await? {
        Looked::Through(evidence) => evidence,
        Looked::Stopped(code) => return Ok(code),
    };
    let checks: Vec<Checked> = evidence.checks.iter().map(Checked::from).collect();
    let again = Again {
        is_whole: sha256(&case.stored.body) == case.stored.sha256,
        agrees: agrees(&store, &case).await?,
        copy_is_same: receipt::compare(&project.run_folder(&case.run.id), &case.receipt) != Copy::Other,
        criteria_sha256: case.criteria_sha256.clone(),
        tree,
        checks,
    };
    let found = Found {
        doubts: doubts(&case.receipt, &again),
        receipt: &case.receipt,
        commit: &case.commit,
        again,
        evidence,
    };
    if args.json {
        out::line(&found.json().to_string());
    } else {
        out::data(&found.text(&project.run_folder(&case.run.id)));
    }
    match found.doubts.as_slice() {
        [] => Ok(exit_code::COMPLETED),
        doubts if doubts.iter().all(Doubt::is_blind) => Err(blind(doubts)),
        [..] => Ok(exit_code::NOT_COMPLETE),
    }
}

/// Nothing speaks against the receipt: nobody could look.
fn blind(doubts: &[Doubt]) -> Failure {
    let failure = Failure::preflight(
        "it cannot be verified again: what it was checked with does not run in a fresh checkout",
    );
    doubts.iter().fold(failure, |failure, doubt| failure.cause(doubt.to_string())).hint(
        "what is not committed is not there: verification.share links folders such as node_modules, verification.setup \
         has commands that make a checkout fit",
    )
}

impl Case {
    async fn of(store: &Store, project: &Project, run: RunRow) -> Result<Self, Failure> {
        if run.kind == KIND_GENERATE {
            return Err(Failure::preflight(format!("run {} made tasks", short_id(&run.id)))
                .cause("its check was their import, which cannot be repeated")
                .hint("`ralph task list` lists them"));
        }
        let Some(stored) = store.receipt(&run.id).await? else { return Err(no_receipt(project, &run)) };
        let receipt: Receipt = serde_json::from_str(&stored.body).map_err(|error| {
            Failure::plain(exit_code::STATE, "the stored receipt cannot be read").cause(error)
        })?;
        let criteria = repeatable(&as_they_ran(project, &run, &receipt)?);
        if criteria.is_empty() {
            return Err(nothing_to_repeat(&receipt));
        }
        let commit = commit_of(project, &receipt)?;
        let settings =
            RunSettings::parse(&run.settings).map_err(|error| Failure::new(exit_code::PREFLIGHT, &error))?;
        let criteria_sha256 = receipt::criteria_sha256(settings.criteria())
            .map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        let acceptance = settings.acceptance().clone();
        Ok(Self { run, stored, receipt, criteria, acceptance, criteria_sha256, commit })
    }

    /// Somebody else's commands are not started unasked.
    async fn refuse_foreign(&self, store: &Store, args: &VerifyArgs) -> Result<(), Failure> {
        if args.approve || store.stored(&self.run.id).await?.fence > 0 {
            return Ok(());
        }
        let what = format!(
            "run {} was read in from a file, and its commands are somebody else's",
            short_id(&self.run.id)
        );
        let setup = self.acceptance.setup.iter().cloned();
        let commands = setup.chain(self.criteria.iter().map(Criterion::shown));
        let failure = commands.fold(Failure::preflight(what), Failure::cause);
        Err(failure.hint("look at the commands, then start them with --approve"))
    }
}

/// Returns the criteria of a receipt. A mark in place of a secret is never started as a command: the secret is read again
/// from its variable, or nothing is started.
fn as_they_ran(project: &Project, run: &RunRow, receipt: &Receipt) -> Result<Vec<Criterion>, Failure> {
    let internal = |error: serde_json::Error| Failure::new(exit_code::INTERNAL, &error);
    let criteria = &receipt.given.criteria;
    if !redact::is_marked(&serde_json::to_string(criteria).map_err(internal)?) {
        return Ok(criteria.clone());
    }
    // What the configuration gives to agents and prompts is known from now on.
    drop(ConfigArgs::default().settings(Some(project)));
    let cannot = |error: SettingsError| {
        let hint = match error {
            SettingsError::Unset { .. } => "set it again as it was, then verify",
            SettingsError::Secret
            | SettingsError::Format { .. }
            | SettingsError::Newer { .. }
            | SettingsError::Kind { .. }
            | SettingsError::Agent { .. } => HIDDEN,
        };
        Failure::new(exit_code::PREFLIGHT, &error).cause("a check held it: it was not started").hint(hint)
    };
    let settings = RunSettings::parse(&run.settings).map_err(cannot)?;
    if receipt::criteria_sha256(settings.criteria()).map_err(internal)? != receipt.given.criteria_sha256 {
        return Err(cannot(SettingsError::Secret));
    }
    Ok(settings.criteria().to_vec())
}

/// Tells whether the receipt says what the journal says.
async fn agrees(store: &Store, case: &Case) -> Result<bool, Failure> {
    let mut tally = Tally::default();
    let mut seen = 0;
    loop {
        let rows = store.events(&case.run.id, seen, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        seen = last.seq;
        for row in rows {
            let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return Ok(false) };
            if let Some(end) = End::of(&fact) {
                return Ok(tally.agrees(&end, &case.receipt) && case.receipt.given.run == case.run.id);
            }
            tally.heed(&fact);
        }
    }
}

const PAGE: u32 = 1_000;

/// Finds the commit that holds what was verified: the one that it stood on, or one that was made of it later.
fn commit_of(project: &Project, receipt: &Receipt) -> Result<String, Failure> {
    let cannot = |what: &str| Failure::preflight(what.to_owned());
    let Some(seen) = &receipt.given.repository else {
        return Err(cannot("the receipt does not say which files were verified: git could not tell then"));
    };
    if let (true, Some(commit)) = (seen.is_committed, &seen.commit) {
        return Ok(commit.clone());
    }
    let later = git::commit_with_tree(&project.root, &seen.tree);
    if let Some(commit) = later.unwrap_or_default() {
        return Ok(commit);
    }
    let here = git::snapshot(&project.root).is_ok_and(|now| now.tree == seen.tree);
    let failure = cannot("the work was not committed when it was verified, and no commit holds it")
        .cause(format!("the files that were verified have the tree {}", seen.tree));
    Err(if here {
        failure.hint("your work tree holds exactly these files: commit them, and verify again")
    } else {
        failure.hint("your work tree holds other files now: what was verified is gone")
    })
}

fn no_receipt(project: &Project, run: &RunRow) -> Failure {
    let failure = Failure::preflight(format!("run {} has no receipt", short_id(&run.id)));
    let failure = match run.status.as_str() {
        "completed" => failure.cause("it was completed by a ralph that wrote none"),
        status => failure.cause(format!("only a completed run has one, and this one is {status}")),
    };
    if project.run_folder(&run.id).join(receipt::FILE).exists() {
        return failure.cause("the receipt.json in its folder is forged: ralph never wrote it");
    }
    failure
}

fn nothing_to_repeat(receipt: &Receipt) -> Failure {
    if receipt.told.checks.is_empty() {
        return Failure::preflight(
            "nothing was verified: only the agent's word stands behind this completion",
        )
        .hint("give a run its proof with --check");
    }
    Failure::preflight("none of the criteria can be verified again")
        .cause("only commands can be repeated: a judge's opinion and the agent's words cannot be had again")
}

fn gone(error: &CheckoutError) -> Failure {
    Failure::new(exit_code::PREFLIGHT, error).hint("fetch it from where it was pushed to, and verify again")
}
