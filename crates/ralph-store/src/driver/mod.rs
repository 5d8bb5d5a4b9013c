//! How statements reach the database.
pub(crate) mod statement_batch;
