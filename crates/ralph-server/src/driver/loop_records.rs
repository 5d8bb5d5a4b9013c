//! Which loops this server drives, as files in the state folder of the project. A loop whose record is left when the server
//! starts was interrupted, and is resumed. Each server of a project has its own records.
use std::fs;
use std::path::PathBuf;

use ralph_engine::project::Project;
use ralph_util::private_files;
use uuid::Uuid;

const FOLDER_NAME: &str = "serve-loops";

/// The kind of a loop, with the beginning of the name of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    Run,
    Workflow,
}

/// A loop that a server drove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedLoop {
    pub kind: LoopKind,
    pub run: String,
}

/// The records of a project.
#[derive(Debug, Clone)]
pub(super) struct LoopRecords {
    folder: PathBuf,
    /// The end of the names of this server's records.
    server: String,
}

impl LoopKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Run => "run-",
            Self::Workflow => "workflow-",
        }
    }
}

impl RecordedLoop {
    fn file_name(&self, server: &str) -> String {
        format!("{}{}.{server}", self.kind.prefix(), self.run)
    }

    fn parse(name: &str) -> Option<Self> {
        [LoopKind::Run, LoopKind::Workflow].into_iter().find_map(|kind| {
            let run = name.strip_prefix(kind.prefix())?.split('.').next()?;
            Some(Self { kind, run: run.to_owned() })
        })
    }
}

impl LoopRecords {
    pub(super) fn new(project: &Project) -> Self {
        Self { folder: project.state_folder().join(FOLDER_NAME), server: Uuid::new_v4().simple().to_string() }
    }

    /// Records a loop before it starts.
    pub(super) fn add(&self, recorded: &RecordedLoop) -> std::io::Result<()> {
        let name = recorded.file_name(&self.server);
        private_files::ensure_folder(&self.folder)?.open_for_append(name).map(drop)
    }

    /// Forgets a loop that this server does not drive. Another server may drive it.
    pub(super) fn remove_own(&self, recorded: &RecordedLoop) {
        // A record that cannot be removed is checked at the next start: the loop has ended then.
        drop(fs::remove_file(self.folder.join(recorded.file_name(&self.server))));
    }

    /// Forgets a loop that has ended, also if a server before this one has recorded it.
    pub(super) fn remove_all(&self, recorded: &RecordedLoop) {
        for name in self.file_names().filter(|name| RecordedLoop::parse(name).as_ref() == Some(recorded)) {
            drop(fs::remove_file(self.folder.join(name)));
        }
    }

    fn file_names(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }

    pub(super) fn list(&self) -> Vec<RecordedLoop> {
        let mut found: Vec<RecordedLoop> = self.file_names().filter_map(|name| RecordedLoop::parse(&name)).collect();
        // Ids of runs begin with the time of their start.
        found.sort_by(|a, b| a.run.cmp(&b.run));
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(folder: &std::path::Path, server: &str) -> LoopRecords {
        LoopRecords { folder: folder.join("serve-loops"), server: server.to_owned() }
    }

    #[test]
    fn a_recorded_loop_is_listed_until_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let records = records(folder.path(), "one");
        assert_eq!(records.list(), []);
        let run = RecordedLoop { kind: LoopKind::Run, run: "b".to_owned() };
        let workflow = RecordedLoop { kind: LoopKind::Workflow, run: "a".to_owned() };
        records.add(&run).unwrap();
        records.add(&workflow).unwrap();
        records.add(&run).unwrap();
        assert_eq!(records.list(), [workflow.clone(), run.clone()]);
        records.remove_all(&run);
        records.remove_all(&run);
        assert_eq!(records.list(), [workflow]);
    }

    // spec: U5
    // fault: 106
    #[test]
    fn a_server_that_comes_too_late_leaves_the_record_of_the_one_that_drives_the_loop() {
        let folder = tempfile::tempdir().unwrap();
        let (winner, loser) = (records(folder.path(), "one"), records(folder.path(), "two"));
        let run = RecordedLoop { kind: LoopKind::Run, run: "a".to_owned() };
        winner.add(&run).unwrap();
        loser.add(&run).unwrap();
        assert_eq!(loser.list(), std::slice::from_ref(&run));
        loser.remove_own(&run);
        assert_eq!(winner.list(), std::slice::from_ref(&run));
        // The next server drives it to its end.
        let next = records(folder.path(), "three");
        next.add(&run).unwrap();
        next.remove_all(&run);
        assert_eq!(winner.list(), []);
    }
}
