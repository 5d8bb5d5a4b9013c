//! The user's list of approved projects: one small file in the user's own state folder, never in the repository.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::command_fingerprint::CommandFingerprint;
use ralph_util::private_files;

const LIST_VERSION: u32 = 1;

/// A list longer than this was not written by ralph.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("the list of trusted projects has no place: neither XDG_STATE_HOME nor HOME is set to an absolute path")]
    NoHome,
    #[error("the list of trusted projects {} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the list of trusted projects {} cannot be understood", path.display())]
    Malformed { path: PathBuf, source: serde_json::Error },
    #[error("the list of trusted projects {} was written by a newer ralph (version {version}, known is {LIST_VERSION})", path.display())]
    Newer { path: PathBuf, version: u32 },
    #[error("the list of trusted projects {} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

/// What is known of a project's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    Approved,
    /// Others were approved than those that are there now.
    Changed,
    Unknown,
}

/// The list. Each call reads the file anew: another ralph may have changed it.
#[derive(Debug, Clone)]
pub struct TrustList {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    projects: BTreeMap<String, ProjectApproval>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectApproval {
    /// The seal of the approved commands.
    commands: String,
}

impl TrustList {
    /// Finds the user's list. `variable` looks up the environment.
    pub fn for_user(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, TrustError> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        let state = state.ok_or(TrustError::NoHome)?;
        Ok(Self { path: private_files::resolve_links(&state.join("ralph")).join("trusted.json") })
    }

    /// Tells what is known of these commands in the project at `root`.
    pub fn trust_status(&self, root: &Path, fingerprint: &CommandFingerprint) -> Result<TrustStatus, TrustError> {
        Ok(match self.read_file()?.projects.get(project_name(root).as_ref()) {
            Some(approval) if approval.commands == fingerprint.as_str() => TrustStatus::Approved,
            Some(_) => TrustStatus::Changed,
            None => TrustStatus::Unknown,
        })
    }

    /// Remembers that the user has approved these commands, and no others.
    pub fn approve_commands(&self, root: &Path, fingerprint: &CommandFingerprint) -> Result<(), TrustError> {
        let name = project_name(root).into_owned();
        let approval = ProjectApproval { commands: fingerprint.as_str().to_owned() };
        self.update_file(|projects| projects.insert(name, approval)).map(drop)
    }

    /// Forgets a project; tells whether it was known.
    pub fn revoke_approval(&self, root: &Path) -> Result<bool, TrustError> {
        let name = project_name(root);
        self.update_file(|projects| projects.remove(name.as_ref())).map(|known| known.is_some())
    }

    fn read_file(&self) -> Result<TrustFile, TrustError> {
        let unreadable = |source| TrustError::Unreadable { path: self.path.clone(), source };
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(file) => drop(file.take(MAX_LIST_BYTES).read_to_string(&mut text).map_err(unreadable)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(TrustFile { version: LIST_VERSION, projects: BTreeMap::new() });
            }
            Err(error) => return Err(unreadable(error)),
        }
        let malformed = |source| TrustError::Malformed { path: self.path.clone(), source };
        let version = serde_json::from_str::<TrustFileVersion>(&text).map_err(malformed)?.version;
        if version > LIST_VERSION {
            return Err(TrustError::Newer { path: self.path.clone(), version });
        }
        serde_json::from_str(&text).map_err(malformed)
    }

    /// Changes the list under a lock and puts the new one in the place of the old: it is never half written.
    fn update_file<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, ProjectApproval>) -> T,
    ) -> Result<T, TrustError> {
        let unwritable = |source| TrustError::Unwritable { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        private_files::ensure_folder(folder).map_err(unwritable)?;
        let lock = private_files::open_for_append(&self.path.with_extension("lock")).map_err(unwritable)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
        let mut pages = self.read_file()?;
        let came = change(&mut pages.projects);
        self.replace_file(folder, &pages).map_err(unwritable)?;
        Ok(came)
    }

    fn replace_file(&self, folder: &Path, contents: &TrustFile) -> io::Result<()> {
        let draft = self.path.with_extension("new");
        // Left behind by a ralph that was killed here; the lock is ours.
        let _ = std::fs::remove_file(&draft);
        let mut file = private_files::open_for_append(&draft)?;
        file.write_all(&serde_json::to_vec_pretty(contents)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, &self.path)?;
        File::open(folder)?.sync_all()
    }
}

/// Read before anything else: what else a newer list holds cannot be known.
#[derive(Deserialize)]
struct TrustFileVersion {
    version: u32,
}

