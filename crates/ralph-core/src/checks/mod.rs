//! The conditions of checks and claims: where checks run, the baseline before the work, the seal, and required commits.
pub mod agent_work_commit;
pub mod baseline;
pub mod check_isolation;
pub mod commit_requirement;
pub mod seal;
