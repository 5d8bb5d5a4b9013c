//! Guidance that stays in every prompt of a workflow run: of its agents, and of those of its children. Each run of an agent
//! has a copy, so that a loop reads it before every iteration.
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{CommandTarget, Store};

use super::lookup::{FoundWorkflowRun, find_root_run, find_workflow_run};
use super::orders::find_open_run;
use crate::control::StandingGuidance;
use crate::error::AppResult;
use crate::run::{is_orphaned, refuse_command_by_agent};
use crate::view::short_id;

/// Adds guidance to every later prompt of a run.
pub async fn keep_workflow_guidance(project: &Project, part: Option<&str>, words: &str) -> AppResult<StandingGuidance> {
    refuse_command_by_agent(project, "guide a workflow run of the project that it works on")?;
    let (store, run) = find_open_run(project, part).await?;
    let at = Clock::wall_now();
    store.add_standing_guidance(CommandTarget::Run(&run.id), words, at).await?;
    for pass in store.passes_of_workflow_tree(&run.id).await? {
        if pass.status == "running" && !is_orphaned(project, &pass.id) {
            store.add_standing_guidance(CommandTarget::Run(&pass.id), words, at).await?;
        }
    }
    list_and_close(store, &run.id).await
}

/// Returns the guidance that is kept for a run.
pub async fn list_workflow_guidance(project: &Project, part: Option<&str>) -> AppResult<StandingGuidance> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    let run = find_root_run(&store, run).await?;
    list_and_close(store, &run.id).await
}

/// Removes the guidance that is kept for a run, also from the prompts of its agents. Returns what there was.
pub async fn clear_workflow_guidance(project: &Project, part: Option<&str>) -> AppResult<StandingGuidance> {
    refuse_command_by_agent(project, "guide a workflow run of the project that it works on")?;
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    let run = find_root_run(&store, run).await?;
    let words = store.standing_guidance(Some(&run.id), None).await?;
    for pass in store.passes_of_workflow_tree(&run.id).await? {
        store.clear_standing_guidance(CommandTarget::Run(&pass.id)).await?;
    }
    store.clear_standing_guidance(CommandTarget::Run(&run.id)).await?;
    store.close().await;
    Ok(StandingGuidance { name: short_id(&run.id).to_owned(), words })
}

/// Gives a run of an agent, which is about to start, the guidance that is kept for its workflow run.
pub(super) async fn copy_kept_guidance(store: &Store, root: &str, pass: &str) -> AppResult<()> {
    for words in store.standing_guidance(Some(root), None).await? {
        store.add_standing_guidance(CommandTarget::Run(pass), &words, Clock::wall_now()).await?;
    }
    Ok(())
}

async fn list_and_close(store: Store, run: &str) -> AppResult<StandingGuidance> {
    let words = store.standing_guidance(Some(run), None).await?;
    store.close().await;
    Ok(StandingGuidance { name: short_id(run).to_owned(), words })
}
