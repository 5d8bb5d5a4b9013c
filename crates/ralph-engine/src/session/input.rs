//! What a host writes to its hook: one JSON text, read with a limit of size and time. A host that forgets to close its end
//! is answered as soon as the text is whole.
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::value::RawValue;

/// No host writes more; what is longer is not read to its end.
const LONGEST: usize = 64 * 1024 * 1024;

/// What was heard.
#[derive(Debug)]
pub enum Heard {
    /// All of it, or what there was of it when the time was over.
    Bytes(Vec<u8>),
    TooLong,
}

/// Reads what the host says, for at most this time.
pub fn hear(mut from: impl Read + AsFd, time: Duration) -> std::io::Result<Heard> {
    let until = Instant::now() + time;
    let mut heard = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        if heard.len() > LONGEST {
            return Ok(Heard::TooLong);
        }
        if !is_ready(&from, Duration::ZERO) && (is_whole(&heard) || !is_ready(&from, left(until))) {
            return Ok(Heard::Bytes(heard));
        }
        match from.read(&mut piece)? {
            0 => return Ok(Heard::Bytes(heard)),
            count => heard.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        if left(until).is_zero() {
            return Ok(Heard::Bytes(heard));
        }
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// Only where nothing more comes at once is the text looked at: a long one is not read over and over.
fn is_whole(heard: &[u8]) -> bool {
    heard.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<&RawValue>(heard).is_ok()
}

/// Tells whether something can be read, or the end was reached, within this time.
fn is_ready(from: &impl AsFd, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let mut asked = [PollFd::new(from, PollFlags::IN)];
        let wait = Timespec::try_from(left(until)).ok();
        match poll(&mut asked, wait.as_ref()) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn bytes(heard: Heard) -> Vec<u8> {
        match heard {
            Heard::Bytes(bytes) => bytes,
            Heard::TooLong => panic!("too long"),
        }
    }

    // spec: H9
    // fault: 108
    #[test]
    fn a_host_that_never_closes_its_end_is_heard_as_soon_as_its_text_is_whole() {
        let (mut host, ours) = UnixStream::pair().unwrap();
        host.write_all(b"{\"a\":{}}\n").unwrap();
        let began = Instant::now();
        assert_eq!(bytes(hear(&ours, Duration::from_secs(3_600)).unwrap()), b"{\"a\":{}}\n");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    // spec: H9
    // fault: 108
    #[test]
    fn a_host_that_says_half_and_stays_is_not_waited_for_for_ever() {
        let (mut host, ours) = UnixStream::pair().unwrap();
        host.write_all(b"{\"a\":").unwrap();
        assert_eq!(bytes(hear(&ours, Duration::from_millis(30)).unwrap()), b"{\"a\":");
    }

    // spec: H9
    // fault: 108
    #[test]
    fn what_is_too_long_is_not_read_to_its_end() {
        let endless = std::fs::File::open("/dev/zero").unwrap();
        assert!(matches!(hear(endless, Duration::from_secs(60)).unwrap(), Heard::TooLong));
    }
}
