//! Writing: one step of a run is one transaction.
use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use ralph_core::state::Loop;
use ralph_core::task::Role;
use sqlx::Row;

use super::batch::{Line, Statement, Value, events, execute, sql};
use super::given::{Given, Owned, Toll, loop_sum};
use super::orders::{OrderAnswer, PassedOn, taken};
use super::project::{At, project};
use super::read::IDENTITY;
use super::tasks::begun;
use super::{Store, StoreError, Written};

/// What is stored of a new run beside its first step.
pub struct NewRun<'a> {
    pub kind: &'a str,
    pub agent: &'a str,
    pub promise: &'a str,
    /// Everything needed to go on with this run later, as JSON.
    pub settings: &'a str,
    /// Who drives it, as JSON.
    pub owner: &'a str,
    /// What it is a stage of.
    pub stage: Option<NewStage<'a>>,
}

/// The task and the role of a run that is a stage.
#[derive(Debug, Clone, Copy)]
pub struct NewStage<'a> {
    pub task: &'a str,
    pub role: &'a Role,
    /// The number under which its worker has the task. A worker who lost it can begin nothing, and neither can who works by
    /// hand while somebody has it.
    pub lease: Option<i64>,
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
    /// The orders that it answers, and how.
    pub orders: &'a [(&'a str, OrderAnswer)],
    /// What is passed on to the next stage of its task.
    pub passed_on: Option<PassedOn<'a>>,
    pub state: &'a Loop,
}

impl Entry<'_> {
    /// Returns how many facts the run has after this step.
    fn facts_after(&self) -> i64 {
        self.seq - 1 + i64::try_from(self.facts.len()).unwrap_or(i64::MAX)
    }

    fn written(&self, state: &Value) -> Written {
        Written { run: self.run.to_owned(), fence: self.fence, state: state.text().to_owned() }
    }
}

impl Store {
    /// Stores a new run with its first step.
    pub async fn begin(&self, run: &NewRun<'_>, first: &Entry<'_>) -> Result<(), StoreError> {
        let state = Value::from(self.encode(first.state)?.as_str());
        let given = Given {
            id: first.run,
            kind: run.kind,
            agent: run.agent,
            promise: run.promise,
            max_iterations: first.state.policy.max_iterations.into(),
            started_at: first.at.0,
            settings: run.settings,
        };
        let owned = Owned { fence: first.fence, owner: Some(run.owner) };
        let mut statements =
            vec![given.insert((&state, Toll::from(first.state)), first.facts_after(), owned)];
        if let Some(stage) = run.stage {
            statements.extend(begun(first.run, stage, first.at));
        }
        self.journal(first, &mut statements)?;
        let _turn = self.turn.lock().await;
        match (self.write(statements).await, run.stage) {
            (Ok(()), _) => {
                self.remember(first.written(&state));
                Ok(())
            }
            (Err(error), Some(stage)) if is_lease(&error) => Err(match stage.lease {
                Some(_) => self.lost(stage.task),
                None => StoreError::LeaseTaken { task: stage.task.to_owned() },
            }),
            (Err(source), _) => Err(self.failed(source)),
        }
    }

    /// Stores one step: journal, projections and loop, all or nothing.
    pub async fn record(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        self.untouched().await?;
        let state = Value::from(self.encode(entry.state)?.as_str());
        let mut statements = vec![fenced(entry, &state)];
        self.journal(entry, &mut statements)?;
        match self.write(statements).await {
            Ok(()) => {
                self.remember(entry.written(&state));
                Ok(())
            }
            Err(error) if is_fence(&error) => Err(self.taken_over(entry.run).await),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn journal(&self, entry: &Entry<'_>, statements: &mut Vec<Statement>) -> Result<(), StoreError> {
        let at = At { run: entry.run, at: entry.at };
        let lines = (entry.seq..)
            .zip(entry.facts)
            .map(|(seq, fact)| Ok(Line { at, seq, fact, body: self.encode(fact)? }))
            .collect::<Result<Vec<_>, StoreError>>()?;
        if !lines.is_empty() {
            statements.push(events(&lines));
        }
        statements.extend(entry.facts.iter().flat_map(|fact| project(at, fact)));
        statements.extend(entry.orders.iter().map(|order| taken(*order, entry.at)));
        if let Some(words) = &entry.passed_on {
            statements.extend(words.orders(entry.at));
        }
        Ok(())
    }

    /// Writes, and finds out with the first write which database this is.
    async fn write(&self, statements: Vec<Statement>) -> Result<(), sqlx::Error> {
        let mut connection = self.connection.lock().await;
        if self.identity.get().is_some() {
            return execute(&mut connection, statements, None).await.map(drop);
        }
        let answer = execute(&mut connection, statements, Some(IDENTITY)).await?;
        let found = answer.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
        self.identity.get_or_init(|| found.concat());
        Ok(())
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
fn fenced(entry: &Entry<'_>, state: &Value) -> Statement {
    let (facts, toll) = (entry.facts_after(), Toll::from(entry.state));
    sql!(
        "UPDATE runs SET loop = ?, facts = ?, loop_sum = ?, worked_ms = ?, unpriced = ?,
            fence = CASE WHEN fence = ? THEN fence END WHERE id = ?",
        state.clone(),
        facts,
        loop_sum(state.text(), facts),
        toll.worked_ms,
        toll.unpriced,
        entry.fence,
        entry.run
    )
}

fn is_lease(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("tasks.fence"))
}

fn is_fence(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("runs.fence"))
}
