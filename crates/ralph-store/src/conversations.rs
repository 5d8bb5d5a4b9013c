//! Conversations: their messages, the workflow runs that they started, and which of their messages are still to be sent.
use ralph_core::conversation::MessagePriority;
use ralph_core::event::UnixMillis;

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::store::FencedWrite;
use crate::{Store, StoreError};

/// A message to store.
#[derive(Debug, Clone, Copy)]
pub struct NewConversationMessage<'a> {
    pub conversation: &'a str,
    /// Its author; `None` is ralph.
    pub author: Option<&'a str>,
    pub words: &'a str,
    /// The workflow run that it is about.
    pub run: Option<&'a str>,
    pub priority: MessagePriority,
    /// Whether it must be sent to a platform.
    pub is_sent: bool,
    pub at: UnixMillis,
}

/// The result of a message that is sent to a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    Waiting,
    Sent,
    Lost,
}

impl DeliveryState {
    const ALL: [Self; 3] = [Self::Waiting, Self::Sent, Self::Lost];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sent => "sent",
            Self::Lost => "lost",
        }
    }
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMessageRow {
    pub conversation: String,
    pub seq: u64,
    pub at: i64,
    pub author: Option<String>,
    pub words: String,
    pub run: Option<String>,
    pub priority: MessagePriority,
    /// `None`: it is not sent, readers fetch it.
    pub delivery: Option<DeliveryState>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub conversation: String,
    pub messages: u64,
    pub last_at: i64,
}

/// When a conversation starts a workflow run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationStart {
    pub at: UnixMillis,
    /// A run that was recorded before and is not stored yet will never start.
    pub starting_since: UnixMillis,
}

/// A workflow run that a conversation has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRunRow {
    pub run: String,
    pub conversation: String,
    /// The events of its journal that the conversation has got.
    pub shown_events: u64,
}

impl Store {
    pub async fn add_conversation_message(&self, message: &NewConversationMessage<'_>) -> Result<(), StoreError> {
        self.execute(insert_message(message)).await.map(drop)
    }

    /// Returns the messages of a conversation, oldest first.
    pub async fn conversation_messages(&self, conversation: &str) -> Result<Vec<ConversationMessageRow>, StoreError> {
        let sql = "SELECT * FROM conversation_messages WHERE conversation = $1 ORDER BY seq";
        self.rows(sql!(sql, SqlValue::verbatim(conversation)), read_message).await
    }

