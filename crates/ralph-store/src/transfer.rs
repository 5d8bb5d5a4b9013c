//! A run as one file: a header, then its journal. The projections are not carried along: they follow from the
//! journal, and reading a file in makes them again by the same rules.
use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use ralph_core::state::Loop;
use serde::{Deserialize, Serialize};

use super::batch::{self, Line, Statement};
use super::given::{Given, Owned, Toll};
use super::project::{At, project};
use super::tasks::belongs;
use super::{Store, StoreError};

/// The version of the file format.
pub const EXPORT_VERSION: u32 = 1;

/// The first line of an exported run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// The version of this format.
    pub ralph_export: u32,
    pub id: String,
    pub kind: String,
    pub agent: String,
    pub promise: String,
    pub max_iterations: i64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// What the run was asked to do.
    pub settings: serde_json::Value,
    /// What the run was a stage of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How many facts follow: a file that was cut is noticed.
    pub facts: i64,
    /// The loop as it was last stored.
    pub state: serde_json::Value,
}

/// One fact of an exported run.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFact {
    pub seq: i64,
    pub at: Millis,
    pub fact: Fact,
}

impl Store {
    /// Returns the header of a run.
    pub async fn header(&self, run: &super::RunRow) -> Result<RunHeader, StoreError> {
        let latest = self.latest(&run.id).await?;
        let (task, role) = self.stage_of(&run.id).await?.unzip();
        Ok(RunHeader {
            ralph_export: EXPORT_VERSION,
            id: run.id.clone(),
            kind: run.kind.clone(),
            agent: run.agent.clone(),
            promise: run.promise.clone(),
            max_iterations: run.max_iterations,
            started_at: run.started_at,
            settings: self.decode(&run.settings)?,
            task,
            role,
            facts: self.facts(&run.id, &latest).await?,
            state: self.decode(&latest.state)?,
        })
    }

    /// Stores a run that came from a file, all or nothing.
    pub async fn import(&self, header: &RunHeader, facts: &[ImportedFact]) -> Result<(), StoreError> {
        let mut statements = vec![new_run(header)];
        for imported in facts {
            let body = self.encode(&imported.fact)?;
            let at = At { run: &header.id, at: imported.at };
            statements.push(batch::events(&[Line { at, seq: imported.seq, fact: &imported.fact, body }]));
            statements.extend(project(at, &imported.fact));
        }
        // Last, so that no fact moves a task of this project.
        if let (Some(task), Some(role)) = (&header.task, &header.role) {
            statements.push(belongs(&header.id, task, role));
        }
        let mut connection = self.connection.lock().await;
        batch::execute_many(&mut connection, statements).await.map_err(|source| self.failed(source))
    }

    fn decode(&self, text: &str) -> Result<serde_json::Value, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::Unreadable { path: self.path.clone(), what: error.to_string() })
    }
}

fn new_run(header: &RunHeader) -> Statement {
    let given = Given {
        id: &header.id,
        kind: &header.kind,
        agent: &header.agent,
        promise: &header.promise,
        max_iterations: header.max_iterations,
        started_at: header.started_at,
        settings: &header.settings.to_string(),
    };
    let toll = Loop::deserialize(&header.state).map_or(Toll::UNKNOWN, |state| Toll::from(&state));
    given.insert((&header.state.to_string().as_str().into(), toll), header.facts, Owned::BY_NOBODY)
}
