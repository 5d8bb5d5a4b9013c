//! Resolves host names in a separate thread. The resolver of the system cannot be cancelled, and the end of a run must
//! not wait for it.
use std::io;
use std::net::ToSocketAddrs;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

pub(crate) struct ThreadedDnsResolver;

impl Resolve for ThreadedDnsResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (sender, receiver) = oneshot::channel();
        let resolver = std::thread::Builder::new().name("dns".to_owned()).spawn(move || {
            // The receiver may be gone.
            let _ = sender.send((name.as_str(), 0).to_socket_addrs());
        });
        Box::pin(async move {
            resolver?;
            let addresses = receiver.await.map_err(io::Error::other)??;
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
