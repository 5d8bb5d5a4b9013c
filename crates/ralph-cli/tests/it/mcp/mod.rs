//! `ralph mcp`: the protocol, and what an agent of a run can do with the tools.
mod own_run;
mod protocol;
