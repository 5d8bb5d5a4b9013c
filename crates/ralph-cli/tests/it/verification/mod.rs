//! Verification: checks, baseline, guards, judges, clean checkouts and receipts.
mod allow_changes;
mod baseline;
pub(crate) mod cheating;
mod check_faults;
mod check_stages;
mod clean_room;
mod guards;
mod judges;
mod plugins;
mod proof_levels;
mod protected_tests;
mod receipts;
mod repeated_baseline;
mod require_criteria;
mod seal_surroundings;
pub mod task_seal;
mod templates;
