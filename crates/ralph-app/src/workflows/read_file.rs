//! Reads files of a repository without trusting them: regular files of bounded size, as UTF-8.
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Reads a text file, or returns why that is not possible.
pub(crate) fn read_text_file(path: &Path, max_bytes: usize) -> Result<String, String> {
    let bytes = read_bytes(path, max_bytes).map_err(|error| format!("cannot read the file: {error}"))?;
    if bytes.len() > max_bytes {
        return Err(format!("file is larger than {} MB", max_bytes >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.split(|byte| *byte == b'\n').count();
        format!("not UTF-8 text in line {line}")
    })
}

fn read_bytes(path: &Path, max_bytes: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe without a writer would block.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX).min(max_bytes);
    let mut bytes = Vec::with_capacity(size + 1);
    file.take(u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
