//! The outbox of notifications: each event is stored once, with a message for each target, before anything is sent.
use std::collections::BTreeMap;

use ralph_core::event::UnixMillis;
use ralph_core::notification::PendingDelivery;

use crate::control_commands::read_loop_row;
use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::store::FencedWrite;
use crate::{LoopRow, RunRow, Store, StoreError, WorkflowRunRow};

/// Ended messages are forgotten after this time. An event is not looked for so long.
const KEPT_MS: u64 = 30 * 86_400_000;

/// An event to store.
#[derive(Debug, Clone, Copy)]
pub struct NewNotification<'a> {
    /// Names what happened: an event with the same name is stored once.
    pub id: &'a str,
    pub happened_at: UnixMillis,
    /// The message, as JSON.
    pub body: &'a str,
    pub at: UnixMillis,
}

/// Names the message of an event for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryKey {
    pub notification: String,
    pub target: String,
}

/// A message that was not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDeliveryRow {
    pub key: DeliveryKey,
    pub pending: PendingDelivery,
    pub happened_at: UnixMillis,
    pub failures: u32,
    /// The message, as JSON.
    pub body: String,
    /// Why it was not sent the last time.
    pub error: Option<String>,
}

/// The result of an attempt to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult<'a> {
    Sent,
    /// It is sent again.
    Failed {
        error: &'a str,
        retry_at: UnixMillis,
    },
    /// It is not sent again.
    Lost {
        error: &'a str,
    },
}

impl Store {
    /// Records since when these targets are configured, if they are new, and returns that of all targets.
    pub async fn register_notification_targets(
        &self,
        names: &[&str],
        since: UnixMillis,
    ) -> Result<BTreeMap<String, UnixMillis>, StoreError> {
        let known = self.notification_targets().await?;
        if names.iter().all(|name| known.contains_key(*name)) {
            return Ok(known);
        }
        let insert = "INSERT INTO notification_targets (name, since) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.execute_all(names.iter().map(|name| sql!(insert, SqlValue::verbatim(name), since.0)).collect()).await?;
        self.notification_targets().await
    }

    async fn notification_targets(&self) -> Result<BTreeMap<String, UnixMillis>, StoreError> {
        let read = |row: &DatabaseRow| Ok((row.get("name")?, UnixMillis(row.get("since")?)));
        Ok(self.rows(sql!("SELECT name, since FROM notification_targets"), read).await?.into_iter().collect())
    }

