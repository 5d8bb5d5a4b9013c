//! The supervisor: a process that starts the program of one job, and kills every descendant when the job ends.
pub(crate) mod launch_program;
pub(crate) mod memory_limit;
pub(crate) mod supervisor_main;
