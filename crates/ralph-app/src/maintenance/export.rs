//! Exports a run: a header and its journal, as JSON lines.
use ralph_engine::project::Project;
use ralph_store::RunRow;

use crate::error::AppResult;
use crate::run::{FoundRun, find_run};
use crate::view::event_json_line;

const EVENTS_PER_PAGE: u32 = 1_000;

/// Passes the lines of the export to `write`: those of the run whose id starts or ends with `part`, or of the newest run.
/// Returns the run.
pub async fn export_run(project: &Project, part: Option<&str>, mut write: impl FnMut(&str)) -> AppResult<RunRow> {
    let FoundRun { store, run } = find_run(project, part).await?;
    let header = store.export_header(&run).await?;
    write(&serde_json::to_string(&header).unwrap_or_default());
    let mut last_seq = 0;
    loop {
        let rows = store.events_after(&run.id, last_seq, EVENTS_PER_PAGE).await?;
        // An active run writes more facts than the header announces.
        let announced = rows.iter().filter(|row| row.seq <= header.facts);
        announced.for_each(|row| write(&event_json_line(&run.id, row)));
        match rows.last() {
            Some(last) => last_seq = last.seq,
            None => return Ok(run),
        }
    }
}
