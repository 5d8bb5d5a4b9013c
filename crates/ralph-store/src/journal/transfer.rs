//! Exports and imports a run as one file: a header, then its journal. Projections are not exported; the import rebuilds
//! them from the journal.
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use serde::{Deserialize, Serialize};

use crate::driver::statement::SqlStatement;
use crate::journal::event_rows::{JournalRow, insert_events};
use crate::journal::projections::{FactContext, project_fact};
use crate::journal::run_insert::{RunHeaderRow, RunOwnership, RunTotals};
use crate::tasks::task_changes::{TaskStage, assign_run_to_task};
use crate::{Store, StoreError};

/// The version of the file format.
pub const EXPORT_VERSION: u32 = 1;

/// The first line of an exported run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportHeader {
    /// The version of this format.
    pub ralph_export: u32,
    pub id: String,
    pub kind: String,
    pub agent: String,
    pub promise: String,
    pub max_iterations: i64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    pub settings: serde_json::Value,
    /// The task that the run was a stage of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The number of facts that follow; detects a truncated file.
    pub facts: i64,
    /// The loop as it was last stored.
    pub state: serde_json::Value,
}

/// One fact of an exported run.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFact {
    pub seq: i64,
    pub at: UnixMillis,
    pub fact: Fact,
}

impl Store {
    /// Returns the export header of a run.
    pub async fn export_header(&self, run: &crate::RunRow) -> Result<ExportHeader, StoreError> {
        let latest = self.latest_loop(&run.id).await?;
        let stage = self.stage_of_run(&run.id).await?;
        let (task, role) = stage.map(|TaskStage { task, role }| (task, role)).unzip();
        Ok(ExportHeader {
            ralph_export: EXPORT_VERSION,
            id: run.id.clone(),
            kind: run.kind.clone(),
            agent: run.agent.clone(),
            promise: run.promise.clone(),
            max_iterations: run.first_max_iterations,
            started_at: run.started_at,
            settings: self.parse_json(&run.settings)?,
            task,
            role,
            facts: self.count_facts(&run.id, &latest).await?,
            state: self.parse_json(&latest.loop_json)?,
        })
    }

    /// Stores an imported run, all or nothing.
    pub async fn import_run(&self, header: &ExportHeader, facts: &[ImportedFact]) -> Result<(), StoreError> {
        let mut statements = vec![insert_imported_run(header)];
        for imported in facts {
            let body = self.to_json(&imported.fact)?;
            let context = FactContext { run: &header.id, at: imported.at };
            statements.push(insert_events(&[JournalRow { context, seq: imported.seq, fact: &imported.fact, body }]));
            statements.extend(project_fact(context, &imported.fact));
        }
        // After the facts, so that none of them changes the status of a task in this project.
        if let (Some(task), Some(role)) = (&header.task, &header.role) {
            statements.push(assign_run_to_task(&header.id, task, role));
        }
        self.execute_all(statements).await
    }

    fn parse_json(&self, text: &str) -> Result<serde_json::Value, StoreError> {
        serde_json::from_str(text).map_err(|error| self.unreadable_error(error.to_string()))
    }
}

fn insert_imported_run(header: &ExportHeader) -> SqlStatement {
    let row = RunHeaderRow {
        id: &header.id,
        kind: &header.kind,
        agent: &header.agent,
        promise: &header.promise,
        max_iterations: header.max_iterations,
        started_at: header.started_at,
        settings: &header.settings.to_string(),
    };
    let totals = LoopState::deserialize(&header.state).map_or(RunTotals::UNKNOWN, |state| RunTotals::from(&state));
    row.insert_statement(&header.state.to_string().as_str().into(), totals, header.facts, RunOwnership::UNOWNED)
}
