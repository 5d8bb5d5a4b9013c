//! The second driver of the loop: a running agent session reports through its hooks, and is told whether it may stop.
//! What is decided stands in `ralph_core::session`; here it is kept, read from what the hosts send, and checked.
mod book;
mod checks;
mod clock;
mod entry;
mod input;
mod journal;
mod library;
#[cfg(test)]
mod library_tests;
mod passed;
mod place;
mod respond;
mod settle;
mod tail;
mod usage;

pub use book::{Book, BookError, Key, Turn};
pub use checks::sealer;
pub use clock::now;
pub use entry::{Entry, EntryError};
pub use input::{Heard, hear};
pub use journal::Journal;
pub use library::{Host, LoopError, Message, Role, SessionEvent, SessionLoops, StartOptions};
pub use place::{NoPlace, place};
pub use ralph_agents::hooks::{
    Facts, HOOK_SECONDS, HOSTS, Incoming, Payload, Protocol, Reply, Said, Stop, protocol,
};
pub use respond::{Call, HookError, Response, standing};
pub use settle::{end_forsaken, settle};
