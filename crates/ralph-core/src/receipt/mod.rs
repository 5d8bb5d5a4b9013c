//! The receipt of an accepted completion: what was claimed, what was verified, and on which files.
use alloc::string::String;

use serde::{Deserialize, Serialize};

/// What the work tree held when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The commit that it stood on; none where nothing was ever committed.
    pub commit: Option<String>,
    /// The hash of the tree of all files that git does not ignore, as a commit of them would have it.
    pub tree: String,
    /// Whether that is the tree of the commit.
    #[serde(rename = "committed")]
    pub is_committed: bool,
}
