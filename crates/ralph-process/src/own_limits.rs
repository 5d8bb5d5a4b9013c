//! Limits that a process sets itself before it does what may get out of hand.
use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Limits the address space of this process, and lets it leave no core file when it breaks.
pub fn limit_own_memory(bytes: u64) -> io::Result<()> {
    for (resource, limit) in [(Resource::As, bytes), (Resource::Core, 0)] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
