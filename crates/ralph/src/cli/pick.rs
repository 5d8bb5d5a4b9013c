//! Finding the run that a user means.
use crate::error::Failure;
use crate::project::Project;
use crate::store::{Opening, RunRow, Store};

/// Opens the store of the project here, if it has one.
pub async fn store() -> Result<Option<Store>, Failure> {
    let project = Project::here()?;
    Ok(Store::open(&project.state(), Opening::Existing).await?)
}

/// Returns the store and the run: the newest, or the one whose id begins or ends with `part`.
pub async fn run(part: Option<&str>) -> Result<(Store, RunRow), Failure> {
    let none = || Failure::preflight("this project has no runs yet").hint("start one with `ralph run`");
    let store = store().await?.ok_or_else(none)?;
    let mut found = match part {
        None => store.runs(1).await?,
        Some(part) => store.runs_like(part).await?,
    };
    match (found.len(), part) {
        (0, None) => Err(none()),
        (0, Some(part)) => {
            Err(Failure::usage(format!("there is no run {part:?} here")).hint("`ralph runs` lists them"))
        }
        (1, _) => Ok((store, found.swap_remove(0))),
        (_, part) => Err(Failure::usage(format!("{:?} means more than one run", part.unwrap_or_default()))
            .hint("give more characters of the id; `ralph runs --json` has it whole")),
    }
}
