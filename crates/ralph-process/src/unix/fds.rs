//! Creates, passes and closes file descriptors. Never reads or writes the data.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::unix::platform;

/// The descriptors that a supervisor needs for one job.
pub(crate) struct JobFds {
    pub(crate) control: UnixStream,
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl JobFds {
    /// Returns the control socket and closes the other descriptors.
    pub(crate) fn into_control(self) -> UnixStream {
        self.control
    }
}

/// ralph's end of a pipe (non-blocking) and the child's end (blocking).
pub(crate) struct PipePair {
    pub(crate) local_end: OwnedFd,
    pub(crate) child_end: OwnedFd,
}

/// Which end the child gets.
pub(crate) enum ChildPipeEnd {
    ReadEnd,
    WriteEnd,
}

impl PipePair {
    pub(crate) fn new(child: &ChildPipeEnd) -> io::Result<PipePair> {
        let (reader, writer) = io::pipe()?;
        let (ours, theirs) = match child {
            ChildPipeEnd::ReadEnd => (OwnedFd::from(writer), OwnedFd::from(reader)),
            ChildPipeEnd::WriteEnd => (OwnedFd::from(reader), OwnedFd::from(writer)),
        };
        platform::enlarge_pipe(&ours);
        // The two ends are separate open file descriptions, so the child's end stays blocking.
        ioctl_fionbio(&ours, true)?;
        Ok(PipePair { local_end: ours, child_end: theirs })
    }
}

pub(crate) fn open_null_input() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

/// Sends a job's descriptors to the keeper without blocking.
pub(crate) fn send_job(keeper: BorrowedFd<'_>, job: &JobFds) -> rustix::io::Result<()> {
    let fds = [job.control.as_fd(), job.stdin.as_fd(), job.stdout.as_fd(), job.stderr.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    attached.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::DONTWAIT | platform::NO_SIGPIPE;
    sendmsg(keeper, &[IoSlice::new(&[1])], &mut attached, flags).map(drop)
}

/// Waits for the next job's descriptors. Returns `None` if the peer is gone.
pub(crate) fn receive_job(keeper: BorrowedFd<'_>) -> Option<JobFds> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut attached = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        match recvmsg(keeper, &mut [IoSliceMut::new(&mut byte)], &mut attached, RecvFlags::empty()) {
            Ok(message) if message.bytes == 0 => return None,
            Ok(_) => {
                if let Some(job) = take_job_fds(&mut attached) {
                    return Some(job);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Returns `None` if descriptors were lost because this process has too many open. The sender then sees its control
/// socket close.
fn take_job_fds(attached: &mut RecvAncillaryBuffer<'_>) -> Option<JobFds> {
    let mut fds = attached.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let (control, stdin, stdout, stderr) = (fds.next()?, fds.next()?, fds.next()?, fds.next()?);
    for fd in [&control, &stdin, &stdout, &stderr] {
        fcntl_setfd(fd, FdFlags::CLOEXEC).ok()?;
    }
    Some(JobFds { control: UnixStream::from(control), stdin, stdout, stderr })
}

/// Closes all descriptors except `keep`, and replaces stdin, stdout and stderr with /dev/null.
///
/// Only for a newly forked process that never returns to its caller: the Rust owners of these descriptors do not
/// notice.
pub(crate) fn close_all_except(keep: BorrowedFd<'_>) -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for standard in 0..=2 {
        replace_fd(standard, null.as_fd())?;
    }
    let open = list_open_fds()?;
    drop(null);
    open.into_iter().filter(|fd| *fd > 2 && *fd != keep.as_raw_fd()).for_each(close_fd);
    Ok(())
}

/// Closes the descriptors that this program inherited through `exec`, except the standard three. They are recognised by
/// their missing close-on-exec flag: the descriptors that ralph opens itself all have it.
pub(crate) fn close_inherited_fds() -> io::Result<()> {
    list_open_fds()?.into_iter().filter(|fd| *fd > 2 && is_inherited_by_exec(*fd)).for_each(close_fd);
    Ok(())
}

/// Returns the open descriptors, including the one used for listing them.
fn list_open_fds() -> io::Result<Vec<RawFd>> {
    let listed = std::fs::read_dir("/dev/fd")?;
    Ok(listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

#[expect(unsafe_code, reason = "the owners of inherited descriptors are unknown")]
fn is_inherited_by_exec(number: RawFd) -> bool {
    // SAFETY: reading the flags of a descriptor changes nothing, whether it is open or not.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// Closes a descriptor whose owner was copied by `fork` and is never used or dropped in this process.
pub(crate) fn close_inherited_copy(inherited: BorrowedFd<'_>) {
    close_fd(inherited.as_raw_fd());
}

/// Makes `number` a copy of `source` that survives `exec`.
#[expect(unsafe_code, reason = "descriptors 0 to 2 have no Rust owner")]
pub(crate) fn replace_fd(number: RawFd, source: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: dup2 is called for 0, 1 and 2 only, which no Rust object owns.
    let result = unsafe { libc::dup2(source.as_raw_fd(), number) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "the owners of inherited descriptors are unknown")]
fn close_fd(number: RawFd) {
    // SAFETY: called right after fork, for descriptors that have no Rust owner, or whose copied owner is never used or
    // dropped in this process.
    unsafe {
        libc::close(number);
    }
}
