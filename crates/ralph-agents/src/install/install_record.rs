//! The install record: what was installed, in the user's state folder, one file per host and settings folder. It is
//! written before the first change.
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::error::InstallError;
use super::install_target::{InstallTarget, path_to_text};
use super::merge::{CreatedMembers, InsertedSpan};
use ralph_util::digest::sha256_hex;
use ralph_util::private_files;

const RECORD_VERSION: u32 = 1;

/// Everything that was installed for one host in one settings folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    version: u32,
    pub(crate) host: String,
    /// The settings folder of the host.
    pub(crate) folder: String,
    pub(crate) files: Vec<InstalledFile>,
    /// Folders that the installation created, parents first.
    pub(crate) folders: Vec<PathBuf>,
    /// The ralph that the hooks start, and their timeout in seconds.
    #[serde(default)]
    pub(crate) program: Option<String>,
    #[serde(default)]
    pub(crate) seconds: Option<u64>,
}

/// One file as ralph wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstalledFile {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    pub(crate) kind: InstalledFileKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstalledFileKind {
    /// The whole file belongs to ralph.
    Whole,
    /// The file contains ralph's hooks.
    Hooks {
        /// Whether ralph created the file.
        is_new: bool,
        inserted: Vec<InsertedSpan>,
        #[serde(rename = "made")]
        created: CreatedMembers,
    },
}

impl InstallRecord {
    pub(crate) fn new(host: &str, folder: &Path) -> Result<Self, InstallError> {
        Ok(Self { version: RECORD_VERSION, host: host.to_owned(), folder: path_to_text(folder)?, ..Self::default() })
    }

    pub(crate) fn find_file(&self, path: &Path) -> Option<&InstalledFile> {
        self.files.iter().find(|entry| entry.path == path)
    }
}

/// The file of one record. It must be locked while it is changed.
pub(crate) struct InstallRecordFile {
    folder: PathBuf,
    path: PathBuf,
}

impl InstallRecordFile {
    pub(crate) fn for_host(target: &InstallTarget<'_>, host: &str, folder: &Path) -> Result<Self, InstallError> {
        let records = target.records_folder()?;
        // The path must have the same text whether the folder exists or not, because its hash is the file name.
        let real: PathBuf = private_files::resolve_links(folder).components().collect();
        let hash = sha256_hex(path_to_text(&real)?);
        let path = records.join(format!("{host}-{}.json", hash.get(..16).unwrap_or_default()));
        Ok(Self { folder: records, path })
    }

    pub(crate) fn read(&self) -> Result<Option<InstallRecord>, InstallError> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|source| InstallError::Unreadable { path: self.path.clone(), source })?,
        };
        let malformed = |source| InstallError::MalformedRecord { path: self.path.clone(), source };
        let InstallRecordVersion { version } = serde_json::from_str(&text).map_err(malformed)?;
        if version > RECORD_VERSION {
            return Err(InstallError::NewerRecord { path: self.path.clone() });
        }
        serde_json::from_str(&text).map(Some).map_err(malformed)
    }

    /// Replaces the record; `None` removes it.
    pub(crate) fn write(&self, record: Option<&InstallRecord>) -> Result<(), InstallError> {
        let unwritable = |source| InstallError::Unwritable { path: self.path.clone(), source };
        let done = match record {
            Some(record) => serde_json::to_string_pretty(record)
                .map_err(io::Error::from)
                .and_then(|text| super::contents::settings_file::replace_file(&self.path, &text))
                .and_then(|()| fs::set_permissions(&self.path, private_permissions())),
            None => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
        };
        done.map_err(unwritable)
    }

    /// Waits for the lock that serializes all installs and uninstalls.
    pub(crate) fn lock(&self) -> Result<File, InstallError> {
        let path = self.folder.join("lock");
        let locked = private_files::ensure_folder(&self.folder)
            .and_then(|_| private_files::open_for_append(&path))
            .and_then(|lock| {
                flock(&lock, FlockOperation::LockExclusive)?;
                Ok(lock)
            });
        locked.map_err(|source| InstallError::Unwritable { path, source })
    }
}

fn private_permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

/// Read first, because the other fields of a newer record are unknown.
#[derive(Deserialize)]
struct InstallRecordVersion {
    version: u32,
}
