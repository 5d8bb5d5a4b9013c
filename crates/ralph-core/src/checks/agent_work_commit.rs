//! The commit of work that an agent left uncommitted: which files it contains, and which it leaves out.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Whether ralph or the agent commits the work in the work tree of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitMode {
    /// ralph commits before verification what the agent left uncommitted.
    #[default]
    Auto,
    /// The agent must commit.
    Agent,
}

/// Larger files are hardly ever source, and would stay in the history for ever.
pub const MAX_COMMITTED_BYTES: u64 = 5 * 1024 * 1024;

/// Why a file is left out of the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    LooksLikeSecret,
    TooLarge,
}

/// A file that ralph left out of the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutFile {
    pub path: String,
    pub reason: LeftOutReason,
}

/// File names that usually hold a secret.
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".netrc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".pypirc",
    "credentials",
    "credentials.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "service_account.json",
];

const SECRET_EXTENSIONS: &[&str] = &["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk"];

/// Endings of files such as `.env.example`, which document a secret and hold none.
const SAMPLE_ENDINGS: &[&str] = &["example", "sample", "template", "dist"];

/// Returns why a changed file is left out of the commit, or `None` if it is committed.
#[must_use]
pub fn reason_to_leave_out(path: &str, bytes: u64) -> Option<LeftOutReason> {
    if is_secret_name(path) {
        return Some(LeftOutReason::LooksLikeSecret);
    }
    (bytes > MAX_COMMITTED_BYTES).then_some(LeftOutReason::TooLarge)
}

fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if SAMPLE_ENDINGS.contains(&ending) {
        return false;
    }
    SECRET_NAMES.contains(&name.as_str()) || SECRET_EXTENSIONS.contains(&ending) || name.starts_with(".env.")
}

/// Returns one sentence that names the files which were left out.
#[must_use]
pub fn describe_left_out(files: &[LeftOutFile]) -> String {
    let describe = |file: &LeftOutFile| match file.reason {
        LeftOutReason::LooksLikeSecret => format!("{} looks like a secret", file.path),
        LeftOutReason::TooLarge => format!("{} is larger than 5 MB", file.path),
    };
    let files: Vec<String> = files.iter().map(describe).collect();
    format!("left out of the commit: {}", files.join(", "))
}

/// Returns the message of the commit. Its trailer says who made it.
#[must_use]
pub fn commit_message(task: &str, stage: &str) -> String {
    [
        &format!("{task}: work of {stage}"),
        "",
        "The agent left these changes uncommitted.",
        "",
        "Committed-By-Ralph: before verification",
    ]
    .map(ToString::to_string)
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V13
    #[test]
    fn secret_shaped_and_large_files_are_left_out() {
        for secret in [".env", "app/.env.local", "deploy/server.PEM", "id_ed25519", "config/secrets.yml", "a.key"] {
            assert_eq!(reason_to_leave_out(secret, 1), Some(LeftOutReason::LooksLikeSecret), "{secret}");
        }
        for plain in [".env.example", ".environment", "src/key.rs", "secrets.rs", "keys/readme.md", "pem", "env"] {
            assert_eq!(reason_to_leave_out(plain, MAX_COMMITTED_BYTES), None, "{plain}");
        }
        assert_eq!(reason_to_leave_out("video.mp4", MAX_COMMITTED_BYTES + 1), Some(LeftOutReason::TooLarge));
    }

    // spec: V13
    #[test]
    fn files_that_were_left_out_are_named_with_the_reason() {
        let file = |path: &str, reason| LeftOutFile { path: path.to_string(), reason };
        let files = [file(".env", LeftOutReason::LooksLikeSecret), file("a.bin", LeftOutReason::TooLarge)];
        assert_eq!(
            describe_left_out(&files),
            "left out of the commit: .env looks like a secret, a.bin is larger than 5 MB"
        );
    }

    // spec: V13
    #[test]
    fn the_last_line_of_the_message_says_that_ralph_committed() {
        let message = commit_message("T-1", "coder");
        assert!(
            message.starts_with("T-1: work of coder\n\n")
                && message.ends_with("\n\nCommitted-By-Ralph: before verification")
        );
    }
}
