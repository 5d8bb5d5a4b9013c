//! Writing: one step of a run is one transaction.
use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use ralph_core::state::Loop;

use super::batch::{Statement, event, execute, sql};
use super::project::{At, project};
use super::{Store, StoreError};

/// A run to be stored before anything of it happens.
pub struct NewRun<'a> {
    pub id: &'a str,
    pub kind: &'a str,
    pub agent: &'a str,
    pub promise: &'a str,
    /// Everything needed to go on with this run later, as JSON.
    pub settings: &'a str,
    pub at: Millis,
    pub state: &'a Loop,
    /// Who drives it, as JSON.
    pub owner: &'a str,
}

/// The fence of a run that was just stored; each who takes it over raises it.
pub const FIRST_FENCE: i64 = 1;

/// One step: the facts that follow from it and the loop after it.
pub struct Entry<'a> {
    pub run: &'a str,
    /// The number under which this engine drives the run.
    pub fence: i64,
    /// The number of the first fact.
    pub seq: i64,
    pub at: Millis,
    pub facts: &'a [&'a Fact],
    pub state: &'a Loop,
}

impl Store {
    /// Stores a new run. It has no facts yet.
    pub async fn create_run(&self, run: &NewRun<'_>) -> Result<(), StoreError> {
        let state = self.encode(run.state)?;
        let mut connection = self.connection.lock().await;
        let insert = sql!(
            "INSERT INTO runs
                (id, kind, status, agent, promise, max_iterations, started_at, settings, loop, fence, owner)
             VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?)",
            run.id,
            run.kind,
            run.agent,
            run.promise,
            run.state.policy.max_iterations,
            run.at.0,
            run.settings,
            state.as_str(),
            FIRST_FENCE,
            run.owner
        );
        execute(&mut connection, vec![insert]).await.map_err(|source| self.failed(source))
    }

    /// Stores one step: journal, projections and loop, all or nothing.
    pub async fn record(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        self.still_there()?;
        let state = self.encode(entry.state)?;
        let mut statements = vec![fenced(entry, &state)];
        for (seq, fact) in (entry.seq..).zip(entry.facts) {
            let body = self.encode(fact)?;
            let at = At { run: entry.run, at: entry.at };
            statements.push(event(at, seq, fact, &body));
            statements.extend(project(at, fact));
        }
        let written = {
            let mut connection = self.connection.lock().await;
            execute(&mut connection, statements).await
        };
        match written {
            Err(error) if is_fence(&error) => Err(self.taken_over(entry.run).await),
            other => other.map_err(|source| self.failed(source)),
        }
    }

    async fn taken_over(&self, run: &str) -> StoreError {
        let owner = self.owner(run).await.ok().flatten();
        StoreError::TakenOver { run: run.to_owned(), owner }
    }

    pub(super) fn encode(&self, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value)
            .map_err(|error| StoreError::Unreadable { path: self.path.clone(), what: error.to_string() })
    }
}

/// Stores the loop, unless somebody else has taken the run over: his fence is another, there is then no value for the
/// column, and the whole step fails.
fn fenced(entry: &Entry<'_>, state: &str) -> Statement {
    sql!(
        "UPDATE runs SET loop = ?, fence = CASE WHEN fence = ? THEN fence END WHERE id = ?",
        state,
        entry.fence,
        entry.run
    )
}

fn is_fence(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("runs.fence"))
}
