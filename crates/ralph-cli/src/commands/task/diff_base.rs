//! The base commit of the diff that a judge reads for a judging role: the commit at which the task started. The changes
//! of the judging stage alone would usually be empty.
use ralph_core::fact::Fact;

use crate::error::CommandError;
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

/// Returns the base commit of the earliest stage of a task whose base is still an ancestor of HEAD.
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
