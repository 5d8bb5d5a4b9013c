//! How a running loop looks: plain text for people, JSON lines for programs. Reports watch; they never steer.
mod announced;
mod bottom;
mod countdown;
mod elsewhere;
mod hidden;
mod json;
mod live_log;
mod paint;
mod plain;
mod replay;
mod screen;
mod session_layout;
mod session_log;
mod wrap;

pub use announced::Announced;
pub use elsewhere::Elsewhere;
pub use json::JsonReport;
pub use paint::{Paint, Tone};
pub use plain::{Detail, PlainReport};
pub use replay::Replay;
pub use screen::fitted;
pub use session_log::SessionLog;
