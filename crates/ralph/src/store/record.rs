//! Writing: one step of a run is one transaction.
use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use ralph_core::state::Loop;

use super::batch::{Statement, Value, event, execute, sql};
use super::given::{Given, loop_sum};
use super::project::{At, project};
use super::{Store, StoreError, Written};

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
        let state = Value::from(self.encode(run.state)?.as_str());
        let given = Given {
            id: run.id,
            kind: run.kind,
            agent: run.agent,
            promise: run.promise,
            max_iterations: run.state.policy.max_iterations.into(),
            started_at: run.at.0,
            settings: run.settings,
        };
        let owned = sql!("UPDATE runs SET fence = ?, owner = ? WHERE id = ?", FIRST_FENCE, run.owner, run.id);
        self.write(vec![given.insert(&state, 0), owned]).await.map_err(|source| self.failed(source))?;
        self.remember(Written { run: run.id.to_owned(), fence: FIRST_FENCE, state: state.text().to_owned() })
            .await
    }

    /// Stores one step: journal, projections and loop, all or nothing.
    pub async fn record(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        self.untouched().await?;
        let state = Value::from(self.encode(entry.state)?.as_str());
        let facts = entry.seq - 1 + i64::try_from(entry.facts.len()).unwrap_or(i64::MAX);
        let mut statements = vec![fenced(entry, &state, facts)];
        for (seq, fact) in (entry.seq..).zip(entry.facts) {
            let body = self.encode(fact)?;
            let at = At { run: entry.run, at: entry.at };
            statements.push(event(at, seq, fact, &body));
            statements.extend(project(at, fact));
        }
        match self.write(statements).await {
            Ok(()) => {
                self.remember(Written {
                    run: entry.run.to_owned(),
                    fence: entry.fence,
                    state: state.text().to_owned(),
                })
                .await
            }
            Err(error) if is_fence(&error) => Err(self.taken_over(entry.run).await),
            Err(source) => Err(self.failed(source)),
        }
    }

    async fn write(&self, statements: Vec<Statement>) -> Result<(), sqlx::Error> {
        let mut connection = self.connection.lock().await;
        execute(&mut connection, statements).await
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
fn fenced(entry: &Entry<'_>, state: &Value, facts: i64) -> Statement {
    sql!(
        "UPDATE runs SET loop = ?, facts = ?, loop_sum = ?, fence = CASE WHEN fence = ? THEN fence END WHERE id = ?",
        state.clone(),
        facts,
        loop_sum(state.text(), facts),
        entry.fence,
        entry.run
    )
}

fn is_fence(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("runs.fence"))
}