    /// Returns the names of the events that were stored before, of these.
    pub async fn stored_notifications(&self, ids: &[String]) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM notifications WHERE id IN (SELECT value FROM json_each($1))";
        self.rows(sql!(sql, SqlValue::verbatim(&self.to_json(&ids)?)), |row: &DatabaseRow| row.get("id")).await
    }

    /// Stores an event with a message for each target. Returns false if it was stored before.
    pub async fn add_notification(
        &self,
        notification: &NewNotification<'_>,
        targets: &[&str],
    ) -> Result<bool, StoreError> {
        let NewNotification { id, happened_at, body, at } = *notification;
        let fence = sql!(
            "INSERT INTO notifications (id, at, happened_at, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            SqlValue::verbatim(id),
            at.0,
            happened_at.0,
            body
        );
        let insert = "INSERT INTO notification_deliveries (notification, target, state) VALUES ($1, $2, 'open')";
        let deliveries =
            targets.iter().map(|target| sql!(insert, SqlValue::verbatim(id), SqlValue::verbatim(target))).collect();
        Ok(self.execute_all_fenced(fence, deliveries).await? == FencedWrite::Written)
    }

    /// Returns the messages that were not sent yet, oldest first.
    pub async fn open_deliveries(&self) -> Result<Vec<OpenDeliveryRow>, StoreError> {
        let sql = "SELECT d.notification, d.target, d.failures, d.retry_at, d.claimed_until, d.error, n.at, n.happened_at, n.body
            FROM notification_deliveries d JOIN notifications n ON n.id = d.notification
            WHERE d.state = 'open' ORDER BY n.at, n.id, d.target";
        self.rows(sql!(sql), read_open_delivery).await
    }

    /// Claims a message for this process. Returns false if another process has claimed or sent it.
    pub async fn claim_delivery(
        &self,
        key: &DeliveryKey,
        now: UnixMillis,
        until: UnixMillis,
    ) -> Result<bool, StoreError> {
        let statement = sql!(
            "UPDATE notification_deliveries SET claimed_until = $1
             WHERE notification = $2 AND target = $3 AND state = 'open'
                AND (claimed_until IS NULL OR claimed_until <= $4)",
            until.0,
            SqlValue::verbatim(&key.notification),
            SqlValue::verbatim(&key.target),
            now.0
        );
        Ok(self.execute(statement).await? > 0)
    }

    /// Records what became of a message that this process has claimed.
    pub async fn record_delivery_result(
        &self,
        key: &DeliveryKey,
        result: DeliveryResult<'_>,
    ) -> Result<(), StoreError> {
        let (state, error, retry_at) = match result {
            DeliveryResult::Sent => ("sent", None, None),
            DeliveryResult::Failed { error, retry_at } => ("open", Some(error), Some(retry_at.0)),
            DeliveryResult::Lost { error } => ("lost", Some(error), None),
        };
        let statement = sql!(
            "UPDATE notification_deliveries SET state = $1, error = $2, retry_at = $3, claimed_until = NULL,
                failures = failures + $4 WHERE notification = $5 AND target = $6",
            SqlValue::verbatim(state),
            error,
            retry_at,
            error.is_some(),
            SqlValue::verbatim(&key.notification),
            SqlValue::verbatim(&key.target)
        );
        self.execute(statement).await.map(drop)
    }

    /// Deletes the events that nothing is to be sent of, if they are old.
    pub async fn forget_old_notifications(&self, now: UnixMillis) -> Result<(), StoreError> {
        let oldest = now.0.saturating_sub_unsigned(KEPT_MS);
        let old = "SELECT id FROM notifications n WHERE n.at < $1 AND NOT EXISTS
            (SELECT 1 FROM notification_deliveries d WHERE d.notification = n.id AND d.state = 'open')";
        self.execute_all(vec![
            sql!(format!("DELETE FROM notification_deliveries WHERE notification IN ({old})"), oldest),
            sql!(format!("DELETE FROM notifications WHERE id IN ({old})"), oldest),
        ])
        .await
    }

    /// Returns the runs outside of workflows that ended since then, with their loops, oldest first.
    pub async fn runs_ended_since(&self, since: UnixMillis) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE ended_at >= $1 AND workflow IS NULL ORDER BY ended_at, id",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql, since.0), read_loop_row).await
    }

    /// Returns the workflow runs without a parent that ended since then, oldest first.
    pub async fn workflow_runs_ended_since(&self, since: UnixMillis) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE ended_at >= $1 AND parent IS NULL ORDER BY ended_at, id";
        self.rows(sql!(sql, since.0), WorkflowRunRow::from_row).await
    }
}

