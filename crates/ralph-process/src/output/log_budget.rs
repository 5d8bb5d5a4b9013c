//! The disk space shared by the raw logs of one run. Each log may use half of the remaining bytes when it is created, so
//! that one noisy process leaves space for later logs.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The remaining bytes for the logs of one run.
#[derive(Debug, Clone)]
pub struct LogBudget {
    remaining_bytes: Arc<Mutex<u64>>,
    sharing: LogSharing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogSharing {
    /// A log reserves its share, and returns the unused part at its end.
    Reserved,
    /// A log counts once it has ended. Many logs may be open: if each reserved its share, the last would have none.
    Counted,
}

impl LogBudget {
    /// Creates the budget of a run: `limit` minus the size of the files that its folder already contains.
    #[must_use]
    pub fn new(limit: u64, folder: &Path) -> Self {
        let remaining_bytes = Arc::new(Mutex::new(limit.saturating_sub(folder_size(folder))));
        Self { remaining_bytes, sharing: LogSharing::Reserved }
    }

    /// Creates the budget of a run with many logs at the same time. Together they may exceed the limit.
    #[must_use]
    pub fn for_parallel_logs(limit: u64, folder: &Path) -> Self {
        Self { sharing: LogSharing::Counted, ..Self::new(limit, folder) }
    }

    pub(crate) fn reserve_share(&self) -> u64 {
        let mut left = self.remaining_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let share = *left / 2;
        if self.sharing == LogSharing::Reserved {
            *left -= share;
        }
        share
    }

    /// Counts what a log has used of its share.
    pub(crate) fn settle_share(&self, share: u64, used: u64) {
        let mut left = self.remaining_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *left = match self.sharing {
            LogSharing::Reserved => left.saturating_add(share.saturating_sub(used)),
            LogSharing::Counted => left.saturating_sub(used),
        };
    }
}

fn folder_size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: D5
    #[test]
    fn each_log_may_use_half_of_what_is_left_and_gives_back_the_rest() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("earlier.log"), "12345").unwrap();
        let budget = LogBudget::new(105, temp.path());
        assert_eq!((budget.reserve_share(), budget.reserve_share()), (50, 25));
        budget.settle_share(50, 0);
        assert_eq!(budget.reserve_share(), 37);
        assert_eq!(LogBudget::new(3, temp.path()).reserve_share(), 0);
    }

    // spec: D5, W3
    #[test]
    fn of_many_logs_at_the_same_time_each_may_use_half_of_what_the_ended_ones_have_left() {
        let temp = tempfile::tempdir().unwrap();
        let budget = LogBudget::for_parallel_logs(100, temp.path());
        let shares: Vec<u64> = (0..64).map(|_| budget.reserve_share()).collect();
        assert_eq!(shares, [50; 64]);
        budget.settle_share(50, 20);
        assert_eq!(budget.reserve_share(), 40);
    }
}
