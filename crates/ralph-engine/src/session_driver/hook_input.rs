//! What a host writes to its hook: one JSON text, read with a limit of size and time. A host that forgets to close its end
//! is answered as soon as the text is whole.
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::value::RawValue;

/// No host writes more; what is longer is not read to its end.
const MAX_HOOK_INPUT_BYTES: usize = 64 * 1024 * 1024;

/// What was heard.
#[derive(Debug)]
pub enum HookInput {
    /// All of it, or what there was of it when the time was over.
    Bytes(Vec<u8>),
    TooLong,
}

/// Reads what the host says, for at most this time.
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

/// Only where nothing more comes at once is the text looked at: a long one is not read over and over.
fn is_complete_json(heard: &[u8]) -> bool {
    heard.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<&RawValue>(heard).is_ok()
}

/// Tells whether something can be read, or the end was reached, within this time.
fn is_readable_within(from: &impl AsFd, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let mut asked = [PollFd::new(from, PollFlags::IN)];
        let wait = Timespec::try_from(time_left(until)).ok();
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

    fn expect_bytes(heard: HookInput) -> Vec<u8> {
        match heard {
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
        let began = Instant::now();
        assert_eq!(expect_bytes(read_hook_input(&ours, Duration::from_secs(3_600)).unwrap()), b"{\"a\":{}}\n");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    // spec: H9
    // fault: 108
    #[test]
    fn incomplete_input_is_not_awaited_for_ever() {
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
