//! What people ask of a loop from another process: orders are left in the store, and whoever drives the loop is nudged. Where
//! nobody does, it is ended here. Nothing is ever started.
mod bury;
mod driven;
mod give;

pub use bury::{Buried, BuryError, bury};
pub use driven::{Driven, driven};
pub use give::{Given, give};
