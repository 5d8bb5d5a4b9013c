//! Copies the whole database consistently while other processes may write to it.
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::driver::statement::{SqlValue, sql};
use crate::{Store, StoreError};

impl Store {
    /// Copies the database into a new file that only its owner can read.
    pub async fn backup_to(&self, file: &Path) -> Result<(), StoreError> {
        let copy_failed = |source| StoreError::BackupFailed { path: file.to_path_buf(), source };
        let Some(name) = file.to_str() else {
            return Err(copy_failed(io::Error::new(io::ErrorKind::InvalidInput, "the path is not valid UTF-8")));
        };
        // Created here because SQLite would make the file readable for everyone; it accepts an empty file.
        let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(copy_failed)?;
        let copied = self.vacuum_into(name).await.and_then(|()| target.sync_all().map_err(copy_failed));
        if copied.is_err() {
            // Remove the incomplete copy: the file was created above.
            let _ = std::fs::remove_file(file);
        }
        copied
    }

    async fn vacuum_into(&self, name: &str) -> Result<(), StoreError> {
        let copy = self.connection.lock().await.execute(sql!("VACUUM INTO $1", SqlValue::verbatim(name))).await;
        copy.map(drop).map_err(|source| self.to_store_error(source))
    }
}
