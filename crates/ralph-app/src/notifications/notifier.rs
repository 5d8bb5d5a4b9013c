//! Watches the store of a project and sends its notifications, while a process works and when it ends.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{ChangeStamp, Store};

use crate::config::{NotifyTarget, Settings};
use crate::error::AppResult;
use crate::inbox::InboxAnswer;
use crate::run::open_existing_store;
use crate::trust::is_approved;

/// How often a change of the store is looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long one attempt to send may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process that has nothing else to do may send.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one attempt may take then: shorter, so that its failure is recorded.
const FLUSH_SEND_TIMEOUT: Duration = Duration::from_secs(4);

/// What only the process knows that sends.
#[derive(Debug, Clone)]
pub struct NotificationHost {
    /// Returns the commands that answer something in the inbox.
    pub commands: fn(&InboxAnswer) -> Vec<String>,
    /// Writes a sequence to the terminal of this process, if it has one.
    pub terminal: Option<fn(&str)>,
    /// The address of the server, if this process is one.
    pub server: Option<String>,
}

/// Sends the notifications of a project.
pub struct Notifier {
    pub(super) project: Project,
    pub(super) targets: Vec<NotifyTarget>,
    pub(super) host: NotificationHost,
    /// When this process started: new targets get what happens from then on.
    pub(super) since: UnixMillis,
}

impl Notifier {
    /// Returns a notifier, if there is a target that may be used. Targets of the project's file need approval.
    #[must_use]
    pub fn open(project: &Project, settings: &Settings, host: NotificationHost) -> Option<Arc<Self>> {
        let targets = usable_targets(project, settings);
        let notifier = || Arc::new(Self { project: project.clone(), targets, host, since: Clock::wall_now() });
        (!settings.notify.value.is_empty()).then(notifier).filter(|notifier| !notifier.targets.is_empty())
    }

    /// Sends what happens until it is dropped.
    pub async fn run(self: Arc<Self>) {
        let folder = self.project.state_folder();
        let (mut seen, mut next_due) = (None, None);
        loop {
            let stamp = ChangeStamp::capture(&folder);
            let is_due = next_due.is_some_and(|due: UnixMillis| due <= Clock::wall_now());
            if is_due || seen.as_ref() != Some(&stamp) {
                // What fails here is tried again on the next change, or in the next process.
                next_due = self.try_round(SEND_TIMEOUT).await.unwrap_or_default();
                seen = Some(ChangeStamp::capture(&folder));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends what is due before the process ends, within a few seconds.
    pub async fn flush(self: Arc<Self>) {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.try_round(FLUSH_SEND_TIMEOUT)).await;
    }

    async fn try_round(self: &Arc<Self>, timeout: Duration) -> AppResult<Option<UnixMillis>> {
        let Some(store) = open_existing_store(&self.project).await? else { return Ok(None) };
        let store = Arc::new(store);
        let next_due = self.run_round(&store, timeout).await;
        if let Some(store) = Arc::into_inner(store) {
            Store::close(store).await;
        }
        next_due
    }

    /// Returns the name of the project for people.
    pub(super) fn project_name(&self) -> String {
        let root = &self.project.root;
        root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned())
    }
}

/// Returns the targets without those of the project's file that the user has not approved.
pub(super) fn usable_targets(project: &Project, settings: &Settings) -> Vec<NotifyTarget> {
    let mut targets = settings.notify.value.clone();
    if targets.iter().any(|target| target.origin.is_from_project()) && !is_approved(project, settings).unwrap_or(false)
    {
        targets.retain(|target| !target.origin.is_from_project());
    }
    targets
}
