//! Which loops this server drives, as files in the state folder of the project. A loop whose record is left when the server
//! starts was interrupted, and is resumed.
use std::fs;
use std::path::PathBuf;

use ralph_engine::project::Project;
use ralph_util::private_files;

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
    fn file_name(&self) -> String {
        format!("{}{}", self.kind.prefix(), self.run)
    }

    fn parse(name: &str) -> Option<Self> {
        [LoopKind::Run, LoopKind::Workflow].into_iter().find_map(|kind| {
            let run = name.strip_prefix(kind.prefix())?;
            Some(Self { kind, run: run.to_owned() })
        })
    }
}

impl LoopRecords {
    pub(super) fn new(project: &Project) -> Self {
        Self { folder: project.state_folder().join(FOLDER_NAME) }
    }

    /// Records a loop before it starts.
    pub(super) fn add(&self, recorded: &RecordedLoop) -> std::io::Result<()> {
        private_files::ensure_folder(&self.folder)?.open_for_append(recorded.file_name()).map(drop)
    }

    /// Forgets a loop that has ended.
    pub(super) fn remove(&self, recorded: &RecordedLoop) {
        // A record that cannot be removed is checked at the next start: the loop has ended then.
        drop(fs::remove_file(self.folder.join(recorded.file_name())));
    }

    pub(super) fn list(&self) -> Vec<RecordedLoop> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<RecordedLoop> =
            entries.filter_map(|entry| RecordedLoop::parse(entry.file_name().to_str()?)).collect();
        // Ids of runs begin with the time of their start.
        found.sort_by(|a, b| a.run.cmp(&b.run));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_loop_is_listed_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let records = LoopRecords { folder: folder.path().join("serve-loops") };
        assert_eq!(records.list(), []);
        let run = RecordedLoop { kind: LoopKind::Run, run: "b".to_owned() };
        let workflow = RecordedLoop { kind: LoopKind::Workflow, run: "a".to_owned() };
        records.add(&run).unwrap();
        records.add(&workflow).unwrap();
        records.add(&run).unwrap();
        assert_eq!(records.list(), [workflow.clone(), run.clone()]);
        records.remove(&run);
        records.remove(&run);
        assert_eq!(records.list(), [workflow]);
    }
}
