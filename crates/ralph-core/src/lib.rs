//! The rules of the loop. Everything here decides and nothing here acts: no files, no clock, no randomness,
//! no threads. The crate is `no_std` so that the compiler holds that promise.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod claim;
pub mod contradiction;
pub mod text;
