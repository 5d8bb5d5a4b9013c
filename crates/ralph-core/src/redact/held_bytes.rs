//! The bytes that a redactor holds until the next piece arrives.
use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct HeldBytes {
    bytes: Vec<u8>,
    join_buffer: Vec<u8>,
}

impl HeldBytes {
    /// Passes the held bytes and the piece to `process`, and holds the bytes at the end that it did not decide on.
    /// `process` returns their number.
    pub(super) fn push(&mut self, piece: &[u8], process: impl FnOnce(&[u8]) -> usize) {
        if self.bytes.is_empty() {
            let left = process(piece);
            self.bytes.extend_from_slice(last_bytes(piece, left));
            return;
        }
        // The buffer is reused because pieces are large and many.
        self.join_buffer.clear();
        self.join_buffer.append(&mut self.bytes);
        self.join_buffer.extend_from_slice(piece);
        let left = process(&self.join_buffer);
        self.bytes.extend_from_slice(last_bytes(&self.join_buffer, left));
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn last_bytes(bytes: &[u8], count: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(count)..).unwrap_or_default()
}
