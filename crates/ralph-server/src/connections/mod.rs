//! Accepts connections and serves HTTP/1.1 on them, with limits: how many are open, how long a client may take to send a
//! request, and how long it may refuse to read.
mod accept_loop;
mod connection_registry;
mod stalled_writes;

pub(crate) use accept_loop::{AcceptLoop, ConnectionService};