    /// Returns all conversations, the one with the newest message first.
    pub async fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        let sql = "SELECT conversation, COUNT(*) AS messages, MAX(at) AS last_at FROM conversation_messages
            GROUP BY conversation ORDER BY last_at DESC, conversation";
        let read = |row: &DatabaseRow| {
            Ok(ConversationRow {
                conversation: row.get("conversation")?,
                messages: row.get::<i64>("messages")?.unsigned_abs(),
                last_at: row.get("last_at")?,
            })
        };
        self.rows(sql!(sql), read).await
    }

    /// Records a request of a platform. Returns false if it was recorded before.
    pub async fn record_platform_event(&self, platform: &str, event: &str, at: UnixMillis) -> Result<bool, StoreError> {
        let sql = "INSERT INTO platform_events (platform, event, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let statement = sql!(sql, SqlValue::verbatim(platform), SqlValue::verbatim(event), at.0);
        Ok(self.execute(statement).await? > 0)
    }

    /// Records that a conversation starts a workflow run. Returns false, and records nothing, if another one of its runs has
    /// not ended, or is about to start: was recorded after `starting_since` and is not stored yet.
    pub async fn add_conversation_run(
        &self,
        run: &str,
        conversation: &str,
        start: ConversationStart,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO conversation_runs (run, conversation, at) SELECT $1, $2, $3 WHERE NOT EXISTS (
            SELECT 1 FROM conversation_runs c LEFT JOIN workflow_runs w ON w.id = c.run
            WHERE c.conversation = $2 AND CASE WHEN w.id IS NULL THEN c.at > $4 ELSE w.ended_at IS NULL END)";
        let ConversationStart { at, starting_since } = start;
        let (run, conversation) = (SqlValue::verbatim(run), SqlValue::verbatim(conversation));
        Ok(self.execute(sql!(sql, run, conversation, at.0, starting_since.0)).await? > 0)
    }

    /// Forgets a run that could not start.
    pub async fn remove_unstarted_conversation_run(&self, run: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM conversation_runs
            WHERE run = $1 AND NOT EXISTS (SELECT 1 FROM workflow_runs WHERE id = $1)";
        self.execute(sql!(sql, SqlValue::verbatim(run))).await.map(drop)
    }

    /// Returns the conversation that started a workflow run.
    pub async fn conversation_of_run(&self, run: &str) -> Result<Option<ConversationRunRow>, StoreError> {
        let sql = "SELECT run, conversation, shown_events FROM conversation_runs WHERE run = $1";
        self.row(sql!(sql, SqlValue::verbatim(run)), read_run).await
    }

    /// Returns the runs of a conversation, newest first.
    pub async fn runs_of_conversation(&self, conversation: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT run FROM conversation_runs WHERE conversation = $1 ORDER BY at DESC, run DESC";
        self.rows(sql!(sql, SqlValue::verbatim(conversation)), |row: &DatabaseRow| row.get("run")).await
    }

    /// Returns the runs with events that their conversation has not got.
    pub async fn runs_with_unshown_events(&self) -> Result<Vec<ConversationRunRow>, StoreError> {
        let sql = "SELECT c.run AS run, c.conversation AS conversation, c.shown_events AS shown_events
            FROM conversation_runs c JOIN workflow_runs w ON w.id = c.run WHERE w.events > c.shown_events ORDER BY c.at";
        self.rows(sql!(sql), read_run).await
    }

    /// Adds the messages of the events of a run up to `shown_until`. Returns false if another writer has added them.
    pub async fn add_run_messages(
        &self,
        run: &ConversationRunRow,
        shown_until: u64,
        messages: &[NewConversationMessage<'_>],
    ) -> Result<bool, StoreError> {
        let fence = sql!(
            "UPDATE conversation_runs SET shown_events = $1 WHERE run = $2 AND shown_events = $3",
            shown_until,
            SqlValue::verbatim(&run.run),
            run.shown_events
        );
        let written = self.execute_all_fenced(fence, messages.iter().map(insert_message).collect()).await?;
        Ok(written == FencedWrite::Written)
    }

    /// Returns the messages that are still to be sent, oldest first in each conversation.
    pub async fn waiting_conversation_messages(&self) -> Result<Vec<ConversationMessageRow>, StoreError> {
        let sql = "SELECT * FROM conversation_messages WHERE delivery = 'waiting' ORDER BY conversation, seq";
        self.rows(sql!(sql), read_message).await
    }

    /// Records what happened to a message that was to be sent.
    pub async fn record_delivery(
        &self,
        message: &ConversationMessageRow,
        state: DeliveryState,
    ) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE conversation_messages SET delivery = $1 WHERE conversation = $2 AND seq = $3",
            SqlValue::verbatim(state.as_str()),
            SqlValue::verbatim(&message.conversation),
            message.seq
        );
        self.execute(statement).await.map(drop)
    }
}

fn insert_message(message: &NewConversationMessage<'_>) -> SqlStatement {
    let NewConversationMessage { conversation, author, words, run, priority, is_sent, at } = *message;
    sql!(
        "INSERT INTO conversation_messages (conversation, seq, at, author, words, run, is_critical, delivery)
         SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3, $4, $5, $6, $7 FROM conversation_messages WHERE conversation = $1",
        SqlValue::verbatim(conversation),
        at.0,
        author,
        words,
        run.map(SqlValue::verbatim),
        priority == MessagePriority::Critical,
        is_sent.then(|| SqlValue::verbatim(DeliveryState::Waiting.as_str()))
    )
}

fn read_message(row: &DatabaseRow) -> Result<ConversationMessageRow, DriverError> {
    let delivery: Option<String> = row.get("delivery")?;
    let is_critical = row.get::<i64>("is_critical")? != 0;
    Ok(ConversationMessageRow {
        conversation: row.get("conversation")?,
        seq: row.get::<i64>("seq")?.unsigned_abs(),
        at: row.get("at")?,
        author: row.get("author")?,
        words: row.get("words")?,
        run: row.get("run")?,
        priority: if is_critical { MessagePriority::Critical } else { MessagePriority::Normal },
        delivery: delivery.and_then(|name| DeliveryState::ALL.into_iter().find(|state| state.as_str() == name)),
    })
}

