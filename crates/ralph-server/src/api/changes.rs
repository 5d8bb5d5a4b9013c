//! Watches the database for changes while clients listen, and tells all of them. One reader serves every client.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_app::error::AppResult;
use ralph_app::run::open_existing_store;
use ralph_engine::project::Project;
use ralph_store::{ChangePosition, Store, StoredChanges};
use tokio::sync::broadcast;

/// How often the database is checked. A check without changes reads one number.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Changes that a slow client may be behind. One that is further behind gets a message that it missed some.
const MAX_QUEUED_CHANGES: usize = 64;

/// A change of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProjectChange {
    /// Runs and workflow runs.
    pub runs: Vec<String>,
    pub tasks: Vec<String>,
    pub may_change_inbox: bool,
    /// Changes may have been missed: everything must be read again.
    pub is_incomplete: bool,
}

/// Watches the database of a project while there are listeners.
pub(crate) struct ChangeWatcher {
    project: Project,
    watch: Mutex<Option<ActiveWatch>>,
}

struct ActiveWatch {
    sender: broadcast::Sender<Arc<ProjectChange>>,
}

impl ChangeWatcher {
    pub(crate) fn new(project: Project) -> Self {
        Self { project, watch: Mutex::default() }
    }

    /// Returns all changes from now on. Starts watching if this is the first listener.
    pub(crate) fn subscribe(self: &Arc<Self>) -> broadcast::Receiver<Arc<ProjectChange>> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(active) = watch.as_ref() {
            return active.sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(MAX_QUEUED_CHANGES);
        *watch = Some(ActiveWatch { sender: sender.clone() });
        tokio::spawn(Arc::clone(self).watch_database(sender));
        receiver
    }

    async fn watch_database(self: Arc<Self>, sender: broadcast::Sender<Arc<ProjectChange>>) {
        let mut reader = ChangeReader::default();
        loop {
            // A database that cannot be read is reported by the requests that read it.
            if let Ok(change) = reader.read_change(&self.project).await
                && change != ProjectChange::default()
            {
                // Without listeners, the watch ends below.
                drop(sender.send(Arc::new(change)));
            }
            if self.ends_without_listeners(&sender) {
                return reader.close().await;
            }
            tokio::time::sleep(CHANGE_POLL_INTERVAL).await;
        }
    }

    /// Ends the watch if it has no listeners. The lock keeps a new listener from joining a watch that ends.
    fn ends_without_listeners(&self, sender: &broadcast::Sender<Arc<ProjectChange>>) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = sender.receiver_count() == 0;
        if ends {
            *watch = None;
        }
        ends
    }
}

/// The open store of a watch. The store is created with the first run, which may start later.
#[derive(Default)]
struct ChangeReader {
    open: Option<(Store, ChangePosition)>,
}

impl ChangeReader {
    async fn read_change(&mut self, project: &Project) -> AppResult<ProjectChange> {
        match &mut self.open {
            Some((store, position)) => Ok(store.changes_since(position).await?.into()),
            None => {
                let Some(store) = open_existing_store(project).await? else { return Ok(ProjectChange::default()) };
                let position = store.change_position().await?;
                self.open = Some((store, position));
                // Changes between the first read of a listener and this moment are not known.
                Ok(ProjectChange { is_incomplete: true, ..ProjectChange::default() })
            }
        }
    }

    async fn close(self) {
        if let Some((store, _)) = self.open {
            store.close().await;
        }
    }
}

impl From<StoredChanges> for ProjectChange {
    fn from(changes: StoredChanges) -> Self {
        let StoredChanges { runs, workflow_runs, tasks, may_change_inbox } = changes;
        Self { runs: runs.into_iter().chain(workflow_runs).collect(), tasks, may_change_inbox, is_incomplete: false }
    }
}
