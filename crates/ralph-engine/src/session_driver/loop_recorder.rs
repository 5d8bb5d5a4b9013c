//! Records the loops of sessions as runs in the store, through the same journal as other runs. A loop continues without
//! its record if the store cannot be used; its facts then stay in the loop file, and a later event records them.
use std::path::{Path, PathBuf};

use ralph_core::fact::Fact;
use ralph_core::session_loop::SESSION_RUN_KIND;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::loop_file::LoopFile;
use super::loop_record::{LoopRecord, PendingFact};
use super::loop_store::LoopStore;
use crate::project::Project;
use ralph_store::{FIRST_FENCE, NewRun, OpenMode, StepRecord, Store, StoreError};
use ralph_util::private_files;

/// The name of a host that is not known.
const UNKNOWN_HOST: &str = "session";

/// The stored settings of the run of a session loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRunSettings {
    #[serde(rename = "session")]
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(rename = "label", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub prompt: String,
    pub root: PathBuf,
}

impl SessionRunSettings {
    /// Parses the settings of a run. Returns `None` if it is not the loop of a session.
    #[must_use]
    pub fn parse(kind: &str, settings: &str) -> Option<Self> {
        (kind == SESSION_RUN_KIND).then(|| serde_json::from_str(settings).ok())?
    }

    fn of_loop(entry: &LoopFile) -> Self {
        Self {
            session_id: entry.session_id.clone(),
            host: entry.host.clone(),
            description: entry.description.clone(),
            prompt: entry.loop_state.prompt.clone(),
            root: entry.root.clone(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoopRecordError {
    #[error("the database of the session's run is missing: {}", path.display())]
    NoDatabase { path: PathBuf },
    #[error("cannot start the runtime for the database")]
    Runtime(#[source] std::io::Error),
    #[error("cannot prepare the folder of the session's run")]
    Folder(#[source] std::io::Error),
    #[error("cannot record the loop of the session")]
    Store(#[from] StoreError),
}

/// The open store of a loop's run.
pub struct LoopRecorder {
    runtime: Runtime,
    store: Store,
}

impl LoopRecorder {
    /// Opens the store. It must not be called inside a runtime: see [`outside_runtime`].
    pub fn open(state_folder: &Path, mode: OpenMode) -> Result<Self, LoopRecordError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(LoopRecordError::Runtime)?;
        match runtime.block_on(Store::open(state_folder, mode))? {
            Some(store) => Ok(Self { runtime, store }),
            None => Err(LoopRecordError::NoDatabase { path: state_folder.to_path_buf() }),
        }
    }

    /// Returns how many facts of a loop are stored.
    pub fn stored_fact_count(&self, id: &str) -> Result<i64, LoopRecordError> {
        Ok(self.runtime.block_on(self.store.stored_fact_count(id))?.unwrap_or(0))
    }

    /// Stores the facts of a loop that are not stored yet.
    pub fn record_loop(&self, entry: &LoopFile) -> Result<(), LoopRecordError> {
        let recorded = self.runtime.block_on(self.record_unstored(entry));
        // Another process may have recorded the same facts meanwhile.
        let is_stored = || self.stored_fact_count(&entry.id).is_ok_and(|stored| stored >= entry.record.fact_count);
        match recorded {
            Err(_) if is_stored() => Ok(()),
            recorded => Ok(recorded?),
        }
    }

    async fn record_unstored(&self, entry: &LoopFile) -> Result<(), StoreError> {
        let stored = self.store.stored_fact_count(&entry.id).await?;
        for decision in entry.record.unstored_decisions(stored.unwrap_or(0)) {
            let is_first = decision.first().is_some_and(|first| first.seq == 1);
            // A run that was deleted on purpose is not recorded again.
            if stored.is_some() || is_first || entry.record.pending.first().is_some_and(|first| first.seq == 1) {
                self.record_decision(entry, decision, is_first).await?;
            }
        }
        Ok(())
    }

    async fn record_decision(
        &self,
        entry: &LoopFile,
        decision: &[PendingFact],
        is_first: bool,
    ) -> Result<(), StoreError> {
        let Some(first) = decision.first() else { return Ok(()) };
        let facts: Vec<&Fact> = decision.iter().map(|pending| &pending.fact).collect();
        let step = StepRecord {
            run: &entry.id,
            fence: FIRST_FENCE,
            first_seq: first.seq,
            at: first.at,
            facts: &facts,
            answered_commands: &[],
            for_next_stage: None,
            state: &entry.loop_state.machine,
        };
        if !is_first {
            return self.store.record_step(&step).await;
        }
        let settings = serde_json::to_string(&SessionRunSettings::of_loop(entry)).unwrap_or_default();
        let new_run = NewRun {
            kind: SESSION_RUN_KIND,
            agent: entry.agent_name(),
            promise: entry.loop_state.rules.promise.as_str(),
            settings: &settings,
            owner: "null",
            stage: None,
            workflow: None,
        };
        self.store.insert_run(&new_run, &step).await
    }

    pub fn close(self) {
        self.runtime.block_on(self.store.close());
    }
}

impl LoopFile {
    /// Returns the name of the host, or a placeholder.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        host_display_name(self.host.as_deref())
    }
}

/// Returns the name of a host, or a placeholder if it is not known.
#[must_use]
pub fn host_display_name(host: Option<&str>) -> &str {
    host.unwrap_or(UNKNOWN_HOST)
}

/// Runs blocking work that starts a runtime, also if this thread is already inside one.
pub fn outside_runtime<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Creates the folder for the record of a loop that works in `root`: the state folder of the project, or the store of the
/// user for a session outside of a repository.
pub fn create_record_folder(loop_store: &LoopStore, root: &Path) -> Result<PathBuf, LoopRecordError> {
    match Project::find_from(root) {
        Ok(project) => {
            project.create_state_folder().map_err(|error| LoopRecordError::Folder(std::io::Error::other(error)))?;
            Ok(project.state_folder())
        }
        Err(_) => {
            let folder = loop_store.outside_state_folder();
            private_files::ensure_folder(&folder).map_err(LoopRecordError::Folder)?;
            Ok(folder)
        }
    }
}

/// Gives a loop that an older ralph started a record.
pub(super) fn adopt_loop(loop_store: &LoopStore, entry: &mut LoopFile) {
    if entry.record.state_folder.is_some() {
        return;
    }
    if Project::find_from(&entry.root).is_ok_and(|project| project.has_unmoved_old_state()) {
        return;
    }
    let Ok(folder) = create_record_folder(loop_store, &entry.root) else { return };
    let facts = entry.loop_state.opening_facts(entry.agent_name());
    entry.record = LoopRecord::new(folder, entry.loop_state.started, facts);
}

/// Creates the store of a loop, so that later events find it even if this process is killed before it records the loop.
pub fn create_record_store(state_folder: &Path) -> Result<(), LoopRecordError> {
    outside_runtime(|| {
        LoopRecorder::open(state_folder, OpenMode::Create)?.close();
        Ok(())
    })
}

/// Records a new loop. The store is created if it does not exist.
pub fn record_new_loop(entry: &LoopFile) -> Result<(), LoopRecordError> {
    let Some(folder) = &entry.record.state_folder else { return Ok(()) };
    outside_runtime(|| {
        let recorder = LoopRecorder::open(folder, OpenMode::Create)?;
        let recorded = recorder.record_loop(entry);
        recorder.close();
        recorded
    })
}
