//! The disk space shared by the raw logs of one run. Each log reserves half of the remaining bytes when it is created
//! and returns the unused part at its end, so that one noisy process leaves space for later logs.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The remaining bytes for the logs of one run.
#[derive(Debug, Clone)]
pub struct LogBudget {
    remaining_bytes: Arc<Mutex<u64>>,
}

impl LogBudget {
    /// Creates the budget of a run: `limit` minus the size of the files that its folder already contains.
    #[must_use]
    pub fn new(limit: u64, folder: &Path) -> Self {
        Self { remaining_bytes: Arc::new(Mutex::new(limit.saturating_sub(folder_size(folder)))) }
    }

    pub(crate) fn reserve_share(&self) -> u64 {
        let mut left = self.remaining_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let share = *left / 2;
        *left -= share;
        share
    }

    pub(crate) fn return_unused(&self, unused: u64) {
        let mut left = self.remaining_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(unused);
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
        budget.return_unused(50);
        assert_eq!(budget.reserve_share(), 37);
        assert_eq!(LogBudget::new(3, temp.path()).reserve_share(), 0);
    }
}
