//! The user's list of approved projects: a small file in the user's state folder, never in the repository.
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
use ralph_util::digest::encode_hex;
use ralph_util::private_files;
use ralph_util::user_folders::{self, NoStateFolder};

const LIST_VERSION: u32 = 1;

/// Maximum size of the list. ralph does not write a longer one.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("no folder for the list of trusted projects")]
    NoHome { source: NoStateFolder },
    #[error("cannot read the list of trusted projects {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the list of trusted projects {} is not valid", path.display())]
    Malformed { path: PathBuf, source: serde_json::Error },
    #[error("the list of trusted projects {} was written by a newer ralph (version {version}, supported is {LIST_VERSION})", path.display())]
    Newer { path: PathBuf, version: u32 },
    #[error("cannot write the list of trusted projects {}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

/// Whether a project's commands are approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    Approved,
    /// The commands have changed since the approval.
    Changed,
    Unknown,
}

/// The list of approvals. Every call reads the file again, because another ralph may have changed it.
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
    /// The fingerprint of the approved commands.
    commands: String,
}

impl TrustList {
    /// Returns the user's list. `variable` reads an environment variable.
    pub fn for_user(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, TrustError> {
        let state = user_folders::find_state_folder(variable).map_err(|source| TrustError::NoHome { source })?;
        Ok(Self { path: state.join("trusted.json") })
    }

    /// Returns whether these commands of the project at `root` are approved.
    pub fn trust_status(&self, root: &Path, fingerprint: &CommandFingerprint) -> Result<TrustStatus, TrustError> {
        Ok(match self.read_file()?.projects.get(project_name(root).as_ref()) {
            Some(approval) if approval.commands == fingerprint.as_str() => TrustStatus::Approved,
            Some(_) => TrustStatus::Changed,
            None => TrustStatus::Unknown,
        })
    }

    /// Returns whether the user has approved any commands of the project at `root`.
    pub fn has_project(&self, root: &Path) -> Result<bool, TrustError> {
        Ok(self.read_file()?.projects.contains_key(project_name(root).as_ref()))
    }

    /// Stores the user's approval of these commands. It replaces an earlier approval.
    pub fn approve_commands(&self, root: &Path, fingerprint: &CommandFingerprint) -> Result<(), TrustError> {
        let name = project_name(root).into_owned();
        let approval = ProjectApproval { commands: fingerprint.as_str().to_owned() };
        self.update_file(|projects| projects.insert(name, approval)).map(drop)
    }

    /// Removes the approval of a project. Returns whether there was one.
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

    /// Changes the list under a lock and replaces the file atomically.
    fn update_file<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, ProjectApproval>) -> T,
    ) -> Result<T, TrustError> {
        let unwritable = |source| TrustError::Unwritable { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        private_files::ensure_folder(folder).map_err(unwritable)?;
        let lock = private_files::open_for_append(&self.path.with_extension("lock")).map_err(unwritable)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
        let mut contents = self.read_file()?;
        let result = change(&mut contents.projects);
        self.replace_file(folder, &contents).map_err(unwritable)?;
        Ok(result)
    }

    fn replace_file(&self, folder: &Path, contents: &TrustFile) -> io::Result<()> {
        let draft = self.path.with_extension("new");
        // A killed ralph may have left this file. We hold the lock.
        let _ = std::fs::remove_file(&draft);
        let mut file = private_files::open_for_append(&draft)?;
        file.write_all(&serde_json::to_vec_pretty(contents)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, &self.path)?;
        File::open(folder)?.sync_all()
    }
}

/// Parsed first, because a newer list may have another format.
#[derive(Deserialize)]
struct TrustFileVersion {
    version: u32,
}

/// Returns the key of a project. A path that is not UTF-8 is written in hexadecimal, with a prefix that no absolute
/// path has.
fn project_name(root: &Path) -> Cow<'_, str> {
    root.to_str()
        .map_or_else(|| Cow::Owned(format!("bytes:{}", encode_hex(root.as_os_str().as_bytes()))), Cow::Borrowed)
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
        let list = test_trust_list(temp.path());
        let (root, other) = (Path::new("/projects/a"), Path::new("/projects/b"));
        let (fingerprint, changed) = (
            CommandFingerprint::from_commands([("checks", "true")]),
            CommandFingerprint::from_commands([("checks", "rm -rf /")]),
        );
        assert_eq!(list.trust_status(root, &fingerprint).unwrap(), TrustStatus::Unknown);
        list.approve_commands(root, &fingerprint).unwrap();
        assert_eq!(list.trust_status(root, &fingerprint).unwrap(), TrustStatus::Approved);
        assert_eq!(list.trust_status(root, &changed).unwrap(), TrustStatus::Changed);
        assert_eq!(list.trust_status(other, &fingerprint).unwrap(), TrustStatus::Unknown);
        assert!(list.revoke_approval(root).unwrap());
        assert!(!list.revoke_approval(root).unwrap());
        assert_eq!(list.trust_status(root, &fingerprint).unwrap(), TrustStatus::Unknown);
    }

    // spec: X6
    #[test]
    fn an_invalid_list_approves_nothing_and_is_not_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let list = test_trust_list(temp.path());
        let fingerprint = CommandFingerprint::from_commands([("checks", "true")]);
        list.approve_commands(Path::new("/a"), &fingerprint).unwrap();
        for text in ["", "{", "{\"version\":2,\"projects\":{}}", "{\"version\":1,\"projects\":[]}"] {
            std::fs::write(&list.path, text).unwrap();
            assert!(list.trust_status(Path::new("/a"), &fingerprint).is_err());
            assert!(list.approve_commands(Path::new("/a"), &fingerprint).is_err());
            assert_eq!(std::fs::read_to_string(&list.path).unwrap(), text);
        }
    }

    // spec: X6
    #[test]
    fn projects_whose_paths_are_not_utf8_are_not_confused() {
        let temp = tempfile::tempdir().unwrap();
        let list = test_trust_list(temp.path());
        let fingerprint = CommandFingerprint::from_commands([("checks", "true")]);
        let odd = |byte: u8| PathBuf::from(OsString::from_vec(vec![b'/', byte]));
        list.approve_commands(&odd(0xff), &fingerprint).unwrap();
        assert_eq!(list.trust_status(&odd(0xff), &fingerprint).unwrap(), TrustStatus::Approved);
        assert_eq!(list.trust_status(&odd(0xfe), &fingerprint).unwrap(), TrustStatus::Unknown);
        assert!(list.revoke_approval(&odd(0xff)).unwrap());
    }

    // spec: X6
    // fault: 64
    #[test]
    fn only_the_owner_can_read_the_list() {
        let temp = tempfile::tempdir().unwrap();
        let list = test_trust_list(temp.path());
        list.approve_commands(Path::new("/a"), &CommandFingerprint::from_commands([])).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&list.path), mode(list.path.parent().unwrap())), (0o600, 0o700));
    }

    // spec: X6
    #[test]
    fn concurrent_approvals_are_all_kept() {
        let temp = tempfile::tempdir().unwrap();
        let list = test_trust_list(temp.path());
        let fingerprint = CommandFingerprint::from_commands([("checks", "true")]);
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (list, fingerprint) = (&list, &fingerprint);
                scope.spawn(move || list.approve_commands(Path::new(&format!("/{number}")), fingerprint).unwrap());
            }
        });
        assert_eq!(list.read_file().unwrap().projects.len(), 16);
    }
}
