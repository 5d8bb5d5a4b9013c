//! What a fold holds back until the next piece comes.
use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    joined: Vec<u8>,
}

impl Held {
    /// Gives `pass` what was held together with the piece, and holds the end that it did not decide on: it returns how
    /// many bytes that are.
    pub(super) fn push(&mut self, piece: &[u8], pass: impl FnOnce(&[u8]) -> usize) {
        if self.bytes.is_empty() {
            let left = pass(piece);
            self.bytes.extend_from_slice(end_of(piece, left));
            return;
        }
        // The memory goes round: pieces are large, and there are many.
        self.joined.clear();
        self.joined.append(&mut self.bytes);
        self.joined.extend_from_slice(piece);
        let left = pass(&self.joined);
        self.bytes.extend_from_slice(end_of(&self.joined, left));
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn end_of(bytes: &[u8], count: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(count)..).unwrap_or_default()
}
