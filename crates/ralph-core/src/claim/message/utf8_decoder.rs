//! Decodes UTF-8 that arrives in pieces. A character that is split across two pieces is decoded correctly, and invalid
//! bytes become replacement characters, no matter where the stream is split.
//! Hand-written because `String::from_utf8_lossy` needs the whole input.

use alloc::string::String;
use alloc::vec::Vec;

/// A lossy decoder that buffers an incomplete character.
#[derive(Debug, Clone, Default)]
pub struct Utf8Decoder {
    pending_bytes: Vec<u8>,
}

impl Utf8Decoder {
    /// Decodes `bytes` and appends the text to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        while !self.pending_bytes.is_empty() {
            let Some((first, after)) = rest.split_first() else { return };
            rest = after;
            self.pending_bytes.push(*first);
            let pending = core::mem::take(&mut self.pending_bytes);
            self.decode_bytes(&pending, out);
        }
        self.decode_bytes(rest, out);
    }

    /// Ends the stream. An incomplete character becomes a replacement character.
    pub fn finish(&mut self, out: &mut String) {
        if !self.pending_bytes.is_empty() {
            self.pending_bytes.clear();
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn decode_bytes(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        loop {
            let error = match core::str::from_utf8(rest) {
                Ok(text) => return out.push_str(text),
                Err(error) => error,
            };
            let (good, bad) = rest.split_at_checked(error.valid_up_to()).unwrap_or((rest, &[]));
            out.push_str(core::str::from_utf8(good).unwrap_or(""));
            let Some(length) = error.error_len() else { return self.pending_bytes.extend_from_slice(bad) };
            out.push(char::REPLACEMENT_CHARACTER);
            rest = bad.get(length..).unwrap_or(&[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_in_pieces(bytes: &[u8], size: usize) -> String {
        let (mut stream, mut out) = (Utf8Decoder::default(), String::new());
        for piece in bytes.chunks(size) {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        out
    }

    // spec: S8
    #[test]
    fn a_character_split_across_pieces_is_decoded() {
        assert_eq!(decode_in_pieces("完了 ✅ <promise>".as_bytes(), 1), "完了 ✅ <promise>");
    }

    // spec: S8
    #[test]
    fn invalid_bytes_are_replaced_the_same_way_in_any_pieces() {
        let bytes = b"ok \xff\xe2\x28\xa1 \xf0\x9f\x98 end \xe2\x82";
        for size in 1..9 {
            assert_eq!(decode_in_pieces(bytes, size), String::from_utf8_lossy(bytes));
        }
    }
}
