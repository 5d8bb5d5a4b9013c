//! One-time codes of login addresses. Each is a file in the state folder whose name is the hash of the code; using a code
//! removes its file, so it works once, also with several servers.
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ralph_engine::project::Project;
use ralph_util::digest::sha256_hex;
use ralph_util::private_files;

use super::access_token::{AccessToken, AccessTokenError, random_hex_text};

const FOLDER_NAME: &str = "serve-logins";
/// A code that is not used expires.
const CODE_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The codes that were not used yet.
pub(crate) struct LoginCodes {
    folder: PathBuf,
}

impl LoginCodes {
    pub(crate) fn open(project: &Project) -> Result<Self, AccessTokenError> {
        let folder = project.state_folder().join(FOLDER_NAME);
        let codes = Self { folder };
        private_files::ensure_folder(&codes.folder).map_err(|source| codes.file_error(source))?;
        Ok(codes)
    }

    fn file_error(&self, source: io::Error) -> AccessTokenError {
        AccessTokenError::File { path: self.folder.clone(), source }
    }

    /// Creates a code, and removes expired ones.
    pub(crate) fn create_code(&self) -> Result<String, AccessTokenError> {
        self.remove_expired();
        let code = random_hex_text();
        let folder = private_files::open_folder(&self.folder).map_err(|source| self.file_error(source))?;
        folder.create_new_file(sha256_hex(&code)).map_err(|source| self.file_error(source))?;
        Ok(code)
    }

    /// Uses a code up. Returns whether it was valid.
    pub(crate) fn use_code(&self, code: &str) -> bool {
        let file = self.folder.join(sha256_hex(code));
        let is_fresh = file.symlink_metadata().is_ok_and(|found| !has_expired(&found));
        // Only one of several requests at the same time removes the file.
        fs::remove_file(file).is_ok() && is_fresh
    }

    fn remove_expired(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.metadata().is_ok_and(|found| has_expired(&found)) {
                // Another process may have removed it.
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

fn has_expired(file: &fs::Metadata) -> bool {
    let age = file.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age > CODE_LIFETIME)
}

/// Creates a login address for a browser. It works once, with every server of the project.
pub fn create_login_url(project: &Project, address: SocketAddr) -> Result<String, AccessTokenError> {
    AccessToken::open(project)?;
    let code = LoginCodes::open(project)?.create_code()?;
    Ok(format!("http://{address}/login?token={code}"))
}
