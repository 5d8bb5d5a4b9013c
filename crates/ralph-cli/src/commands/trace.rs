//! `RALPH_LOG`: what ralph itself does, line by line on standard error, for whoever looks for a fault in it. Off unless
//! it is set. Trace points name things (ids, kinds, paths), never what users, agents or checks say.
use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::out;
use crate::error::CommandError;
use ralph_util::sanitize::sanitize_text;

/// Names the variable with the level.
const LOG_LEVEL_VARIABLE: &str = "RALPH_LOG";

/// Starts tracing, if somebody asked for it.
pub fn start_tracing() -> Result<(), CommandError> {
    let asked = std::env::var(LOG_LEVEL_VARIABLE).unwrap_or_default();
    if asked.is_empty() {
        return Ok(());
    }
    let level = asked.parse::<LevelFilter>().map_err(|_| {
        CommandError::usage_error(format!("{LOG_LEVEL_VARIABLE} is {asked:?}, which is no level"))
            .with_hint("choose one of error, warn, info, debug, trace, off")
    })?;
    // Fails only where it has been started before.
    let _ = tracing::subscriber::set_global_default(TraceSubscriber { level });
    tracing::info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), "ralph starts");
    Ok(())
}

/// Writes a line for each event. Spans are not used here.
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

/// A line that grows by what an event tells.
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
