//! Shows a message on the desktop: by the terminal of this process, and by `notify-send`.
use std::path::Path;
use std::time::Duration;

use ralph_process::can_start_program;

use super::channel::SendError;
use super::message::OutgoingMessage;
use super::notifier::NotificationHost;
use super::outbox::temporary;
use super::script::run_program;

/// The program of most Linux desktops.
const NOTIFY_PROGRAM: &str = "notify-send";

/// Shows a message in every way that this process has. Without one it is kept for another process.
pub(super) async fn show_on_desktop(
    host: &NotificationHost,
    message: &OutgoingMessage,
    timeout: Duration,
) -> Result<(), SendError> {
    if let Some(terminal) = host.terminal {
        terminal(&terminal_sequence(&message.text));
    }
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if has_display && can_start_program(Path::new("/"), NOTIFY_PROGRAM) {
        // The body of a desktop notification may contain markup.
        let body = message.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = format!("ralph: {}", message.project);
        let command = [NOTIFY_PROGRAM, "--app-name=ralph", "--", &title, &body].map(str::to_owned);
        let shown = tokio::task::spawn_blocking(move || run_program(Path::new("/"), &command, &[], timeout)).await;
        return shown.unwrap_or_else(|error| Err(temporary(error.to_string())));
    }
    match host.terminal {
        Some(_) => Ok(()),
        None => Err(temporary("this process has no terminal and no desktop")),
    }
}

/// Returns the sequence with which a terminal shows a message (OSC 9). The text has no control characters.
fn terminal_sequence(text: &str) -> String {
    let line: String = text.lines().map(str::trim).collect::<Vec<_>>().join(" · ");
    let line: String = line.chars().filter(|character| !character.is_control()).take(300).collect();
    // Without a blank, a text that begins with a number would be read as another command of this sequence.
    format!("\x1b]9; {line}\x07")
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U7, X1
    #[test]
    fn a_text_cannot_end_the_sequence_of_the_terminal() {
        assert_eq!(terminal_sequence("a\x07\x1b]0;evil\x1b\\\nb"), "\x1b]9; a]0;evil\\ · b\x07");
        assert_eq!(terminal_sequence("4;1;50"), "\x1b]9; 4;1;50\x07");
    }
}
