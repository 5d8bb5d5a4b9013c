//! The conversations of one server: receives messages, feeds those of runs to their conversations, and sends them to platforms.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::conversation::MessagePriority;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, EngineError};
use ralph_store::{ConversationMessageRow, ConversationRow, NewConversationMessage, OpenMode, Store};
use ralph_util::sanitize::sanitize_text;
use tokio::sync::Notify;

use super::conversation_key::{ConversationKey, Platform};
use super::delivery::DeliveryWorker;
use super::observer::ConversationObserver;
use super::platforms::endpoint::PlatformEndpoint;
use super::run_feed::{RunFeed, show_stored_events};
use crate::config::{MessageMode, Settings};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::open_existing_store;
use crate::workflow_runs::WorkflowObserver;

/// How often events of runs that other processes drive are looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub struct ConversationHub {
    pub(super) project: Project,
    pub(super) mode: MessageMode,
    endpoints: Vec<Arc<PlatformEndpoint>>,
    /// Wakes the task that shows events and sends messages.
    pub(super) changed: Notify,
    /// The runs whose events a feed of this process shows.
    fed_runs: Mutex<BTreeSet<String>>,
}

impl ConversationHub {
    /// Reads the platforms. Fails if one of them is set and cannot work, or if the project's file sets it.
    pub fn open(project: &Project, settings: &Settings) -> AppResult<Arc<Self>> {
        if let Some((key, origin)) = settings.platforms.key_from_project() {
            return Err(AppError::preflight(format!("{key} cannot be set by the project's file ({origin})"))
                .with_cause("a platform starts workflows, so only you may connect it")
                .with_advice("move it to your own configuration file"));
        }
        let endpoints = [Platform::Slack, Platform::Webhook].map(|platform| PlatformEndpoint::load(platform, settings));
        let endpoints = endpoints.into_iter().filter_map(Result::transpose).collect::<AppResult<Vec<_>>>()?;
        Ok(Arc::new(Self {
            project: project.clone(),
            mode: settings.platforms.mode.value,
            endpoints: endpoints.into_iter().map(Arc::new).collect(),
            changed: Notify::new(),
            fed_runs: Mutex::default(),
        }))
    }

    pub(super) fn endpoint(&self, platform: Platform) -> Option<&Arc<PlatformEndpoint>> {
        self.endpoints.iter().find(|endpoint| endpoint.platform == platform)
    }

    /// Returns an observer that shows a run to its conversation, if a conversation has started the run, and reports to
    /// `inner` too.
    pub fn observe(self: &Arc<Self>, run: &str, inner: Arc<dyn WorkflowObserver>) -> Arc<dyn WorkflowObserver> {
        self.lock_fed_runs().insert(run.to_owned());
        Arc::new(ConversationObserver { inner, feed: RunFeed::spawn(Arc::clone(self), run) })
    }

    pub(super) fn forget_feed(&self, run: &str) {
        self.lock_fed_runs().remove(run);
        self.changed.notify_one();
    }

    /// Shows events of runs that other processes drive, and sends messages to platforms. Ends when it is dropped.
    pub async fn run(self: Arc<Self>) {
        let mut delivery = DeliveryWorker::new(Arc::clone(&self));
        loop {
            // A busy store is asked again on the next round.
            if let Ok(Some(store)) = open_existing_store(&self.project).await {
                let _ = self.show_events_of_other_runs(&store).await;
                let _ = delivery.send_waiting(&store).await;
                store.close().await;
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    async fn show_events_of_other_runs(&self, store: &Store) -> AppResult<()> {
        for run in store.runs_with_unshown_events().await? {
            if !self.lock_fed_runs().contains(&run.run) {
                show_stored_events(self, store, &run).await?;
            }
        }
        Ok(())
    }

    fn lock_fed_runs(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.fed_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn open_store(&self) -> AppResult<Store> {
        self.project.create_state_folder().map_err(EngineError::from)?;
        let store = Store::open(&self.project.state_folder(), OpenMode::Create).await?;
        store.ok_or_else(|| AppError::from_message(ErrorKind::Internal, "the database was not created"))
    }

    /// Returns the messages of a conversation, oldest first.
    pub async fn list_messages(&self, key: &ConversationKey) -> AppResult<Vec<ConversationMessageRow>> {
        let Some(store) = open_existing_store(&self.project).await? else { return Ok(Vec::new()) };
        let messages = store.conversation_messages(&key.to_stored()).await?;
        store.close().await;
        Ok(messages)
    }

    /// Returns all conversations, the one with the newest message first.
    pub async fn list_conversations(&self) -> AppResult<Vec<ConversationRow>> {
        let Some(store) = open_existing_store(&self.project).await? else { return Ok(Vec::new()) };
        let conversations = store.conversations().await?;
        store.close().await;
        Ok(conversations)
    }

    /// Adds a message of ralph.
    pub(super) async fn reply(&self, store: &Store, key: &ConversationKey, reply: Reply<'_>) -> AppResult<()> {
        let message = NewConversationMessage {
            conversation: &key.to_stored(),
            author: None,
            words: &sanitize_text(reply.text),
            run: reply.run,
            priority: MessagePriority::Critical,
            is_sent: self.endpoint(key.platform).is_some_and(|endpoint| endpoint.can_send()),
            at: Clock::wall_now(),
        };
        store.add_conversation_message(&message).await?;
        self.changed.notify_one();
        Ok(())
    }

    /// Returns the name of the person who has the token of this server.
    #[must_use]
    pub fn local_person(&self) -> String {
        crate::control::user_name()
    }

    /// Tells a conversation that something failed after its message was answered.
    pub async fn report_failure(&self, key: &ConversationKey, text: &str) -> AppResult<()> {
        let store = self.open_store().await?;
        let replied = self.reply(&store, key, Reply { text, run: None }).await;
        store.close().await;
        replied
    }
}

/// An answer of ralph to a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub text: &'a str,
    /// The run that it is about.
    pub run: Option<&'a str>,
}
