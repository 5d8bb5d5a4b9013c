//! The options of `cargo xtask bench`.
use crate::error::{Result, XtaskError};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct BenchOptions {
    pub(super) names: Vec<String>,
    pub(super) rounds: usize,
    pub(super) size: BenchSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchSize {
    /// The size that the requirements state.
    Full,
    /// A tenth of the full size, to test the benchmarks themselves.
    Quick,
}

impl BenchSize {
    pub(super) fn scaled_count(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => full.div_ceil(10),
        }
    }
}

impl BenchOptions {
    pub(super) fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { names: Vec::new(), rounds: 5, size: BenchSize::Full };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => options.size = BenchSize::Quick,
                "--rounds" => options.rounds = parse_rounds(args.next())?,
                flag if flag.starts_with('-') => {
                    return Err(XtaskError::new(format!("unknown option {flag} for bench")));
                }
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

fn parse_rounds(value: Option<&String>) -> Result<usize> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| XtaskError::new("--rounds needs a number of at least 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_options(args: &[&str]) -> Result<BenchOptions> {
        BenchOptions::parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_and_options_may_be_mixed() {
        let expected = BenchOptions { names: vec!["start".to_owned()], rounds: 9, size: BenchSize::Quick };
        assert_eq!(parse_options(&["--rounds", "9", "start", "--quick"]), Ok(expected));
    }

    #[test]
    fn invalid_options_are_refused() {
        for args in [&["--rounds"][..], &["--rounds", "0"], &["--fast"]] {
            assert!(parse_options(args).is_err(), "{args:?}");
        }
    }
}
