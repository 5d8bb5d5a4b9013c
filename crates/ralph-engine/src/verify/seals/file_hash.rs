//! Hashes one sealed file.
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_core::seal::SealedFileKind;
use ralph_process::is_cancelled;
use ralph_util::digest::{finish_hex, sha256_hex};
use sha2::{Digest, Sha256};

use crate::git::open_regular_file;

/// Larger files cannot be sealed: to read them at every claim would take minutes.
const MAX_HASHED_BYTES: u64 = 4 << 30;
const TOO_LARGE: &str =
    "the file is larger than 4 GB, which cannot be sealed; exclude it with a pattern that begins with !";

/// Hashes a file, or a link and what it leads to; `None` if nothing is there.
pub(in crate::verify) fn hash_path(path: &Path) -> io::Result<Option<(SealedFileKind, String)>> {
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if about.is_symlink() {
        let mut all = Sha256::new();
        all.update(fs::read_link(path)?.as_os_str().as_bytes());
        if let Ok(target) = path.metadata()
            && target.is_file()
        {
            all.update(if is_executable(&target) { b"\0x" } else { b"\0-" });
            hash_contents(path, &mut all)?;
        }
        return Ok(Some((SealedFileKind::Link, finish_hex(all))));
    }
    if !about.is_file() {
        return Ok(Some((SealedFileKind::Other, sha256_hex(b""))));
    }
    let mut all = Sha256::new();
    hash_contents(path, &mut all)?;
    let kind = if is_executable(&about) { SealedFileKind::Executable } else { SealedFileKind::File };
    Ok(Some((kind, finish_hex(all))))
}

pub(in crate::verify) fn is_executable(about: &fs::Metadata) -> bool {
    about.permissions().mode() & 0o111 != 0
}

fn hash_contents(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = open_regular_file(path)?;
    let mut piece = vec![0; 64 * 1024];
    let mut rest = MAX_HASHED_BYTES;
    if file.metadata()?.len() > rest {
        return Err(io::Error::other(TOO_LARGE));
    }
    loop {
        if is_cancelled() {
            return Err(io::Error::other("the run was stopped"));
        }
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        // The file may grow while it is read.
        rest = rest.checked_sub(count as u64).ok_or_else(|| io::Error::other(TOO_LARGE))?;
        hasher.update(piece.get(..count).unwrap_or_default());
    }
}
