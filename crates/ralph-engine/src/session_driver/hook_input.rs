//! Reads the input of a hook: one JSON text, with a size limit and a timeout. The text is accepted as soon as it is
//! complete, because some hosts do not close stdin.
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::value::RawValue;

/// No host writes more; longer input is not read to its end.
const MAX_HOOK_INPUT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub enum HookInput {
    /// The input, which is incomplete if reading timed out.
    Bytes(Vec<u8>),
    TooLong,
}

/// Reads the input of the host until it is complete or the time is over.
pub fn read_hook_input(mut from: impl Read + AsFd, time_limit: Duration) -> std::io::Result<HookInput> {
    let until = Instant::now() + time_limit;
    let mut received = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        if received.len() > MAX_HOOK_INPUT_BYTES {
            return Ok(HookInput::TooLong);
        }
        if !is_readable_within(&from, Duration::ZERO)
            && (is_complete_json(&received) || !is_readable_within(&from, time_left(until)))
        {
            return Ok(HookInput::Bytes(received));
        }
        match from.read(&mut piece)? {
            0 => return Ok(HookInput::Bytes(received)),
            count => received.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        if time_left(until).is_zero() {
            return Ok(HookInput::Bytes(received));
        }
    }
}

fn time_left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Returns whether the input is a complete JSON text. Called only when no more input is waiting, so that long input is
/// not parsed repeatedly.
fn is_complete_json(received: &[u8]) -> bool {
    received.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<&RawValue>(received).is_ok()
}

/// Returns whether input or the end of the stream can be read within this time.
fn is_readable_within(from: &impl AsFd, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let mut polled = [PollFd::new(from, PollFlags::IN)];
        let timeout = Timespec::try_from(time_left(until)).ok();
        match poll(&mut polled, timeout.as_ref()) {
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

    fn expect_bytes(input: HookInput) -> Vec<u8> {
        match input {
            HookInput::Bytes(bytes) => bytes,
            HookInput::TooLong => panic!("too long"),
        }
    }

    // spec: H9
    // fault: 108
    #[test]
    fn input_is_accepted_once_it_is_complete_even_if_the_host_never_closes_it() {
        let (mut host, ours) = UnixStream::pair().unwrap();
        host.write_all(b"{\"a\":{}}\n").unwrap();
        let started = Instant::now();
        assert_eq!(expect_bytes(read_hook_input(&ours, Duration::from_secs(3_600)).unwrap()), b"{\"a\":{}}\n");
        assert!(started.elapsed() < Duration::from_secs(60));
    }

    // spec: H9
    // fault: 108
    #[test]
    fn reading_incomplete_input_times_out() {
        let (mut host, ours) = UnixStream::pair().unwrap();
        host.write_all(b"{\"a\":").unwrap();
        assert_eq!(expect_bytes(read_hook_input(&ours, Duration::from_millis(30)).unwrap()), b"{\"a\":");
    }

    // spec: H9
    // fault: 108
    #[test]
    fn input_that_is_too_long_is_not_read_to_its_end() {
        let endless = std::fs::File::open("/dev/zero").unwrap();
        assert!(matches!(read_hook_input(endless, Duration::from_secs(60)).unwrap(), HookInput::TooLong));
    }
}
