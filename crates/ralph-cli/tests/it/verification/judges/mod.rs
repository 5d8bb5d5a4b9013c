//! Judges: models that decide whether a criterion is met.
mod judge_api;
mod judge_tls;
mod scripted_judge;
