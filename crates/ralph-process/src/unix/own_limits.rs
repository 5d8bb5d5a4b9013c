//! Resource limits that a process sets for itself before risky work.
use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Limits the address space of this process and disables core files.
pub fn limit_own_memory(bytes: u64) -> io::Result<()> {
    for (resource, limit) in [(Resource::As, bytes), (Resource::Core, 0)] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
