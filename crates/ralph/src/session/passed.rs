//! Checks that have passed, for as long as the files are the same. They are kept between two stops of a session, because
//! each stop is answered by a process of its own. A failure is always looked at again.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use ralph_core::criterion::Criterion;
use ralph_core::evidence::CheckEvidence;

use crate::digest::sha256;
use crate::{git, private, redact};

/// More than this was not written by ralph.
const LONGEST: u64 = 16 * 1024 * 1024;

pub(super) struct Passed {
    file: PathBuf,
    /// The files that are checked; where git cannot tell, nothing is reused or kept.
    tree: Option<String>,
    known: BTreeMap<String, CheckEvidence>,
}

impl Passed {
    pub(super) fn open(folder: &Path, name: &str, root: &Path) -> Self {
        let file = folder.join(format!("{name}.passed"));
        let tree = git::snapshot(root).ok().map(|seen| seen.tree);
        Self { known: read(&file).unwrap_or_default(), file, tree }
    }

    /// Returns what the check said when it passed for these files.
    pub(super) fn find(&self, criterion: &Criterion) -> Option<CheckEvidence> {
        let known = self.known.get(&self.key(criterion)?)?.clone();
        Some(CheckEvidence { cached: true, duration_ms: 0, ..known })
    }

    pub(super) fn keep(&mut self, criterion: &Criterion, seen: &CheckEvidence) {
        let Some(key) = self.key(criterion) else { return };
        self.known.insert(key, seen.clone());
        self.write();
    }

    /// Forgets everything: a claim was not accepted although results were reused, so that they may be the reason.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.write();
    }

    fn key(&self, criterion: &Criterion) -> Option<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let check = serde_json::to_string(criterion).ok()?;
        Some(sha256(format!("{}\0{check}\0{}", self.tree.as_ref()?, path.to_string_lossy())))
    }

    /// What cannot be kept is looked at again.
    fn write(&self) {
        let Ok(text) = serde_json::to_string(&self.known) else { return };
        let draft = self.file.with_extension("passed-new");
        let _ = std::fs::remove_file(&draft);
        let written =
            private::file(&draft).and_then(|mut file| file.write_all(redact::text(&text).as_bytes()));
        if written.is_ok() {
            let _ = std::fs::rename(&draft, &self.file);
        }
    }
}

fn read(file: &Path) -> Option<BTreeMap<String, CheckEvidence>> {
    let file = private::regular_file(file).ok()?;
    serde_json::from_reader(std::io::Read::take(std::io::BufReader::new(file), LONGEST)).ok()
}
