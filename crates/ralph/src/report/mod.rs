//! How a running loop looks: plain text for people, JSON lines for programs. Reports watch; they never steer.
mod elsewhere;
mod json;
mod paint;
mod plain;
mod session_layout;
mod session_log;

pub use elsewhere::Elsewhere;
pub use json::JsonReport;
pub use paint::{Paint, Tone};
pub use plain::{Detail, PlainReport};
pub use session_log::SessionLog;
