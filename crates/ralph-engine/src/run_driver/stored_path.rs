//! A path as it is stored: as text, or byte by byte where it is none.
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

pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    StoredPath::from_path(path).serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    StoredPath::deserialize(from).map(StoredPath::into_path)
}

/// The same for a path that may be missing.
pub(super) mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, StoredPath};

    #[expect(clippy::ref_option, reason = "serde hands over the field as it is")]
    pub(in super::super) fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(StoredPath::from_path).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
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
    fn any_path_comes_back_as_it_was_and_one_that_is_text_is_stored_as_text() {
        let odd = PathBuf::from(OsString::from_vec(b"/a/\xff\xfe b".to_vec()));
        for (path, perhaps) in [(odd.clone(), Some(odd)), ("/a/b".into(), None)] {
            let place = PathFixture { path, perhaps };
            let json = serde_json::to_string(&place).unwrap();
            assert_eq!(serde_json::from_str::<PathFixture>(&json).unwrap(), place, "{json}");
        }
        let plain = PathFixture { path: "/a/b".into(), perhaps: Some("c".into()) };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"path":"/a/b","perhaps":"c"}"#);
    }
}
