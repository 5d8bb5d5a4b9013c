//! Taking a run over from an engine that is gone, or that must not write any more.
use ralph_core::state::Loop;
use sqlx::Row;

use super::{Store, StoreError};

/// A run as its last engine left it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    pub state: Loop,
    /// How many facts it has.
    pub facts: i64,
    /// The number of its newest engine; 0 where no engine of this store ever drove it.
    pub fence: i64,
}

impl Store {
    /// Reads a run as it was left.
    pub async fn stored(&self, run: &str) -> Result<StoredRun, StoreError> {
        let state = self.loop_json(run).await?;
        let state = serde_json::from_str(&state)
            .map_err(|error| self.unreadable(format!("the loop of {run}: {error}")))?;
        let query = sqlx::query("SELECT fence FROM runs WHERE id = $1").bind(run.to_owned());
        let fence = self.rows(query, |row| row.try_get(0)).await?.pop().unwrap_or_default();
        Ok(StoredRun { state, facts: self.count_events(run).await?, fence })
    }

    /// Makes this engine the one that drives a run. Whoever drove it before can write no more.
    pub async fn take_over(&self, run: &str, owner: &str, settings: &str) -> Result<StoredRun, StoreError> {
        self.still_there()?;
        // One statement: whoever comes next gets the next number.
        let sql =
            "UPDATE runs SET fence = fence + 1, owner = $1, settings = $2 WHERE id = $3 RETURNING fence";
        let raise = sqlx::query(sql).bind(owner.to_owned()).bind(settings.to_owned()).bind(run.to_owned());
        let raised = self.rows(raise, |row| row.try_get(0)).await?.pop();
        let fence = raised.ok_or_else(|| self.unreadable(format!("run {run} is gone")))?;
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
