//! Taking a run over from an engine that is gone, or that must not write any more.
use ralph_core::state::Loop;
use sqlx::Row;

use super::batch::Value;
use super::claims::now;
use super::given::settings_sum;
use super::{Claim, Store, StoreError};

/// A run as its last engine left it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    pub state: Loop,
    /// How many facts it has.
    pub facts: i64,
    /// The number of its newest engine; 0 where no engine of this store ever drove it.
    pub fence: i64,
}

/// By what right a run is taken over.
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// A worker has the task of this stage.
    Has(&'a Claim),
    /// By hand, while nobody has the task.
    Free { task: &'a str },
    /// It is nobody's stage, or is only buried.
    Any,
}

impl Right<'_> {
    fn task(&self) -> Option<&str> {
        match self {
            Self::Has(claim) => Some(&claim.task),
            Self::Free { task } => Some(task),
            Self::Any => None,
        }
    }

    fn fence(&self) -> Option<i64> {
        match self {
            Self::Has(claim) => Some(claim.fence),
            Self::Free { .. } | Self::Any => None,
        }
    }
}

impl Store {
    /// Reads a run as it was left.
    pub async fn stored(&self, run: &str) -> Result<StoredRun, StoreError> {
        let latest = self.latest(run).await?;
        let state = serde_json::from_str(&latest.state)
            .map_err(|error| self.unreadable(format!("the loop of {run}: {error}")))?;
        Ok(StoredRun { state, facts: self.facts(run, &latest).await?, fence: latest.fence })
    }

    /// Makes this engine the one that drives a run. Whoever drove it before can write no more.
    pub async fn take_over(
        &self,
        run: &str,
        owner: &str,
        settings: &str,
        right: Right<'_>,
    ) -> Result<StoredRun, StoreError> {
        let turn = self.turn.lock().await;
        self.untouched().await?;
        // One statement: whoever comes next gets the next number.
        let sql =
            "UPDATE runs SET fence = fence + 1, owner = $1, settings = $2, settings_sum = $3 WHERE id = $4
                AND CASE WHEN $6 IS NULL THEN NOT EXISTS (SELECT 1 FROM tasks WHERE id = $5 AND lease_until >= $7)
                    ELSE EXISTS (SELECT 1 FROM tasks WHERE id = $5 AND fence = $6) END
            RETURNING fence";
        let settings = Value::from(settings);
        let raise = sqlx::query(sql).bind(owner.to_owned()).bind(settings.text().to_owned());
        let raise = raise.bind(settings_sum(settings.text())).bind(run.to_owned());
        let raise = raise.bind(right.task().map(str::to_owned)).bind(right.fence()).bind(now());
        let raised = self.rows(raise, |row| row.try_get(0)).await?.pop();
        self.wrote_beside();
        drop(turn);
        let fence = raised.ok_or_else(|| match right {
            Right::Has(claim) => self.lost(&claim.task),
            Right::Free { task } => StoreError::LeaseTaken { task: task.to_owned() },
            Right::Any => self.unreadable(format!("run {run} is gone")),
        })?;
        Ok(StoredRun { fence, ..self.stored(run).await? })
    }

    /// Returns who drives a run, or drove it last, as JSON.
    pub async fn owner(&self, run: &str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT owner FROM runs WHERE id = $1").bind(run.to_owned());
        Ok(self.rows(query, |row| row.try_get(0)).await?.pop().flatten())
    }

    fn unreadable(&self, what: String) -> StoreError {
        StoreError::Unreadable { path: self.path.clone(), what }
    }
}
