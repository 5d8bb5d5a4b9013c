//! Amounts of money and of tokens as users write them: `5`, `0.25`, `$5`; `200000`, `500k`, `2M`.
use ralph_core::budget;

const MICROS_PER_DOLLAR: u64 = 1_000_000;

/// A larger value is probably a mistake.
const MAX_DOLLARS: u64 = 1_000_000_000;

/// A positive amount of US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DollarAmount {
    micros: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("{text:?} is not an amount of dollars: write 5 or 0.25")]
    NotDollars { text: String },
    #[error("{text:?} is not a number of tokens: write 200000, 500k or 2M")]
    NotTokens { text: String },
    #[error("{text:?} is zero: omit it for no limit")]
    Zero { text: String },
    #[error("{text:?} is too large")]
    TooMuch { text: String },
}

impl DollarAmount {
    /// Parses dollars with at most six digits after the decimal point, with or without a leading `$`.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let malformed = || AmountError::NotDollars { text: text.to_owned() };
        let (whole, part) = match text.strip_prefix('$').unwrap_or(text).split_once('.') {
            Some((whole, part)) if !part.is_empty() => (whole, part),
            Some(_) => return Err(malformed()),
            None => (text.strip_prefix('$').unwrap_or(text), ""),
        };
        if part.len() > 6 || !is_all_digits(whole) || !(part.is_empty() || is_all_digits(part)) {
            return Err(malformed());
        }
        let too_much = || AmountError::TooMuch { text: text.to_owned() };
        let dollars = whole.parse::<u64>().ok().filter(|dollars| *dollars <= MAX_DOLLARS).ok_or_else(too_much)?;
        let part = format!("{part:0<6}").parse::<u64>().map_err(|_| malformed())?;
        match dollars * MICROS_PER_DOLLAR + part {
            0 => Err(AmountError::Zero { text: text.to_owned() }),
            micros => Ok(Self { micros }),
        }
    }

    #[must_use]
    pub fn as_micros(self) -> u64 {
        self.micros
    }

    /// Returns the amount in the form that [`DollarAmount::parse`] accepts, without `$`.
    #[must_use]
    pub fn to_plain_text(self) -> String {
        budget::format_dollars(self.micros).trim_start_matches('$').to_owned()
    }
}

/// Parses a number of tokens with the suffix `k`, `M` or none.
pub fn parse_tokens(text: &str) -> Result<u64, AmountError> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let malformed = || AmountError::NotTokens { text: text.to_owned() };
    let unit: u64 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        _ => return Err(malformed()),
    };
    if number.is_empty() {
        return Err(malformed());
    }
    let max_tokens = u64::from(u32::MAX) * 1_000;
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err(AmountError::Zero { text: text.to_owned() }),
        Some(tokens) if tokens <= max_tokens => Ok(tokens),
        Some(_) | None => Err(AmountError::TooMuch { text: text.to_owned() }),
    }
}

fn is_all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L8
    #[test]
    fn dollar_amounts_are_exact_and_format_to_the_same_value() {
        for (text, micros) in [("5", 5 * MICROS_PER_DOLLAR), ("0.25", 250_000), ("$12.5", 12_500_000), ("0.000001", 1)]
        {
            let amount = DollarAmount::parse(text).unwrap();
            assert_eq!(amount.as_micros(), micros, "{text}");
            assert_eq!(DollarAmount::parse(&amount.to_plain_text()), Ok(amount), "{text}");
        }
    }

    // spec: L8
    #[test]
    fn text_that_is_not_an_amount_is_refused() {
        for text in ["", "$", "-5", "5.", ".5", "1e3", "5 USD", "5,00", "0.0000001", "٥", "$$5", "1.2.3"] {
            assert!(matches!(DollarAmount::parse(text), Err(AmountError::NotDollars { .. })), "{text}");
        }
        assert!(matches!(DollarAmount::parse("0.00"), Err(AmountError::Zero { .. })));
        assert!(matches!(DollarAmount::parse("99999999999"), Err(AmountError::TooMuch { .. })));
        for text in ["", "k", "-5", "1.5M", "2m", "2 M"] {
            assert!(matches!(parse_tokens(text), Err(AmountError::NotTokens { .. })), "{text}");
        }
        assert!(matches!(parse_tokens("0k"), Err(AmountError::Zero { .. })));
        assert!(matches!(parse_tokens("99999999999M"), Err(AmountError::TooMuch { .. })));
    }

    // spec: L8
    #[test]
    fn tokens_may_be_counted_in_thousands_and_millions() {
        for (text, tokens) in [("200000", 200_000), ("500k", 500_000), ("2M", 2_000_000)] {
            assert_eq!(parse_tokens(text), Ok(tokens), "{text}");
        }
    }
}
