//! Controlling loops from another process: finding, cancelling, pausing, guiding and following them.
mod advice;

pub use advice::ControlAdvice;
