//! What `bench` can be told.
use crate::failure::{Failure, Result};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) names: Vec<String>,
    pub(super) rounds: usize,
    pub(super) size: Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// What the requirements speak of.
    Full,
    /// A tenth of it, to see whether everything works.
    Quick,
}

impl Size {
    pub(super) fn of(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => full.div_ceil(10),
        }
    }
}

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { names: Vec::new(), rounds: 5, size: Size::Full };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => options.size = Size::Quick,
                "--rounds" => options.rounds = rounds(args.next())?,
                flag if flag.starts_with('-') => {
                    return Err(Failure::new(format!("bench knows no option {flag}")));
                }
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

fn rounds(value: Option<&String>) -> Result<usize> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| Failure::new("--rounds needs a number of at least 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options> {
        Options::parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_and_options_may_be_mixed() {
        let expected = Options { names: vec!["start".to_owned()], rounds: 9, size: Size::Quick };
        assert_eq!(parse(&["--rounds", "9", "start", "--quick"]), Ok(expected));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for args in [&["--rounds"][..], &["--rounds", "0"], &["--fast"]] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
