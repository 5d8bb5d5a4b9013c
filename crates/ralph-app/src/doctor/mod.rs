//! `ralph doctor`: checks that agents and this machine are ready. It changes nothing but the cache of
//! versions.
mod agents;
mod diagnosis;
mod finding;
mod hooks;
mod login;
mod machine;
mod version_probe;

pub use agents::{AgentExamination, AgentHealth, AgentUse, examine_agent};
pub use diagnosis::{DiagnosisRequest, DoctorReport, diagnose};
pub(crate) use login::has_login;

pub use finding::{DoctorAdvice, DoctorFinding, FindingStatus, worst_status};
pub use machine::{ExaminedProject, check_machine};
