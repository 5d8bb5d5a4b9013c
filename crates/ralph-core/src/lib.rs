//! The rules of the loop. Everything here decides and nothing here acts: no files, no clock, no randomness,
//! no threads. The crate is `no_std` so that the compiler holds that promise.
#![no_std]