fn read_run(row: &DatabaseRow) -> Result<ConversationRunRow, DriverError> {
    Ok(ConversationRunRow {
        run: row.get("run")?,
        conversation: row.get("conversation")?,
        shown_events: row.get::<i64>("shown_events")?.unsigned_abs(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;

    async fn store(folder: &std::path::Path) -> Store {
        Store::open(folder, OpenMode::Create).await.unwrap().unwrap()
    }

    fn message<'a>(words: &'a str, run: Option<&'a str>, is_sent: bool) -> NewConversationMessage<'a> {
        let (conversation, at) = ("http/a", UnixMillis(1));
        let priority = MessagePriority::Critical;
        NewConversationMessage { conversation, author: None, words, run, priority, is_sent, at }
    }

    async fn words(store: &Store) -> Vec<String> {
        store.conversation_messages("http/a").await.unwrap().into_iter().map(|message| message.words).collect()
    }

    /// A start that takes longer than a minute has failed.
    async fn add_run(store: &Store, run: &str, at: u64) -> bool {
        let at = UnixMillis(i64::try_from(at).unwrap());
        let start = ConversationStart { at, starting_since: UnixMillis(at.0 - 60_000) };
        store.add_conversation_run(run, "http/a", start).await.unwrap()
    }

    // spec: W9
    #[tokio::test]
    async fn a_conversation_starts_one_run_at_a_time_also_before_the_run_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let other = Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap();
        assert!(add_run(&store, "r1", 1_000).await);
        assert!(!add_run(&other, "r2", 1_000).await, "the first one is starting");
        store.remove_unstarted_conversation_run("r1").await.unwrap();
        assert!(add_run(&other, "r2", 1_001).await, "the first one could not start");
        assert!(!add_run(&store, "r3", 60_000).await);
        assert!(add_run(&store, "r3", 61_002).await, "the second one never started");
        assert_eq!(store.runs_of_conversation("http/a").await.unwrap(), ["r3", "r2"]);
    }

    // spec: W9
    #[tokio::test]
    async fn the_messages_of_an_event_are_added_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        store.add_conversation_message(&message("start", None, false)).await.unwrap();
        assert!(add_run(&store, "r1", 1).await);
        let run = store.conversation_of_run("r1").await.unwrap().unwrap();
        assert_eq!(run.shown_events, 0);
        let both = [message("one", Some("r1"), false), message("two", Some("r1"), false)];
        assert!(store.add_run_messages(&run, 3, &both).await.unwrap());
        assert!(!store.add_run_messages(&run, 3, &both).await.unwrap(), "another writer was first");
        assert_eq!(words(&store).await, ["start", "one", "two"]);
        assert_eq!(store.conversation_of_run("r1").await.unwrap().unwrap().shown_events, 3);
        assert_eq!(store.runs_of_conversation("http/a").await.unwrap(), ["r1"]);
    }

    // spec: W8
    #[tokio::test]
    async fn a_message_waits_until_it_is_sent_or_lost() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        for (words, is_sent) in [("one", true), ("fetched", false), ("two", true)] {
            store.add_conversation_message(&message(words, None, is_sent)).await.unwrap();
        }
        let waiting = store.waiting_conversation_messages().await.unwrap();
        assert_eq!(waiting.iter().map(|message| message.words.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        store.record_delivery(&waiting[0], DeliveryState::Sent).await.unwrap();
        store.record_delivery(&waiting[1], DeliveryState::Lost).await.unwrap();
        assert_eq!(store.waiting_conversation_messages().await.unwrap(), []);
        let all = store.conversation_messages("http/a").await.unwrap();
        let states: Vec<_> = all.iter().map(|message| message.delivery).collect();
        assert_eq!(states, [Some(DeliveryState::Sent), None, Some(DeliveryState::Lost)]);
        let listed = store.conversations().await.unwrap();
        assert_eq!((listed[0].conversation.as_str(), listed[0].messages), ("http/a", 3));
    }

    // spec: W9
    #[tokio::test]
    async fn a_repeated_request_of_a_platform_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        assert!(store.record_platform_event("slack", "E1", UnixMillis(1)).await.unwrap());
        assert!(!store.record_platform_event("slack", "E1", UnixMillis(2)).await.unwrap());
        assert!(store.record_platform_event("webhook", "E1", UnixMillis(2)).await.unwrap());
    }
}
