//! The clean room: a fresh checkout of the claimed commit, in which what was sealed is as it was when the run started. It
//! is gone with its value, and what a ralph that was killed left is removed by the next.
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use ralph_core::seal::{FileKind, Seal, SealedFile};

use super::seal::{SealError, Sealer};
use crate::git::{Checkout, CheckoutError};

#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("{} cannot be put into the clean room: {source}", path.display())]
    Furnish { path: PathBuf, source: io::Error },
}

/// What a clean room is made of.
pub struct Furniture {
    /// The root of the user's work tree.
    pub root: PathBuf,
    pub commit: String,
    pub share: Vec<String>,
    pub seal: Seal,
}

/// A checkout that is fit for checks.
pub struct Room {
    checkout: Checkout,
}

impl Room {
    /// Makes one. The seal was looked at before: what is sealed lies in the work tree as it was sealed.
    pub fn make(sealer: &Sealer, furniture: &Furniture) -> Result<Self, RoomError> {
        let checkout = Checkout::make(&furniture.root, &furniture.commit)?;
        let room = Self { checkout };
        let here = room.path().to_path_buf();
        lend(&furniture.root, &here, &furniture.share)?;
        for name in sealer.at(&here).guarded()? {
            if !furniture.seal.files.iter().any(|file| file.path == name) {
                furnish(&name, fs::remove_file(here.join(&name)))?;
            }
        }
        for file in &furniture.seal.files {
            furnish(&file.path, restore(&furniture.root, &here, file))?;
        }
        Ok(room)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.checkout.path()
    }
}

/// Links shared folders of a work tree into a checkout.
pub fn lend(root: &Path, here: &Path, names: &[String]) -> Result<(), RoomError> {
    names.iter().try_for_each(|name| furnish(name, share(root, here, name)))
}

fn furnish(name: &str, done: io::Result<()>) -> Result<(), RoomError> {
    done.map_err(|source| RoomError::Furnish { path: name.into(), source })
}

/// Links a folder of the work tree into the room, unless the commit has one of its own.
fn share(root: &Path, here: &Path, name: &str) -> io::Result<()> {
    let (from, to) = (root.join(name), here.join(name));
    if !is_below(name) || !from.exists() || to.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(from, to)
}

/// Puts a sealed file where the commit may have another.
fn restore(root: &Path, here: &Path, file: &SealedFile) -> io::Result<()> {
    if !is_below(&file.path) || !make_way(root, here, Path::new(&file.path))? {
        return Ok(());
    }
    let (from, to) = (root.join(&file.path), here.join(&file.path));
    if to.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        fs::remove_dir_all(&to)?;
    } else if to.symlink_metadata().is_ok() {
        fs::remove_file(&to)?;
    }
    match file.kind {
        FileKind::File | FileKind::Executable => fs::copy(from, to).map(drop),
        FileKind::Link => std::os::unix::fs::symlink(fs::read_link(from)?, to),
        FileKind::Other => Ok(()),
    }
}

/// Makes the folders above a file. A link that the commit has there could lead out of the room: it is removed. Through one
/// of ours, to a shared folder, nothing is written.
fn make_way(root: &Path, here: &Path, name: &Path) -> io::Result<bool> {
    let mut so_far = PathBuf::new();
    for part in name.parent().into_iter().flat_map(Path::components) {
        so_far.push(part);
        let folder = here.join(&so_far);
        match folder.symlink_metadata() {
            Ok(found) if found.is_dir() => continue,
            Ok(found) if found.is_symlink() && fs::read_link(&folder)? == root.join(&so_far) => {
                return Ok(false);
            }
            Ok(_) => fs::remove_file(&folder)?,
            Err(_) => {}
        }
        fs::create_dir(&folder)?;
    }
    Ok(true)
}

/// Tells whether a name stays below the folder that it is meant in.
fn is_below(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
