//! A pseudoterminal for a call of ralph. Closing it sends a hangup.
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::harness::wait_until;

/// The controlling side of a pseudoterminal, and the process on the other side.
pub struct Terminal {
    screen: Option<File>,
    shown: Vec<u8>,
    child: Child,
}

impl Terminal {
    /// Starts a command as the leader of a new session on a new terminal.
    pub fn start(command: Command) -> Self {
        Self::start_with(command, 0)
    }

    /// Starts a command on a terminal with this many columns; 0 means unknown.
    pub fn start_with(mut command: Command, columns: u16) -> Self {
        let screen = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&screen).unwrap();
        rustix::pty::unlockpt(&screen).unwrap();
        rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&screen, size).unwrap();
        let line = open_terminal_side(&screen);
        command.stdin(line.try_clone().unwrap()).stdout(line.try_clone().unwrap()).stderr(line);
        start_new_session(&mut command);
        let child = command.spawn().unwrap();
        rustix::io::ioctl_fionbio(&screen, true).unwrap();
        Self { screen: Some(File::from(screen)), shown: Vec::new(), child }
    }

    /// Waits until the terminal has shown this.
    pub fn wait_for(&mut self, text: &str) {
        wait_until(&format!("the terminal shows {text:?}"), || self.shown().contains(text));
    }

    /// Returns what the terminal has shown so far.
    pub fn shown(&mut self) -> String {
        let mut piece = [0; 4096];
        if let Some(screen) = &mut self.screen {
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                self.shown.extend_from_slice(&piece[..count]);
            }
        }
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Returns the written rows, without text that was redrawn.
    pub fn rows(&mut self) -> Vec<String> {
        let shown = self.shown();
        let mut plain = String::new();
        let mut pieces = shown.split("\x1b[");
        plain.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            plain.push_str(piece.split_once(|end: char| end.is_ascii_alphabetic()).map_or("", |(_, text)| text));
        }
        let rows = plain.split('\n').map(|row| row.trim_end_matches('\r'));
        rows.map(|row| row.rsplit('\r').next().unwrap_or_default().to_owned()).collect()
    }

    /// Types something.
    pub fn press(&mut self, keys: &str) {
        self.screen.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Sends a signal to the process, as `kill` would.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Closes the window.
    pub fn close(&mut self) {
        self.screen = None;
    }

    /// Waits for the end of the process while reading its output.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the process on the terminal has ended", || {
            self.shown();
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.shown();
        status.unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if it has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Opens the side that the program uses.
fn open_terminal_side(screen: &impl AsFd) -> OwnedFd {
    let name = rustix::pty::ptsname(screen, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap()
}

/// Makes standard input the controlling terminal of the new session.
#[expect(unsafe_code, reason = "only between fork and exec can the child take its terminal")]
fn start_new_session(command: &mut Command) {
    let take = || {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    // SAFETY: both are plain system calls; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(take) };
}