/// A path that is no text is written byte by byte, in a form that no path has.
fn project_name(root: &Path) -> Cow<'_, str> {
    root.to_str().map_or_else(
        || {
            let bytes = root.as_os_str().as_bytes().iter();
            Cow::Owned(format!("bytes:{}", bytes.map(|byte| format!("{byte:02x}")).collect::<String>()))
        },
        Cow::Borrowed,
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn test_trust_list(folder: &Path) -> TrustList {
        let folder = folder.as_os_str().to_owned();
        TrustList::for_user(|name| (name == "XDG_STATE_HOME").then(|| folder.clone())).unwrap()
    }

    // spec: X6
    // fault: 83
    #[test]
    fn a_project_is_unknown_until_approved_and_then_only_with_the_same_commands() {
        let temp = tempfile::tempdir().unwrap();
        let ledger = test_trust_list(temp.path());
        let (root, other) = (Path::new("/projects/a"), Path::new("/projects/b"));
        let (seal, changed) = (
            CommandFingerprint::from_commands([("checks", "true")]),
            CommandFingerprint::from_commands([("checks", "rm -rf /")]),
        );
        assert_eq!(ledger.trust_status(root, &seal).unwrap(), TrustStatus::Unknown);
        ledger.approve_commands(root, &seal).unwrap();
        assert_eq!(ledger.trust_status(root, &seal).unwrap(), TrustStatus::Approved);
        assert_eq!(ledger.trust_status(root, &changed).unwrap(), TrustStatus::Changed);
        assert_eq!(ledger.trust_status(other, &seal).unwrap(), TrustStatus::Unknown);
        assert!(ledger.revoke_approval(root).unwrap());
        assert!(!ledger.revoke_approval(root).unwrap());
        assert_eq!(ledger.trust_status(root, &seal).unwrap(), TrustStatus::Unknown);
    }

    // spec: X6
    #[test]
    fn a_list_that_cannot_be_understood_trusts_nobody_and_is_not_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let ledger = test_trust_list(temp.path());
        let seal = CommandFingerprint::from_commands([("checks", "true")]);
        ledger.approve_commands(Path::new("/a"), &seal).unwrap();
        for text in ["", "{", "{\"version\":2,\"projects\":{}}", "{\"version\":1,\"projects\":[]}"] {
            std::fs::write(&ledger.path, text).unwrap();
            assert!(ledger.trust_status(Path::new("/a"), &seal).is_err());
            assert!(ledger.approve_commands(Path::new("/a"), &seal).is_err());
            assert_eq!(std::fs::read_to_string(&ledger.path).unwrap(), text);
        }
    }

    // spec: X6
    #[test]
    fn two_projects_whose_paths_are_no_text_are_not_taken_for_each_other() {
        let temp = tempfile::tempdir().unwrap();
        let ledger = test_trust_list(temp.path());
        let seal = CommandFingerprint::from_commands([("checks", "true")]);
        let odd = |byte: u8| PathBuf::from(OsString::from_vec(vec![b'/', byte]));
        ledger.approve_commands(&odd(0xff), &seal).unwrap();
        assert_eq!(ledger.trust_status(&odd(0xff), &seal).unwrap(), TrustStatus::Approved);
        assert_eq!(ledger.trust_status(&odd(0xfe), &seal).unwrap(), TrustStatus::Unknown);
        assert!(ledger.revoke_approval(&odd(0xff)).unwrap());
    }

    // spec: X6
    // fault: 64
    #[test]
    fn the_list_is_for_its_owner_alone() {
        let temp = tempfile::tempdir().unwrap();
        let ledger = test_trust_list(temp.path());
        ledger.approve_commands(Path::new("/a"), &CommandFingerprint::from_commands([])).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&ledger.path), mode(ledger.path.parent().unwrap())), (0o600, 0o700));
    }

    // spec: X6
    #[test]
    fn many_that_approve_at_once_lose_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let ledger = test_trust_list(temp.path());
        let seal = CommandFingerprint::from_commands([("checks", "true")]);
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (ledger, seal) = (&ledger, &seal);
                scope.spawn(move || ledger.approve_commands(Path::new(&format!("/{number}")), seal).unwrap());
            }
        });
        assert_eq!(ledger.read_file().unwrap().projects.len(), 16);
    }

    #[test]
    fn without_a_home_there_is_no_list() {
        let error = TrustList::for_user(|name| (name == "HOME").then(|| "relative".into())).unwrap_err();
        assert!(matches!(error, TrustError::NoHome));
    }
}
