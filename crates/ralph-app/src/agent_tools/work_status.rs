//! The loops that are active, as far as the caller may see them.
use ralph_engine::project::Project;
use serde_json::Value;

use super::ToolCaller;
use crate::control::ActiveWorkReader;
use crate::error::AppResult;
use crate::view::ActiveWork;

/// Returns the active loops as `ralph status --json` prints them; an agent of a run sees only its own.
pub async fn read_status(project: &Project, caller: &ToolCaller) -> AppResult<Vec<Value>> {
    let own = caller.readable_run()?;
    let active = ActiveWorkReader::new(project).read().await?;
    let is_visible = |work: &&ActiveWork| match (own, work) {
        (None, _) => true,
        (Some(own), ActiveWork::Loop(view)) => view.run().id == own,
        (Some(_), ActiveWork::SettingUp(_) | ActiveWork::Worker(_)) => false,
    };
    Ok(active.iter().filter(is_visible).map(ActiveWork::to_json).collect())
}
