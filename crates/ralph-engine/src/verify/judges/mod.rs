//! Models that judge claims: an agent, or an HTTP API.
pub(super) mod agent_judge;
pub(super) mod api_judge;
pub(super) mod claim_judge;
pub(super) mod diff;
