//! The stamps of files in snapshots: a file with an equal stamp has the same content. No program can set the time at which the
//! inode of a file changed.
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Two changes within this time may get the same time: the clock of the kernel advances every 10 ms at the slowest.
const CLOCK_TICK: Duration = Duration::from_millis(20);
/// The same on file systems that store whole seconds; FAT stores every second one.
const COARSE_CLOCK_TICK: Duration = Duration::from_secs(3);

/// The identity, the kind, the size and the times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SnapshotStamp {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl SnapshotStamp {
    pub(super) fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            mode: found.mode(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Returns whether every change after `moment` gives the file another stamp: its last change was not just before.
    pub(super) fn is_settled(&self, moment: SystemMoment) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let tick = if nanoseconds == 0 { COARSE_CLOCK_TICK } else { CLOCK_TICK };
        let since_epoch = |seconds: i64, nanoseconds: i64| {
            Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?))
        };
        since_epoch(seconds, nanoseconds).is_some_and(|changed| changed + tick < moment.since_epoch)
    }
}

/// A moment of the clock that also sets the times of files.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemMoment {
    since_epoch: Duration,
}

impl SystemMoment {
    pub(super) fn now() -> Self {
        Self { since_epoch: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N42
    #[test]
    fn a_stamp_counts_only_if_the_last_change_is_older_than_a_tick_of_its_clock() {
        let stamp =
            |changed| SnapshotStamp { device: 1, inode: 2, mode: 0o100_644, size: 3, modified: (4, 5), changed };
        let moment = SystemMoment { since_epoch: Duration::new(100, 0) };
        assert!(stamp((99, 979_999_999)).is_settled(moment));
        assert!(!stamp((99, 980_000_000)).is_settled(moment));
        assert!(!stamp((100, 1)).is_settled(moment), "the clock was set back");
        assert!(stamp((96, 0)).is_settled(moment));
        assert!(!stamp((97, 0)).is_settled(moment), "the file system may store whole seconds");
        assert!(!stamp((-1, 0)).is_settled(moment));
    }
}
