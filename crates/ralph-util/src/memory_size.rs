//! Amounts of memory as users write them: `512M`, `4G`; a bare number is MB.

/// A larger value is probably a mistake, such as a number of bytes.
const MAX_MB: u64 = 1 << 30;

/// A positive amount of memory in whole MB of 1024 × 1024 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySize {
    mb: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemorySizeError {
    #[error("{text:?} is not an amount of memory: write 512M or 4G (a bare number is MB)")]
    Malformed { text: String },
    #[error("{text:?} is zero: omit it for no limit")]
    Zero { text: String },
    #[error("{text:?} is too large: a bare number is MB, not bytes")]
    TooMuch { text: String },
}

impl MemorySize {
    pub const GIGABYTE: Self = Self { mb: 1024 };

    /// Parses a whole number with the suffix M, G or none.
    pub fn parse(text: &str) -> Result<Self, MemorySizeError> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let malformed = || MemorySizeError::Malformed { text: text.to_owned() };
        let unit_mb: u64 = match unit {
            "" | "M" => 1,
            "G" => 1024,
            _ => return Err(malformed()),
        };
        if number.is_empty() {
            return Err(malformed());
        }
        match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_mb)) {
            Some(0) => Err(MemorySizeError::Zero { text: text.to_owned() }),
            Some(mb @ ..=MAX_MB) => Ok(Self { mb }),
            Some(_) | None => Err(MemorySizeError::TooMuch { text: text.to_owned() }),
        }
    }

    /// Converts a value of [`MemorySize::as_mb`] back. Returns `None` if it is out of range.
    #[must_use]
    pub fn from_mb(mb: u64) -> Option<Self> {
        (1..=MAX_MB).contains(&mb).then_some(Self { mb })
    }

    #[must_use]
    pub fn as_mb(self) -> u64 {
        self.mb
    }

    #[must_use]
    pub fn as_byte_count(self) -> u64 {
        self.mb << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A7
    #[test]
    fn megabytes_and_gigabytes_are_understood_and_a_bare_number_is_megabytes() {
        for (text, mb) in [("512M", 512), ("4G", 4096), ("300", 300), ("1", 1), ("1048576G", MAX_MB)] {
            assert_eq!(MemorySize::parse(text).map(MemorySize::as_mb), Ok(mb), "{text}");
        }
        assert_eq!(MemorySize::parse("4G").map(MemorySize::as_byte_count), Ok(4 * 1024 * 1024 * 1024));
    }

    // spec: A7
    #[test]
    fn malformed_zero_and_huge_sizes_are_refused() {
        for text in ["", "G", "-1", "1.5G", "4 G", " 4G", "4g", "4GB", "4K", "0x10", "1e3", "٤G"] {
            assert!(matches!(MemorySize::parse(text), Err(MemorySizeError::Malformed { .. })), "{text}");
        }
        for text in ["0", "0M", "000G"] {
            assert!(matches!(MemorySize::parse(text), Err(MemorySizeError::Zero { .. })), "{text}");
        }
        for text in ["4294967296", "1048577G", "99999999999999999999", "18014398509481985G"] {
            assert!(matches!(MemorySize::parse(text), Err(MemorySizeError::TooMuch { .. })), "{text}");
        }
    }
}
