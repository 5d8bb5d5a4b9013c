//! `ralph run --worktree`: a run in a work tree of its own.
use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::outcome::{Ended, Outcome, exit_code};
use ralph_core::receipt::Receipt;
use tokio::sync::mpsc;

use super::config_args::ConfigArgs;
use super::{out, trust};
use crate::error::Failure;
use ralph_app::config::{Part, Settings, Use};
use ralph_app::view::short_id;
use ralph_engine::engine::{Asks, PROJECT_VARIABLE, RunPlan, stop_for_commands};
use ralph_engine::project::Project;
use ralph_engine::tree::{self, How, SetUp, Site, TreeError, Workplace};
use ralph_process::{Keeper, Order};
use ralph_store::Store;

/// What its snapshots are kept under.
const STAGE: &str = "run";

/// Makes a tree for a new run. Its state stays in the project.
pub fn plant(plan: RunPlan, settings: &Settings) -> Result<RunPlan, Failure> {
    let site = Site::of(&plan.project)?;
    let name = format!("run-{}", short_id(&plan.id));
    let tree = tree::make(&site, &name, &[])?.tree;
    let setup = settings.pipeline.setup.value.clone();
    Ok(placed(plan, Workplace { site, tree, stage: STAGE.to_owned(), setup }))
}

/// Opens the tree of a run that goes on. One that somebody removed is made and set up again.
pub fn open(plan: RunPlan, name: &str, config: &ConfigArgs) -> Result<RunPlan, Failure> {
    let site = Site::of(&plan.project)?;
    let made = tree::make(&site, name, &[])?;
    let setup = match made.how {
        How::Found => Vec::new(),
        How::New | How::Again => setup(&plan.project, config)?,
    };
    let stage = plan.stage.as_ref().map_or_else(|| STAGE.to_owned(), |stage| stage.role.to_string());
    Ok(placed(plan, Workplace { site, tree: made.tree, stage, setup }))
}

fn setup(project: &Project, config: &ConfigArgs) -> Result<Vec<String>, Failure> {
    let settings = config.settings(Some(project))?;
    let used =
        Use { agents: Vec::new(), permission: Part::Left, checks: Part::Left, criteria: &[], templates: &[] };
    trust::ensure_use(project, &settings, &used)?;
    Ok(settings.pipeline.setup.value)
}

fn placed(plan: RunPlan, place: Workplace) -> RunPlan {
    let project = Project { root: place.tree.path.clone(), home: plan.project.home.clone() };
    RunPlan { project, tree: Some(place), ..plan }
}

/// Makes the tree of a run fit for work, where that is not done yet. A tree in which nothing could begin is removed. Returns the
/// exit code where a signal stopped it.
pub async fn set_up(plan: &RunPlan, keeper: &Keeper) -> Result<Option<u8>, Failure> {
    let Some(place) = &plan.tree else { return Ok(None) };
    let (orders, received) = mpsc::unbounded_channel();
    let with = SetUp {
        keeper: keeper.clone(),
        commands: &place.setup,
        env: environment(&plan.project.root),
        run_id: &plan.id,
        logs: place.site.root_state().join("setup"),
    };
    let mut asks = Asks::signals().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let mut fitting = std::pin::pin!(tree::set_up(&place.tree, with, received, async || true));
    let (done, stopped) = tokio::select! {
        done = &mut fitting => (done, None),
        signal = stop_for_commands(&mut asks, &orders) => {
            let _ = orders.send(Order::Kill);
            (fitting.await, Some(Ended::interrupted(signal).exit_code))
        }
    };
    if done.is_err() {
        // What went wrong is said; what cannot be removed is not in the way.
        drop(tree::discard(&place.site, &place.tree.name));
    }
    match stopped {
        Some(code) => Ok(Some(code)),
        None => Ok(done.map(|()| None)?),
    }
}

fn environment(root: &std::path::Path) -> Vec<(OsString, OsString)> {
    let own = (PROJECT_VARIABLE.into(), PathBuf::from(root).into());
    std::env::vars_os().filter(|(name, _)| name != PROJECT_VARIABLE).chain([own]).collect()
}

/// Moves the branch to what was verified, and says where the work is.
pub async fn close(place: &Workplace, store: &Store, run: &str, ended: &Ended) -> Result<(), Failure> {
    let tree = &place.tree;
    if ended.outcome != Outcome::Completed {
        out::note(&format!("tree      {} has the work so far", tree.path.display()));
        return Ok(());
    }
    let receipt = store.receipt(run).await?.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
    let verified = receipt.and_then(|receipt| receipt.given.repository).map(|seen| seen.tree);
    let accepted = tree::standing(&place.site, tree)
        .and_then(|from| tree::accept(&place.site, tree, &from, &place.stage, verified.as_deref()));
    match accepted {
        Ok(_) => out::note(&format!("branch    {}; `ralph land {}` merges it", tree.branch(), tree.name)),
        Err(error @ TreeError::Git(_)) => return Err(error.into()),
        Err(error) => out::note(&format!("warning: {} was not moved: {error}", tree.branch())),
    }
    Ok(())
}
