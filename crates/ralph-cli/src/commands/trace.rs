//! `RALPH_LOG`: prints trace events of ralph to stderr, for debugging. Off unless the variable is set. Trace events name
//! ids, kinds and paths, never text from users, agents or checks.
use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::out;
use crate::error::CommandError;
use ralph_util::sanitize::sanitize_text;

/// The environment variable with the log level.
const LOG_LEVEL_VARIABLE: &str = "RALPH_LOG";

/// Starts tracing if `RALPH_LOG` is set.
pub fn start_tracing() -> Result<(), CommandError> {
    let value = std::env::var(LOG_LEVEL_VARIABLE).unwrap_or_default();
    if value.is_empty() {
        return Ok(());
    }
    let level = value.parse::<LevelFilter>().map_err(|_| {
        CommandError::usage_error(format!("{LOG_LEVEL_VARIABLE} is {value:?}, which is not a log level"))
            .with_hint("choose one of error, warn, info, debug, trace, off")
    })?;
    // Fails only if tracing has already started.
    let _ = tracing::subscriber::set_global_default(TraceSubscriber { level });
    tracing::info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), "ralph starts");
    Ok(())
}

/// Prints one line for each event. By hand because ralph uses only events, no spans.
struct TraceSubscriber {
    level: LevelFilter,
}

impl Subscriber for TraceSubscriber {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        let target = about.target();
        let ours = target == "ralph" || target.starts_with("ralph::") || target.starts_with("ralph_");
        ours && *about.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let about = event.metadata();
        let mut line = TraceLine(format!("{:<5} {}", about.level().as_str(), about.target()));
        event.record(&mut line);
        out::print_note(&sanitize_text(&line.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The line of one event; each recorded field is appended.
struct TraceLine(String);

impl Visit for TraceLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing into a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
