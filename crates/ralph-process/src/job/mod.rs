//! One job in ralph's process: starting it, moving its bytes, controlling it, and waiting for its end.
pub(crate) mod graceful_stop;
pub(crate) mod job_completion;
pub(crate) mod job_control;
pub(crate) mod pump_job;
pub(crate) mod report_stream;
pub(crate) mod start_job;
