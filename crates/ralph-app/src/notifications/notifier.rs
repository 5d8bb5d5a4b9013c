//! Watches the store of a project and sends its notifications, while a process works and when it ends.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{ChangeStamp, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{NotifyTarget, Settings};
use crate::error::AppResult;
use crate::inbox::InboxAnswer;
use crate::run::open_existing_store;
use crate::trust::is_approved;

/// How often a change of the store is looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long one attempt to send may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a process that has nothing else to do may send: an attempt that is active, and one more.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The properties of the process that sends.
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

    /// Sends what happens from now on, in the background.
    #[must_use]
    pub fn start(self: Arc<Self>) -> ActiveNotifier {
        let (stop, is_stopped) = watch::channel(false);
        let task = tokio::spawn(Arc::clone(&self).run(is_stopped));
        ActiveNotifier { notifier: self, stop, task }
    }

    async fn run(self: Arc<Self>, mut is_stopped: watch::Receiver<bool>) {
        let folder = self.project.state_folder();
        let (mut seen, mut next_due) = (None, None);
        loop {
            let stamp = ChangeStamp::capture(&folder);
            let is_due = next_due.is_some_and(|due: UnixMillis| due <= Clock::wall_now());
            if is_due || seen.as_ref() != Some(&stamp) {
                // A failed round is repeated on the next change, or in the next process.
                next_due = self.try_round().await.unwrap_or_default();
                seen = Some(ChangeStamp::capture(&folder));
            }
            tokio::select! {
                _ = is_stopped.changed() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    async fn try_round(self: &Arc<Self>) -> AppResult<Option<UnixMillis>> {
        let Some(store) = open_existing_store(&self.project).await? else { return Ok(None) };
        let store = Arc::new(store);
        let next_due = self.run_round(&store, SEND_TIMEOUT).await;
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

/// A notifier that sends in the background. It stops when the process ends.
pub struct ActiveNotifier {
    notifier: Arc<Notifier>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl ActiveNotifier {
    /// Lets an active attempt end, and sends what is left, within a few seconds.
    pub async fn finish(self) {
        let Self { notifier, stop, task } = self;
        stop.send_replace(true);
        let finished = async {
            let _ = task.await;
            // The next process repeats a failed round.
            let _ = notifier.try_round().await;
        };
        let _ = tokio::time::timeout(FINISH_TIMEOUT, finished).await;
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
