//! What can go wrong with the store, with the path inside.
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the state folder {} cannot be used", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the database {} cannot be used", path.display())]
    Database { path: PathBuf, source: sqlx::Error },
    #[error("the database {} was written by a newer ralph: it has schema {found}, this one knows {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was removed or replaced while the run was going on", path.display())]
    Gone { path: PathBuf },
    #[error("run {run} was taken over by another ralph")]
    TakenOver { run: String, owner: Option<String> },
    #[error("a stored value in {} cannot be read: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
}
