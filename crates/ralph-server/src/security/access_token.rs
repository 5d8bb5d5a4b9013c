//! The token of a project, in a private file of its state folder. It authorises orders, and signs the sessions of browsers.
use std::io::{self, Read, Write};
use std::path::PathBuf;

use ralph_engine::project::{Project, StateFolderError};
use ralph_util::hmac::{is_same_signature, sign_hex};
use ralph_util::redact;
use uuid::Uuid;

const TOKEN_FILE_NAME: &str = "serve-token";
/// 64 hexadecimal digits.
const TOKEN_CHARS: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum AccessTokenError {
    #[error("cannot create the state folder of the project")]
    Folder { source: StateFolderError },
    #[error("cannot read the token file {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is not a token file of ralph; delete it, and ralph creates a new one", path.display())]
    Damaged { path: PathBuf },
    #[error("{} can be read by other users; delete it, and ralph creates a new one", path.display())]
    ReadableByOthers { path: PathBuf },
}

/// The token of a project.
pub(crate) struct AccessToken {
    text: String,
}

impl AccessToken {
    /// Reads the token file. Creates it if it does not exist.
    pub(crate) fn open(project: &Project) -> Result<Self, AccessTokenError> {
        let folder = project.create_state_folder().map_err(|source| AccessTokenError::Folder { source })?;
        let path = folder.path().join(TOKEN_FILE_NAME);
        let failed = |source| AccessTokenError::File { path: path.clone(), source };
        let text = match folder.create_new_file(TOKEN_FILE_NAME) {
            Ok(mut file) => {
                let text = random_hex_text();
                file.write_all(text.as_bytes()).map_err(failed)?;
                text
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let stat = folder.stat_own_file(TOKEN_FILE_NAME).map_err(failed)?;
                if stat.is_some_and(|stat| stat.st_mode & 0o077 != 0) {
                    return Err(AccessTokenError::ReadableByOthers { path });
                }
                let mut text = String::new();
                let file = folder.open_for_read(TOKEN_FILE_NAME).map_err(failed)?;
                file.take(TOKEN_CHARS as u64 + 2).read_to_string(&mut text).map_err(failed)?;
                text.trim_end().to_owned()
            }
            Err(error) => return Err(failed(error)),
        };
        if text.len() != TOKEN_CHARS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(AccessTokenError::Damaged { path });
        }
        redact::register_variables([("RALPH_SERVE_TOKEN", text.as_str())]);
        Ok(Self { text })
    }

    /// Compares in a time that says nothing about the token.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        self.verify("bearer", &self.text, &self.sign("bearer", presented))
    }

    /// Signs a text with the token, as hexadecimal text. `purpose` keeps signatures of different uses apart.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        sign_hex(self.text.as_bytes(), format!("{purpose}\0{text}").as_bytes())
    }

    /// Verifies a signature.
    pub(crate) fn verify(&self, purpose: &str, text: &str, signature: &str) -> bool {
        is_same_signature(&self.sign(purpose, text), signature)
    }
}

/// Returns the token of a project, for clients that are not browsers.
pub fn read_access_token(project: &Project) -> Result<String, AccessTokenError> {
    AccessToken::open(project).map(|token| token.text)
}

/// Returns 64 random hexadecimal digits.
pub(super) fn random_hex_text() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X2
    #[test]
    fn only_the_same_token_matches_and_a_signature_holds_for_one_purpose() {
        let token = AccessToken { text: "ab".repeat(32) };
        assert!(token.matches(&"ab".repeat(32)));
        for wrong in ["", "ab", &"ab".repeat(33), &"ac".repeat(32)] {
            assert!(!token.matches(wrong), "{wrong}");
        }
        let signature = token.sign("session", "one");
        assert!(token.verify("session", "one", &signature));
        assert!(!token.verify("session", "two", &signature));
        assert!(!token.verify("csrf", "one", &signature));
    }
}