fn read_open_delivery(row: &DatabaseRow) -> Result<OpenDeliveryRow, DriverError> {
    let time = |column: &str| row.get::<Option<i64>>(column).map(|at| at.map(UnixMillis));
    Ok(OpenDeliveryRow {
        key: DeliveryKey { notification: row.get("notification")?, target: row.get("target")? },
        pending: PendingDelivery {
            created_at: UnixMillis(row.get("at")?),
            retry_at: time("retry_at")?,
            claimed_until: time("claimed_until")?,
        },
        happened_at: UnixMillis(row.get("happened_at")?),
        failures: u32::try_from(row.get::<i64>("failures")?).unwrap_or(u32::MAX),
        body: row.get("body")?,
        error: row.get("error")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    async fn store(folder: &std::path::Path) -> Store {
        Store::open(folder, OpenMode::Create).await.unwrap().unwrap()
    }

    fn event<'a>(id: &'a str, body: &'a str) -> NewNotification<'a> {
        NewNotification { id, happened_at: NOW, body, at: NOW }
    }

    // spec: U7
    #[tokio::test]
    async fn an_event_is_stored_once_with_a_message_for_each_target() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        assert!(store.add_notification(&event("e1", "{}"), &["a", "b"]).await.unwrap());
        assert!(!store.add_notification(&event("e1", "{}"), &["a", "b", "c"]).await.unwrap());
        let open = store.open_deliveries().await.unwrap();
        assert_eq!(open.iter().map(|row| row.key.target.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let both = ["e1".to_owned(), "e2".to_owned()];
        assert_eq!(store.stored_notifications(&both).await.unwrap(), ["e1"]);
    }

    // spec: U7
    #[tokio::test]
    async fn one_process_claims_a_message_and_a_claim_ends() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        store.add_notification(&event("e1", "{}"), &["a"]).await.unwrap();
        let key = store.open_deliveries().await.unwrap().remove(0).key;
        assert!(store.claim_delivery(&key, NOW, NOW.add_millis(10)).await.unwrap());
        assert!(!store.claim_delivery(&key, NOW.add_millis(9), NOW.add_millis(20)).await.unwrap());
        assert!(store.claim_delivery(&key, NOW.add_millis(10), NOW.add_millis(20)).await.unwrap(), "its process died");
        store.record_delivery_result(&key, DeliveryResult::Sent).await.unwrap();
        assert!(!store.claim_delivery(&key, NOW.add_millis(99), NOW.add_millis(100)).await.unwrap());
        assert_eq!(store.open_deliveries().await.unwrap(), []);
    }

    // spec: U7
    #[tokio::test]
    async fn a_failed_message_stays_open_until_it_is_lost_and_failures_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        store.add_notification(&event("e1", "{}"), &["a"]).await.unwrap();
        let key = DeliveryKey { notification: "e1".to_owned(), target: "a".to_owned() };
        for _ in 0..2 {
            let result = DeliveryResult::Failed { error: "HTTP status 500", retry_at: NOW.add_millis(5) };
            store.record_delivery_result(&key, result).await.unwrap();
        }
        let open = store.open_deliveries().await.unwrap();
        assert_eq!((open[0].failures, open[0].error.as_deref()), (2, Some("HTTP status 500")));
        assert_eq!(open[0].pending.retry_at, Some(NOW.add_millis(5)));
        store.record_delivery_result(&key, DeliveryResult::Lost { error: "refused" }).await.unwrap();
        assert_eq!(store.open_deliveries().await.unwrap(), []);
    }

    // spec: U7
    #[tokio::test]
    async fn a_target_keeps_the_time_of_its_first_registration() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        store.register_notification_targets(&["a"], NOW).await.unwrap();
        let both = store.register_notification_targets(&["a", "b"], NOW.add_millis(7)).await.unwrap();
        assert_eq!((both["a"], both["b"]), (NOW, NOW.add_millis(7)));
    }

    // spec: U7
    #[tokio::test]
    async fn old_events_are_forgotten_unless_something_is_to_be_sent() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        for id in ["sent", "open"] {
            store.add_notification(&event(id, "{}"), &["a"]).await.unwrap();
        }
        let sent = DeliveryKey { notification: "sent".to_owned(), target: "a".to_owned() };
        store.record_delivery_result(&sent, DeliveryResult::Sent).await.unwrap();
        store.forget_old_notifications(NOW.add_millis(KEPT_MS + 1)).await.unwrap();
        let both = ["open".to_owned(), "sent".to_owned()];
        assert_eq!(store.stored_notifications(&both).await.unwrap(), ["open"]);
    }
}
