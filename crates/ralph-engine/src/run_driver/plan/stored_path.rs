//! Serializes a path as text, or as bytes if it is not UTF-8.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredPath {
    Text(String),
    Bytes { path_bytes: Vec<u8> },
}

impl StoredPath {
    fn from_path(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes { path_bytes: path.as_os_str().as_bytes().to_vec() },
        }
    }

    fn into_path(self) -> PathBuf {
        match self {
            Self::Text(text) => text.into(),
            Self::Bytes { path_bytes } => OsString::from_vec(path_bytes).into(),
        }
    }
}

pub(in crate::run_driver) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    StoredPath::from_path(path).serialize(to)
}

pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    StoredPath::deserialize(from).map(StoredPath::into_path)
}

/// The same for an optional path.
pub(in crate::run_driver) mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, StoredPath};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(in crate::run_driver) fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(StoredPath::from_path).serialize(to)
    }

    pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<StoredPath>::deserialize(from)?.map(StoredPath::into_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct PathFixture {
        #[serde(with = "super")]
        path: PathBuf,
        #[serde(with = "super::optional")]
        perhaps: Option<PathBuf>,
    }

    // spec: L13
    #[test]
    fn every_path_survives_a_round_trip_and_utf8_paths_are_stored_as_text() {
        let odd = PathBuf::from(OsString::from_vec(b"/a/\xff\xfe b".to_vec()));
        for (path, perhaps) in [(odd.clone(), Some(odd)), ("/a/b".into(), None)] {
            let fixture = PathFixture { path, perhaps };
            let json = serde_json::to_string(&fixture).unwrap();
            assert_eq!(serde_json::from_str::<PathFixture>(&json).unwrap(), fixture, "{json}");
        }
        let plain = PathFixture { path: "/a/b".into(), perhaps: Some("c".into()) };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"path":"/a/b","perhaps":"c"}"#);
    }
}
