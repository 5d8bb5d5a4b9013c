//! Encodes numbers and byte strings as frames and decodes them. A frame is a length (u32, little endian) and that many
//! bytes. Hand-written because arguments and paths are arbitrary bytes, which JSON cannot represent.

/// Builds one frame.
pub(crate) struct FrameWriter(Vec<u8>);

impl FrameWriter {
    pub(crate) fn new() -> FrameWriter {
        FrameWriter(vec![0; 4])
    }

    pub(crate) fn push_u8(mut self, value: u8) -> FrameWriter {
        self.0.push(value);
        self
    }

    pub(crate) fn push_u32(mut self, value: u32) -> FrameWriter {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn push_u64(mut self, value: u64) -> FrameWriter {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn push_i32(self, value: i32) -> FrameWriter {
        self.push_u32(value.cast_unsigned())
    }

    pub(crate) fn push_bytes(mut self, value: &[u8]) -> FrameWriter {
        self = self.push_u32(clamped_length(value));
        self.0.extend(value);
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let size = clamped_length(&self.0[4..]);
        self.0[..4].copy_from_slice(&size.to_le_bytes());
        self.0
    }
}

/// Clamps the length to u32. A field of 4 GiB is far beyond the kernel's argument limit, and the decoder refuses the
/// frame.
fn clamped_length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Reads the fields of one frame in the order in which they were written.
pub(crate) struct FrameReader<'a>(pub(crate) &'a [u8]);

impl<'a> FrameReader<'a> {
    pub(crate) fn read_u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn read_u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    pub(crate) fn read_u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(crate) fn read_i32(&mut self) -> Option<i32> {
        self.read_u32().map(u32::cast_signed)
    }

    pub(crate) fn read_bytes(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.read_u32()?).ok()?;
        let (first, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a count and then that many items.
    pub(crate) fn read_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.read_u32()?;
        (0..count).map(|_| item(self)).collect()
    }
}

/// Collects bytes as they arrive and returns complete frames.
#[derive(Default)]
pub(crate) struct FrameBuffer {
    received: Vec<u8>,
}

impl FrameBuffer {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    pub(crate) fn next_frame(&mut self) -> Option<Vec<u8>> {
        let size = usize::try_from(FrameReader(&self.received).read_u32()?).ok()?;
        if self.received.len() - 4 < size {
            return None;
        }
        let rest = self.received.split_off(4 + size);
        let mut frame = std::mem::replace(&mut self.received, rest);
        frame.drain(..4);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameBuffer, FrameReader, FrameWriter};

    #[test]
    fn a_frame_that_arrives_byte_by_byte_is_returned_once_it_is_complete() {
        let sent = FrameWriter::new().push_u8(7).push_i32(-3).push_u64(1 << 40).push_bytes(b"name").finish();
        let mut frames = FrameBuffer::default();
        for byte in &sent[..sent.len() - 1] {
            frames.push(&[*byte]);
            assert!(frames.next_frame().is_none());
        }
        frames.push(&sent[sent.len() - 1..]);
        let frame = frames.next_frame().unwrap();
        let mut reader = FrameReader(&frame);
        assert_eq!(reader.read_u8(), Some(7));
        assert_eq!(reader.read_i32(), Some(-3));
        assert_eq!(reader.read_u64(), Some(1 << 40));
        assert_eq!(reader.read_bytes(), Some(&b"name"[..]));
        assert_eq!(reader.read_u8(), None);
        assert!(frames.next_frame().is_none());
    }

    #[test]
    fn two_frames_in_one_read_are_returned_one_after_the_other() {
        let mut both = FrameWriter::new().push_u8(1).finish();
        both.extend(FrameWriter::new().push_u8(2).finish());
        let mut frames = FrameBuffer::default();
        frames.push(&both);
        assert_eq!(frames.next_frame(), Some(vec![1]));
        assert_eq!(frames.next_frame(), Some(vec![2]));
        assert_eq!(frames.next_frame(), None);
    }
}
