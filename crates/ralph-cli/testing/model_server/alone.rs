//! A network with nothing in it but loopback, so that an agent cannot reach the world even if it tries.
use std::io;

/// Moves this process into a new network and wakes its loopback. Returns false where that is not permitted.
pub(crate) fn in_a_network_of_our_own() -> bool {
    new_network().and_then(|()| wake_loopback()).is_ok()
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe interface of the crates that we use makes a namespace")]
fn new_network() -> io::Result<()> {
    // SAFETY: the call takes no pointer; the process has one thread, and no socket yet.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "interfaces are set by ioctl alone")]
fn wake_loopback() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: a request of zeros is a valid one, and both calls read and write only within it.
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
fn new_network() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn wake_loopback() -> io::Result<()> {
    Ok(())
}
