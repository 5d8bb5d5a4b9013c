//! The built-in scripted agent: ralph's own binary acts as an agent, so that ralph can be tried without an account. It
//! prints Claude's format. This folder only describes how to start it; the `demo-agent` command implements it.
mod launch;

pub(crate) use launch::DemoAgent;
