//! The verifiers: they run a check and bring evidence. They never decide what follows from it.
mod external;

pub use external::{Checker, check_all};
