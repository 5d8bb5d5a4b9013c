//! Checkouts of commits: temporary ones, and linked work trees.
pub(super) mod checkout;
pub(super) mod checkout_surroundings;
pub(super) mod linked_worktrees;
