//! `ralph work`.
mod args;
mod shop;
mod tell;
mod trees;

use std::rc::Rc;
use std::sync::Arc;

use ralph_core::event::StopSignal;
use ralph_core::outcome::exit_code;
use ralph_core::task::Status;

pub use args::WorkArgs;
use shop::Shop;

use super::around::refuse_recursion;
use super::demand;
use super::resume::refuse_tracked;
use super::run::{abandon, with_keeper};
use super::task;
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::engine::{EngineError, Signals};
use ralph_engine::project::Project;
use ralph_engine::work::{self, Assignment, Finish, TaskEnd, Until};
use ralph_process::Keeper;
use ralph_store::Store;
use ralph_util::money::Money;
use ralph_util::redact;

pub fn run(args: &WorkArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    let mut settings = args.config.settings(Some(&project))?;
    args.apply(&mut settings);
    demand::ensure_verified(&settings)?;
    let assignment = assignment(args, &settings)?;
    let shop = Shop::new(args.clone(), settings, project)?;
    shop.ensure_trust(&assignment)?;
    with_keeper(|keeper| here(shop, assignment, keeper))
}

fn assignment(args: &WorkArgs, settings: &Settings) -> Result<Assignment, Failure> {
    let pipeline = settings.pipeline().map_err(|why| {
        Failure::preflight(why).hint("name roles such as coder, reviewer, tester, qa, each once")
    })?;
    Ok(Assignment {
        pipeline,
        named: args.tasks.clone(),
        slots: settings.pipeline.slots.value as usize,
        until: if args.until_idle { Until::Idle } else { Until::Stopped },
        lease: settings.pipeline.lease.value,
        max_cost_micros: args.limits.max_cost().map(Money::micros),
    })
}

async fn here(shop: Shop, assignment: Assignment, keeper: Keeper) -> Result<u8, Failure> {
    redact::prepare();
    let store = task::opened().await?;
    let known = known(&store, &assignment.named).await;
    let store = Arc::new(store);
    known?;
    shop.introduce(&assignment);
    let signals = Signals::listen().map_err(|source| EngineError::Signals { source })?;
    let shop = Rc::new(shop);
    match work::work(Rc::clone(&shop), (Arc::clone(&store), keeper), assignment, signals).await {
        Ok(finish) => {
            shop.summarise(&store, &finish).await?;
            drop(shop);
            if let Some(store) = Arc::into_inner(store) {
                store.close().await;
            }
            Ok(code(&finish))
        }
        Err(failure) => {
            abandon(store);
            Err(failure)
        }
    }
}

/// Refuses tasks that are not there before anything is started.
async fn known(store: &Store, named: &[String]) -> Result<(), Failure> {
    if named.is_empty() {
        return Ok(());
    }
    let heads = store.tasks().await?;
    let ids: Vec<&str> = heads.iter().map(|head| head.id.as_str()).collect();
    match named.iter().find(|name| !ids.contains(&name.as_str())) {
        Some(name) => Err(task::unknown(name, &ids)),
        None => Ok(()),
    }
}

fn code(finish: &Finish) -> u8 {
    match finish.stopped {
        Some(StopSignal::Int) => return exit_code::SIGINT,
        Some(StopSignal::Term | StopSignal::Hangup) => return exit_code::SIGTERM,
        None => {}
    }
    let is_done = |end: &TaskEnd| matches!(end, TaskEnd::Over { status: Status::Done, .. } | TaskEnd::Lost);
    if finish.is_spent {
        exit_code::OVER_BUDGET
    } else if finish.is_braked {
        exit_code::AGENT_FAILED
    } else if finish.tasks.values().all(is_done) {
        exit_code::COMPLETED
    } else {
        exit_code::NOT_COMPLETE
    }
}
