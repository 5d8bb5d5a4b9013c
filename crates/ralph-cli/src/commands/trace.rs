//! `RALPH_LOG`: writes a line to stderr for each trace event, for debugging ralph itself. Off by default. Trace events
//! contain ids, kinds and paths, never the text of users, agents or checks.
use std::fmt;
use std::io;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use crate::commands::out;
use crate::error::CommandError;
use ralph_util::sanitize::sanitize_text;

/// Names the variable with the level.
const LOG_LEVEL_VARIABLE: &str = "RALPH_LOG";

/// The prefix of the targets of all crates of this workspace.
const OWN_TARGETS: &str = "ralph";

/// Starts tracing if `RALPH_LOG` is set.
pub fn start_tracing() -> Result<(), CommandError> {
    let asked = std::env::var(LOG_LEVEL_VARIABLE).unwrap_or_default();
    if asked.is_empty() {
        return Ok(());
    }
    let level = asked.parse::<LevelFilter>().map_err(|_| {
        CommandError::usage_error(format!("{LOG_LEVEL_VARIABLE} is {asked:?}, which is not a log level"))
            .with_hint("choose one of error, warn, info, debug, trace, off")
    })?;
    let lines = layer().event_format(TraceLineFormat).with_writer(|| RedactingWriter);
    let targets = Targets::new().with_target(OWN_TARGETS, level);
    // Fails only if tracing was started before.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(targets).with(lines));
    tracing::info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), "ralph starts");
    Ok(())
}

/// Formats an event as `LEVEL target: message key=value`, with the level padded to five characters.
struct TraceLineFormat;

impl<S, N> FormatEvent<S, N> for TraceLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(line, "{:<5} {}: ", event.metadata().level().as_str(), event.metadata().target())?;
        context.format_fields(line, event)
    }
}

/// Writes events to stderr without secrets and control characters. The layer passes each event in one write, so no
/// secret is split.
struct RedactingWriter;

impl io::Write for RedactingWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        out::print_note(&sanitize_text(&String::from_utf8_lossy(event)));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
