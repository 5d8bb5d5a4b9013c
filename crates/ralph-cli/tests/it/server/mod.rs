//! `ralph serve`: the API, conversations, the dashboard and the worker of a server.
mod api_document;
mod client;
mod connection_limits;
mod conversation_platforms;
pub(crate) mod conversations;
mod credentials;
mod event_streams;
mod lifecycle;
mod orders;
pub(crate) mod platform_server;
mod reads;
mod seen_decisions;
mod serve_work;
mod served_project;
pub(crate) mod server_process;
