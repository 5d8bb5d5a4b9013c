//! Takes the terminal for the board, and puts it back: at the end, before another program runs in it, and after a panic.
use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// How the terminal is written to.
pub(crate) type OpenTerminal = fn() -> Box<dyn Write + Send>;

/// The terminal while the board has it. Dropping it puts the terminal back.
pub(crate) struct TerminalGuard {
    open: OpenTerminal,
    uses_mouse: bool,
    /// Whether the board has the terminal. It is put back once: a second time moves the cursor back over newer lines.
    is_taken: Arc<AtomicBool>,
}

impl TerminalGuard {
    /// Takes the terminal. After a panic, `panics` puts it back.
    pub(crate) fn enter(open: OpenTerminal, uses_mouse: bool, panics: &PanicRestore) -> io::Result<Self> {
        let mut guard = Self { open, uses_mouse, is_taken: Arc::clone(&panics.is_taken) };
        guard.take()?;
        Ok(guard)
    }

    pub(crate) fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        self.is_taken.store(true, Ordering::Relaxed);
        let mut terminal = (self.open)();
        execute!(terminal, EnterAlternateScreen, Hide, EnableBracketedPaste)?;
        if self.uses_mouse {
            execute!(terminal, EnableMouseCapture)?;
        }
        Ok(())
    }

    /// Puts the terminal back as it was.
    pub(crate) fn restore(&mut self) {
        restore_once(self.open, &self.is_taken);
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.restore();
    }
}

fn restore_once(open: OpenTerminal, is_taken: &AtomicBool) {
    if is_taken.swap(false, Ordering::Relaxed) {
        restore_terminal(open);
    }
}

/// Errors are ignored: the terminal may be gone.
fn restore_terminal(open: OpenTerminal) {
    let mut terminal = open();
    let _ = execute!(terminal, DisableMouseCapture, DisableBracketedPaste, Show, LeaveAlternateScreen);
    let _ = terminal.flush();
    let _ = disable_raw_mode();
}

/// While it lives, a panic in any thread puts the terminal back before its message is printed.
pub(crate) struct PanicRestore {
    previous: Arc<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync>,
    has_panicked: Arc<AtomicBool>,
    is_taken: Arc<AtomicBool>,
}

impl PanicRestore {
    pub(crate) fn install(open: OpenTerminal) -> Self {
        let previous: Arc<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync> = panic::take_hook().into();
        let then = Arc::clone(&previous);
        let (has_panicked, is_taken) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (panicked, taken) = (Arc::clone(&has_panicked), Arc::clone(&is_taken));
        panic::set_hook(Box::new(move |info| {
            panicked.store(true, Ordering::Relaxed);
            restore_once(open, &taken);
            then(info);
        }));
        Self { previous, has_panicked, is_taken }
    }

    /// Returns whether any thread has panicked: the terminal does not belong to the board any more.
    pub(crate) fn has_panicked(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }
}

impl Drop for PanicRestore {
    fn drop(&mut self) {
        // The hook cannot be set while a panic unwinds this thread.
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}
