//! Stores which commands of which project the user has approved. A repository can contain commands that another person
//! wrote: ralph does not start them without approval.
mod approval;
mod command_fingerprint;
mod trust_list;

pub use approval::{
    CriteriaOrigin, approval_status, approve_commands, ensure_approved, ensure_approved_with, ensure_use_approved,
    format_command, is_approved, refuse_approval_by_agent, revoke_approval,
};
pub use command_fingerprint::CommandFingerprint;
pub use trust_list::{TrustError, TrustList, TrustStatus};
