//! Fresh checkouts in which checks run.
pub(super) mod checkout_setup;
pub(super) mod clean_checkout;
