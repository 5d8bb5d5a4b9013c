//! Looks up the names of hosts in a thread of its own. The system's own look-up cannot be ended, and the end of a run
//! shall not wait for it.
use std::io;
use std::net::ToSocketAddrs;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

pub(super) struct ThreadedDnsResolver;

impl Resolve for ThreadedDnsResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, looked_up) = oneshot::channel();
        let looking = std::thread::Builder::new().name("names".to_owned()).spawn(move || {
            // Nobody may be waiting for it any more.
            let _ = found.send((name.as_str(), 0).to_socket_addrs());
        });
        Box::pin(async move {
            looking?;
            let addresses = looked_up.await.map_err(io::Error::other)??;
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
