//! One stage of a task: resolves its promise, criteria and iterations, and writes its prompt.
pub(super) mod resolve_stage;
pub(super) mod stage_prompt;
