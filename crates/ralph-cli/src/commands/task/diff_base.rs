//! From where a judge looks at the work of a judging role: the commit at which the task was begun. What a reviewer itself
//! changes is mostly nothing.
use ralph_core::fact::Fact;

use crate::error::CommandError;
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

/// Returns the commit from which the first stage of a task started that is still part of what stands in the work tree.
pub async fn find_base_commit(store: &Store, row: &TaskRow, project: &Project) -> Result<Option<String>, CommandError> {
    for run in store.runs_of_task(&row.task.id).await? {
        let sealed = store.events_of_kinds(&run.id, ["run.sealed", "run.sealed"]).await?;
        let mut bases = sealed.iter().filter_map(|event| sealed_base(&event.body));
        if let Some(base) = bases.find(|base| is_ancestor_of_head(project, base)) {
            return Ok(Some(base));
        }
    }
    Ok(None)
}

fn sealed_base(fact: &str) -> Option<String> {
    match serde_json::from_str(fact) {
        Ok(Fact::RunSealed { seal }) => seal.base,
        Ok(_) | Err(_) => None,
    }
}

fn is_ancestor_of_head(project: &Project, base: &str) -> bool {
    git::run_git(&project.root, &["merge-base", "--is-ancestor", base, "HEAD"]).is_ok()
}
