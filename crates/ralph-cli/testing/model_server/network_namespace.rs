//! A network namespace with only a loopback interface, so that an agent cannot reach the internet.
use std::io;

/// Moves this process into a new network namespace and enables its loopback interface. Returns false if that is not permitted.
pub(crate) fn enter_isolated_network() -> bool {
    create_network_namespace().and_then(|()| enable_loopback()).is_ok()
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the crates in use have no safe interface that creates a namespace")]
fn create_network_namespace() -> io::Result<()> {
    // SAFETY: the call takes no pointer; the process has one thread, and no socket yet.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "interfaces are configured by ioctl")]
fn enable_loopback() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: a zeroed request is valid, and both calls read and write only within it.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = c_char(b'l');
        request.ifr_name[1] = c_char(b'o');
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request))?;
        request.ifr_ifru.ifru_flags |= i16::try_from(libc::IFF_UP).unwrap_or_default();
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request))
    }
}

#[cfg(target_os = "linux")]
fn c_char(byte: u8) -> libc::c_char {
    libc::c_char::try_from(byte).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn checked(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn create_network_namespace() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn enable_loopback() -> io::Result<()> {
    Ok(())
}
