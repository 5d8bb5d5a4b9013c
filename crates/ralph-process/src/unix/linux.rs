//! The platform functions for Linux: adopting orphans, listing all processes, and pidfds. `other_unix.rs` has the same
//! functions for other systems, with limitations.

use std::ffi::{CString, c_int, c_void};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal, set_child_subreaper,
    set_parent_process_death_signal,
};

use crate::processes::process_handle::ProcessHandle;
use crate::processes::process_snapshot::ProcessSnapshot;
use crate::unix::fork_process::exit_immediately;

/// Makes a write to a dead peer fail instead of raising SIGPIPE.
pub(crate) const NO_SIGPIPE: SendFlags = SendFlags::NOSIGNAL;

/// Whether [`list_processes`] shows the whole tree. If not, only a process group can be killed.
pub(crate) const CAN_LIST_PROCESSES: bool = true;

const PIPE_BUFFER_BYTES: usize = 1024 * 1024;

/// Returns a descriptor that refers to this process only, even if its pid is reused, and is readable once it has
/// exited.
pub(crate) fn open_pidfd(pid: Pid) -> rustix::io::Result<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty())
}

pub(crate) fn signal_pidfd(process: &OwnedFd, signal: Signal) -> rustix::io::Result<()> {
    pidfd_send_signal(process, signal)
}

/// Signals the process of a snapshot. Fails if its pid now belongs to another process.
pub(crate) fn signal_process(process: &ProcessSnapshot, signal: Signal) -> rustix::io::Result<()> {
    let handle = ProcessHandle::open(process.pid);
    match read_process(process.pid) {
        Some(current) if current.start_ticks == process.start_ticks => handle.send_signal(signal),
        Some(_) | None => Err(Errno::SRCH),
    }
}

pub(crate) fn is_single_threaded() -> bool {
    fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() == 1)
}

/// Makes this process the parent of its orphaned descendants.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Makes the kernel kill this process when `parent` dies. Only for single-threaded parents: the kernel sends the signal
/// when the parent's thread exits.
pub(crate) fn die_with_parent(parent: Pid) -> rustix::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// Makes the kernel send SIGCONT to this process when its parent dies: if it is stopped then, nothing else continues
/// it.
pub(crate) fn continue_when_parent_dies() {
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
}

/// Sets the name and the command line of a forked process. They differ from those of ralph, so that `pkill -f "ralph
/// run"` does not kill the processes that clean up after ralph.
pub(crate) fn set_process_title(name: &str) {
    set_process_name(name);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(area) = command_line_area(&stat) {
        overwrite_command_line(&area, name);
    }
}

/// Sets only the name of this process, which is cheaper; `ps` still shows the old command line. Only for processes with
/// one thread: the kernel names threads.
#[expect(unsafe_code, reason = "no safe wrapper is available without another feature of a dependency")]
pub(crate) fn set_process_name(name: &str) {
    let Ok(name) = CString::new(name) else { return };
    // SAFETY: the kernel reads at most 16 bytes, up to the zero at the end of the name.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// Returns the addresses of the memory that the kernel shows as the command line of this process.
fn command_line_area(stat: &str) -> Option<Range<usize>> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let address = |index: usize| fields.get(index)?.parse::<usize>().ok();
    let (start, end) = (address(45)?, address(46)?);
    (start > 0 && end > start).then_some(start..end)
}

#[expect(unsafe_code, reason = "the kernel has no call that changes a command line without privileges")]
fn overwrite_command_line(area: &Range<usize>, name: &str) {
    let start = std::ptr::with_exposed_provenance_mut::<u8>(area.start);
    let size = area.len();
    // The last byte must be zero, or the kernel reads beyond the area.
    let length = name.len().min(size - 1);
    // SAFETY: according to the kernel the arguments of this process are at these addresses, in writable memory that
    // this process owns alone since its fork. Keeper and supervisors have one thread and never read their arguments.
    unsafe {
        std::ptr::write_bytes(start, 0, size);
        std::ptr::copy_nonoverlapping(name.as_ptr(), start, length);
    }
}

/// Starts a child that runs `body` and returns once the child has called `exec` or exited. Until then the child shares
/// the memory of this process, which is suspended: unlike `fork`, nothing is copied.
#[expect(unsafe_code, reason = "std does the same, but runs no code of the caller between clone and exec")]
pub(crate) fn spawn_sharing_memory(mut body: &mut dyn FnMut()) -> io::Result<Pid> {
    // Not initialised: the child uses little of the stack, and touching a page costs time.
    let mut stack = Vec::<u128>::with_capacity(CHILD_STACK_BYTES / size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end.cast::<c_void>();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has a separate stack, and this process, which has no other thread, is suspended until the child
    // has exited or called exec. The body lives until then.
    let child_pid = unsafe { libc::clone(child_entry, top, flags, (&raw mut body).cast()) };
    Pid::from_raw(child_pid.max(0)).ok_or_else(io::Error::last_os_error)
}

/// Sufficient for a few system calls.
const CHILD_STACK_BYTES: usize = 64 * 1024;

#[expect(unsafe_code, reason = "clone passes an untyped pointer")]
extern "C" fn child_entry(body: *mut c_void) -> c_int {
    // SAFETY: it points to the body that `spawn_sharing_memory` keeps alive.
    let body = unsafe { &mut *body.cast::<&mut dyn FnMut()>() };
    body();
    // The parent's exit hooks must not run here.
    exit_immediately(1)
}

/// Returns the boot id of this machine, or an empty string if it cannot be read.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Enlarges a pipe to save context switches. Beyond the user's quota the kernel refuses; then the default size remains.
pub(crate) fn enlarge_pipe(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BUFFER_BYTES);
}

