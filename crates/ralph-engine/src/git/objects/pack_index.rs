//! Finds out which objects a pack contains, from its index file.
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::git::objects::object_writer::renew_file_time;
use crate::git::work_files::exact_files::open_regular_file;

/// The signature of an index, and its version.
const HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT_BYTES: u64 = 256 * 4;
const NAME_BYTES: u64 = 20;

/// The index of one pack: a table of the number of objects by the first byte of their names, then the sorted names.
pub(in crate::git) struct PackIndex {
    file: File,
    path: PathBuf,
}

impl PackIndex {
    /// Opens the indexes of all packs in a folder. An index of another version is an error.
    pub(in crate::git) fn open_all(folder: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut packs = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "idx") {
                packs.push(Self::open(&path)?);
            }
        }
        Ok(packs)
    }

    fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular_file(path)?;
        let mut header = [0; HEADER.len()];
        file.read_exact_at(&mut header, 0)?;
        if header == HEADER {
            Ok(Self { file, path: path.to_path_buf() })
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    pub(in crate::git) fn contains(&self, name: &[u8; 20]) -> io::Result<bool> {
        let first = u64::from(name[0]);
        let mut low = if first == 0 { 0 } else { self.read_fanout(first - 1)? };
        let mut high = self.read_fanout(first)?;
        while low < high {
            let middle = low.midpoint(high);
            let mut found = [0; NAME_BYTES as usize];
            self.file.read_exact_at(&mut found, HEADER.len() as u64 + FANOUT_BYTES + middle * NAME_BYTES)?;
            match found.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }

    /// Makes the pack new, so that git keeps its objects for a while. Returns whether that was possible: the pack may be gone, or
    /// its objects may have their own times, because nothing uses them.
    pub(in crate::git) fn keep_from_removal(&self) -> bool {
        let has_own_times = self.path.with_extension("mtimes").symlink_metadata().is_ok();
        !has_own_times && renew_file_time(&self.path.with_extension("pack")).is_ok()
    }

    /// Returns the number of objects whose names begin with this byte or a smaller one.
    fn read_fanout(&self, first: u64) -> io::Result<u64> {
        let mut number = [0; 4];
        self.file.read_exact_at(&mut number, HEADER.len() as u64 + first * 4)?;
        Ok(u32::from_be_bytes(number).into())
    }
}
