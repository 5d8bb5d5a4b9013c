//! Finds the processes at the other end of a loopback connection.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::process::{Pid, getuid};

use crate::unix::platform;

/// A connection between two sockets of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackConnection {
    /// The address of this process.
    pub own: SocketAddr,
    /// The address of the other process.
    pub peer: SocketAddr,
}

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionPeer {
    /// These processes hold its socket. The list is empty if the kernel does not show them to this process.
    Processes(Vec<Pid>),
    /// Its socket belongs to another user.
    OtherUser,
    /// It has closed the connection.
    Closed,
    /// This platform cannot tell.
    Unsupported,
}

/// Finds the processes at the other end.
#[must_use]
pub fn find_connection_peer(connection: LoopbackConnection) -> ConnectionPeer {
    let tables = platform::tcp_tables();
    if tables.is_empty() {
        return ConnectionPeer::Unsupported;
    }
    let peer_end = LoopbackConnection { own: canonical(connection.peer), peer: canonical(connection.own) };
    let found = tables.iter().flat_map(|table| table.lines()).filter_map(parse_table_line);
    match found.into_iter().find(|socket| socket.connection == peer_end) {
        // A closed socket has no inode.
        None | Some(TcpSocket { inode: 0, .. }) => ConnectionPeer::Closed,
        Some(socket) if socket.user != getuid().as_raw() => ConnectionPeer::OtherUser,
        Some(socket) => ConnectionPeer::Processes(platform::socket_holders(socket.inode)),
    }
}

/// A line of the kernel's table of TCP sockets.
#[derive(Debug, PartialEq, Eq)]
struct TcpSocket {
    connection: LoopbackConnection,
    user: u32,
    inode: u64,
}

/// Parses a line of `/proc/net/tcp` or `/proc/net/tcp6`; `None` for the heading.
fn parse_table_line(line: &str) -> Option<TcpSocket> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let own = parse_address(fields.next()?)?;
    let peer = parse_address(fields.next()?)?;
    let mut fields = fields.skip(4);
    let user = fields.next()?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(TcpSocket { connection: LoopbackConnection { own, peer }, user, inode })
}

/// Parses `0100007F:0BB8`: groups of four bytes in the byte order of the machine, then the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(group(0)?)),
        32 => {
            let bytes: Vec<u8> = [group(0)?, group(8)?, group(16)?, group(24)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

/// An IPv4 address is the same with and without its IPv6 form.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_lines_of_the_kernel_tables_are_parsed() {
        let line =
            "   1: 0100007F:9C40 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0";
        let socket = parse_table_line(line).unwrap();
        assert_eq!(socket.connection.own, "127.0.0.1:40000".parse().unwrap());
        assert_eq!(socket.connection.peer, "127.0.0.1:3000".parse().unwrap());
        assert_eq!((socket.user, socket.inode), (1000, 4711));
        assert_eq!(parse_address("00000000000000000000000001000000:0BB8"), Some("[::1]:3000".parse().unwrap()));
        assert_eq!(parse_address("0000000000000000FFFF00000100007F:0BB8"), Some("127.0.0.1:3000".parse().unwrap()));
        assert_eq!(parse_table_line("  sl  local_address rem_address   st"), None);
    }

    // spec: V17
    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_at_the_other_end_is_found_until_it_closes_the_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let connection = LoopbackConnection { own: server.local_addr().unwrap(), peer };
        assert_eq!(find_connection_peer(connection), ConnectionPeer::Processes(vec![rustix::process::getpid()]));
        drop(client);
        assert_eq!(find_connection_peer(connection), ConnectionPeer::Closed);
    }
}
