//! Finds the processes of a project in /proc.
use std::fmt;
use std::fs;
use std::path::Path;

/// One living process.
pub struct Process {
    /// The state letter of the kernel: `S` for sleeping, `T` for stopped.
    pub state: char,
    pub pid: u32,
    command: String,
}

impl fmt::Debug for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.pid, self.state, self.command)
    }
}

/// Returns the living processes with this mark whose environment has a variable with this prefix.
pub fn find_marked(mark: &str, variable: &str) -> Vec<Process> {
    let mark = format!("RALPH_TEST_MARK={mark}");
    let folders = fs::read_dir("/proc").unwrap().flatten();
    let found = folders.filter_map(|folder| {
        let environ = fs::read(folder.path().join("environ")).ok()?;
        let variables: Vec<&[u8]> = environ.split(|&byte| byte == 0).collect();
        let has = variables.iter().any(|entry| entry.starts_with(variable.as_bytes()));
        let is_ours = has && variables.contains(&mark.as_bytes());
        let pid = folder.file_name().to_str()?.parse().ok()?;
        is_ours.then(|| read_process(&folder.path(), pid)).flatten()
    });
    found.collect()
}

fn read_process(folder: &Path, pid: u32) -> Option<Process> {
    let state = state_of(pid).filter(|state| *state != 'Z' && *state != 'X')?;
    let command = fs::read(folder.join("cmdline")).unwrap_or_default();
    Some(Process { state, pid, command: String::from_utf8_lossy(&command).replace('\0', " ") })
}

/// Returns the state of a process; `None` when it is gone.
pub fn state_of(pid: u32) -> Option<char> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let (_, state) = status.split_once("State:\t")?;
    state.chars().next()
}

/// Returns the parent of a process.
pub fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let (_, parent) = status.split_once("PPid:")?;
    parent.split_whitespace().next()?.parse().ok()
}

/// Returns whether a process is alive. A zombie is not.
pub fn is_alive(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// Returns the peak memory of a living process, in kilobytes.
pub fn peak_memory_kb(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let (_, peak) = status.split_once("VmHWM:")?;
    peak.split_whitespace().next()?.parse().ok()
}
