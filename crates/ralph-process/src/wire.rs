//! Turns numbers and byte strings into frames and back. It knows nothing of what the frames mean.
//! A frame is a length (u32, little endian) and that many bytes.

/// Builds one frame.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new() -> Writer {
        Writer(vec![0; 4])
    }

    pub(super) fn u8(mut self, value: u8) -> Writer {
        self.0.push(value);
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Writer {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Writer {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn i32(self, value: i32) -> Writer {
        self.u32(value.cast_unsigned())
    }

    pub(super) fn bytes(mut self, value: &[u8]) -> Writer {
        self = self.u32(length(value));
        self.0.extend(value);
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let size = length(&self.0[4..]);
        self.0[..4].copy_from_slice(&size.to_le_bytes());
        self.0
    }
}

/// Clamps: a job of 4 GiB never reaches the kernel's own limit check, and the decoder refuses the cut frame.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Reads the fields of one frame in the order they were written.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.u32()?).ok()?;
        let (first, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a count and then that many items.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (0..count).map(|_| item(self)).collect()
    }
}

/// Collects bytes as they arrive and hands out whole frames.
#[derive(Default)]
pub(super) struct Frames {
    arrived: Vec<u8>,
}

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let size = usize::try_from(Reader(&self.arrived).u32()?).ok()?;
        if self.arrived.len() - 4 < size {
            return None;
        }
        let rest = self.arrived.split_off(4 + size);
        let mut frame = std::mem::replace(&mut self.arrived, rest);
        frame.drain(..4);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::{Frames, Reader, Writer};

    #[test]
    fn a_frame_that_arrives_byte_by_byte_is_handed_out_once_it_is_whole() {
        let sent = Writer::new().u8(7).i32(-3).u64(1 << 40).bytes(b"name").finish();
        let mut frames = Frames::default();
        for byte in &sent[..sent.len() - 1] {
            frames.push(&[*byte]);
            assert!(frames.next().is_none());
        }
        frames.push(&sent[sent.len() - 1..]);
        let frame = frames.next().unwrap();
        let mut reader = Reader(&frame);
        assert_eq!(reader.u8(), Some(7));
        assert_eq!(reader.i32(), Some(-3));
        assert_eq!(reader.u64(), Some(1 << 40));
        assert_eq!(reader.bytes(), Some(&b"name"[..]));
        assert_eq!(reader.u8(), None);
        assert!(frames.next().is_none());
    }

    #[test]
    fn two_frames_in_one_read_come_out_one_after_the_other() {
        let mut both = Writer::new().u8(1).finish();
        both.extend(Writer::new().u8(2).finish());
        let mut frames = Frames::default();
        frames.push(&both);
        assert_eq!(frames.next(), Some(vec![1]));
        assert_eq!(frames.next(), Some(vec![2]));
        assert_eq!(frames.next(), None);
    }
}