/// Returns all processes.
pub(crate) fn list_processes() -> Vec<ProcessSnapshot> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| read_process(Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)?)).collect()
}

pub(crate) fn read_process(pid: Pid) -> Option<ProcessSnapshot> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&stat))
}

/// Returns the resident memory of a process in bytes, counting shared pages in full. Pages of files are not counted,
/// because the kernel can drop them at any time.
pub(crate) fn resident_memory(process: &ProcessSnapshot) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid.as_raw_pid())).unwrap_or_default();
    sum_kilobyte_lines(&status, &["RssAnon:", "RssShmem:"]).unwrap_or(0)
}

/// Returns the resident memory with each shared page divided by the number of its users. Slower: the kernel walks all
/// pages.
pub(crate) fn proportional_memory(process: &ProcessSnapshot) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid.as_raw_pid()));
    // Not readable for processes of other users, and not available before Linux 5.4.
    rollup
        .ok()
        .and_then(|text| sum_kilobyte_lines(&text, &["Pss_Anon:", "Pss_Shmem:"]))
        .unwrap_or_else(|| resident_memory(process))
}

/// Returns the sum of lines such as `RssAnon:  112 kB` in bytes, or `None` if one is missing.
fn sum_kilobyte_lines(text: &str, names: &[&str]) -> Option<u64> {
    let parse_line = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    names.iter().map(parse_line).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
}

/// Returns whether the process was started with exactly this `NAME=value` in its environment.
pub(crate) fn has_environment_entry(pid: Pid, entry: &str) -> bool {
    read_environment(pid).split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
}

/// Returns the environment that a process was started with, as NUL-terminated entries; empty if it cannot be read.
pub(crate) fn read_environment(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default()
}

/// Returns the texts of the tables of TCP connections.
pub(crate) fn tcp_tables() -> Vec<String> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().filter_map(|table| fs::read_to_string(table).ok()).collect()
}

/// Returns the processes that hold a socket open, as far as this user may see that.
pub(crate) fn socket_holders(inode: u64) -> Vec<Pid> {
    let target = format!("socket:[{inode}]");
    let holds = |pid: &Pid| {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())) else { return false };
        let links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.into_iter().any(|link| link.as_os_str() == target.as_str())
    };
    list_processes().iter().map(|process| process.pid).filter(holds).collect()
}

/// Parses `/proc/PID/stat`. The name is in parentheses and may itself contain spaces and parentheses, so the fields are
/// counted from the last closing one.
fn parse_stat(pid: Pid, stat: &str) -> Option<ProcessSnapshot> {
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // A process that is being reaped has the group and session -1, which is not a valid pid.
    let process = |index: usize| Pid::from_raw(i32::try_from(number(index)?).ok()?);
    let ended = matches!(*fields.first()?, "Z" | "X");
    // If the first thread has exited while others still run, the process is shown as a zombie although it is alive.
    let alive = !ended || number(17)? > 1;
    Some(ProcessSnapshot {
        pid,
        parent_pid: process(1),
        session_id: process(3),
        start_ticks: number(19)?,
        is_alive: alive,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::{Pid, parse_stat, proportional_memory, read_process, resident_memory, sum_kilobyte_lines};

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) b (c) S 7 40 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9876 0 0";
        let process = parse_stat(Pid::from_raw(42).unwrap(), stat).unwrap();
        assert_eq!(process.name, "a) b (c");
        assert_eq!(process.parent_pid, Pid::from_raw(7));
        assert_eq!(process.session_id, Pid::from_raw(41));
        assert_eq!(process.start_ticks, 9876);
        assert!(process.is_alive);
    }

    #[test]
    fn a_process_that_is_being_reaped_has_no_session() {
        let stat = "42 (gone) X 0 -1 -1 0 -1 0 0 0 0 0 0 0 0 0 20 0 0 0 9876 0 0";
        let process = parse_stat(Pid::from_raw(42).unwrap(), stat).unwrap();
        assert!(!process.is_alive && process.session_id.is_none() && process.parent_pid.is_none());
    }

    #[test]
    fn a_session_outside_the_container_is_not_a_session() {
        let stat = "42 (inside) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9876 0 0";
        let process = parse_stat(Pid::from_raw(42).unwrap(), stat).unwrap();
        assert!(process.is_alive && process.session_id.is_none());
    }

    #[test]
    fn memory_is_the_sum_of_the_named_lines_and_unknown_if_one_is_missing() {
        let text = "VmRSS:\t  9 kB\nRssAnon:\t     112 kB\nRssFile:\t    1576 kB\nRssShmem:\t       8 kB\n";
        assert_eq!(sum_kilobyte_lines(text, &["RssAnon:", "RssShmem:"]), Some(120 * 1024));
        assert_eq!(sum_kilobyte_lines(text, &["RssAnon:", "Pss_Shmem:"]), None);
    }

    #[test]
    fn allocated_memory_is_measured() {
        let filled = std::hint::black_box(vec![1_u8; 32 << 20]);
        let own = read_process(rustix::process::getpid()).unwrap();
        for measure in [resident_memory, proportional_memory] {
            assert!(measure(&own) >= 32 << 20);
        }
        drop(filled);
    }

    #[test]
    fn the_command_line_area_has_the_length_of_the_command_line() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let area = super::command_line_area(&stat).unwrap();
        assert_eq!(area.len(), std::fs::read("/proc/self/cmdline").unwrap().len());
        assert_eq!(super::command_line_area("42 (zombie) Z 1 2 3"), None);
    }

    #[test]
    fn this_process_is_listed_as_alive() {
        assert!(read_process(rustix::process::getpid()).unwrap().is_alive);
    }
}
