//! The clean room: a fresh checkout of the claimed commit, with the sealed files as they were when the run started. It
//! is removed when its value is dropped; leftovers of a killed process are removed when the next one is created.
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use ralph_core::seal::{Seal, SealedFile, SealedFileKind};

use crate::git::{CheckoutError, TemporaryCheckout};
use crate::verify::AcceptancePolicy;
use crate::verify::seals::file_sealer::{FileSealer, SealError};

#[derive(Debug, thiserror::Error)]
pub enum CleanCheckoutError {
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("cannot place {} in the clean room: {source}", path.display())]
    PlaceFile { path: PathBuf, source: io::Error },
}

/// The contents of a clean checkout.
pub struct CleanCheckoutSpec {
    /// The root of the user's work tree.
    pub root: PathBuf,
    pub commit: String,
    pub share: Vec<String>,
    pub seal: Seal,
}

impl CleanCheckoutSpec {
    pub(in crate::verify) fn new(root: &Path, commit: String, acceptance: &AcceptancePolicy, seal: &Seal) -> Self {
        Self { root: root.to_path_buf(), commit, share: acceptance.share.clone(), seal: seal.clone() }
    }
}

/// A checkout in which checks can run.
pub struct CleanCheckout {
    checkout: TemporaryCheckout,
}

impl CleanCheckout {
    /// Creates a clean checkout. The seal must be intact: sealed files are copied from the work tree.
    pub fn create(sealer: &FileSealer, spec: &CleanCheckoutSpec) -> Result<Self, CleanCheckoutError> {
        let checkout = TemporaryCheckout::create(&spec.root, &spec.commit)?;
        let checkout_root = checkout.path();
        share_paths(&spec.root, checkout_root, &spec.share)?;
        for name in sealer.for_checkout(checkout_root).list_guarded_files()? {
            if !spec.seal.files.iter().any(|file| file.path == name) {
                with_path_context(&name, fs::remove_file(checkout_root.join(&name)))?;
            }
        }
        for file in &spec.seal.files {
            with_path_context(&file.path, restore_sealed_file(&spec.root, checkout_root, file))?;
        }
        Ok(Self { checkout })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.checkout.path()
    }
}

/// Links shared folders of a work tree into a checkout.
pub fn share_paths(root: &Path, checkout_root: &Path, names: &[String]) -> Result<(), CleanCheckoutError> {
    names.iter().try_for_each(|name| with_path_context(name, share_path(root, checkout_root, name)))
}

fn with_path_context(name: &str, result: io::Result<()>) -> Result<(), CleanCheckoutError> {
    result.map_err(|source| CleanCheckoutError::PlaceFile { path: name.into(), source })
}

/// Links a folder of the work tree into the checkout, unless the commit contains that folder.
fn share_path(root: &Path, checkout_root: &Path, name: &str) -> io::Result<()> {
    let (from, to) = (root.join(name), checkout_root.join(name));
    if !is_inside_root(name) || !from.exists() || to.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(from, to)
}

/// Copies a sealed file into the checkout and replaces the version of the commit.
fn restore_sealed_file(root: &Path, checkout_root: &Path, file: &SealedFile) -> io::Result<()> {
    if !is_inside_root(&file.path) || !create_parent_folders(root, checkout_root, Path::new(&file.path))? {
        return Ok(());
    }
    let (from, to) = (root.join(&file.path), checkout_root.join(&file.path));
    if to.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        fs::remove_dir_all(&to)?;
    } else if to.symlink_metadata().is_ok() {
        fs::remove_file(&to)?;
    }
    match file.kind {
        SealedFileKind::File | SealedFileKind::Executable => fs::copy(from, to).map(drop),
        SealedFileKind::Link => std::os::unix::fs::symlink(fs::read_link(from)?, to),
        SealedFileKind::Folder | SealedFileKind::Other => Ok(()),
    }
}

/// Creates the parent folders of a file. A link in the commit could lead out of the checkout, so it is removed. Returns
/// false if a parent is a shared folder: nothing must be written into the user's work tree.
fn create_parent_folders(root: &Path, checkout_root: &Path, name: &Path) -> io::Result<bool> {
    let mut so_far = PathBuf::new();
    for part in name.parent().into_iter().flat_map(Path::components) {
        so_far.push(part);
        let folder = checkout_root.join(&so_far);
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

/// Returns whether a relative path stays below its folder.
fn is_inside_root(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
