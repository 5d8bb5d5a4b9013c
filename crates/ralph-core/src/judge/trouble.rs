//! What follows when a judge that is asked over HTTP gives no answer: another try, or the reason why there is none.
use alloc::format;
use alloc::string::{String, ToString};

/// How often a question is asked.
const TRIES: u32 = 3;
/// The pause before the second try; it doubles.
const PAUSE_MS: u64 = 1_000;

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The server refused or failed.
    Status {
        code: u16,
        /// What the server said of it.
        words: Option<String>,
        /// How long it asks to wait.
        retry_after_ms: Option<u64>,
        /// Where it points to.
        location: Option<String>,
    },
    /// There was no connection, or it broke.
    Broken { why: String },
    /// It would be the same the next time.
    Hopeless { why: String },
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    AskAgain { after_ms: u64 },
    GiveUp { why: String },
}

impl Trouble {
    /// Decides after so many tries, with so much time left.
    #[must_use]
    pub fn next(&self, tries: u32, left_ms: u64) -> Next {
        if !self.can_pass() {
            return Next::GiveUp { why: self.words() };
        }
        if tries >= TRIES {
            return Next::GiveUp { why: format!("{} ({tries} tries)", self.words()) };
        }
        let usual = PAUSE_MS << tries.saturating_sub(1).min(6);
        let after_ms = self.asked_to_wait().unwrap_or(usual);
        if after_ms >= left_ms {
            let seconds = after_ms.div_ceil(1_000);
            let why = format!("{}; another try in {seconds} s would be past its time-out", self.words());
            return Next::GiveUp { why };
        }
        Next::AskAgain { after_ms }
    }

    fn can_pass(&self) -> bool {
        match self {
            Self::Status { code, .. } => matches!(code, 408 | 425 | 429 | 500..=599),
            Self::Broken { .. } => true,
            Self::Hopeless { .. } => false,
        }
    }

    fn asked_to_wait(&self) -> Option<u64> {
        match self {
            Self::Status { retry_after_ms, .. } => *retry_after_ms,
            Self::Broken { .. } | Self::Hopeless { .. } => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Broken { why } | Self::Hopeless { why } => why.clone(),
            Self::Status { code, location: Some(location), .. } if (300..400).contains(code) => {
                format!("it points to another address, which is not followed: {location}")
            }
            Self::Status { code, words, .. } => {
                let words = words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
                format!("it answered with status {code}{}{words}", meaning(*code))
            }
        }
    }
}

fn meaning(code: u16) -> String {
    match code {
        401 | 403 => " (the key was not accepted)".to_string(),
        404 => " (no such address or model)".to_string(),
        413 => " (the question is too long for it)".to_string(),
        429 => " (too many requests)".to_string(),
        503 | 529 => " (overloaded)".to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, retry_after_ms: Option<u64>) -> Trouble {
        Trouble::Status { code, words: Some("so it is".to_string()), retry_after_ms, location: None }
    }

    // spec: V3
    #[test]
    fn what_can_pass_is_asked_again_a_few_times_and_no_more() {
        let broken = Trouble::Broken { why: "reset".to_string() };
        for trouble in [status(429, None), status(500, None), status(529, None), broken] {
            assert_eq!(trouble.next(1, 60_000), Next::AskAgain { after_ms: 1_000 });
            assert_eq!(trouble.next(2, 60_000), Next::AskAgain { after_ms: 2_000 });
            assert!(matches!(trouble.next(3, 60_000), Next::GiveUp { .. }), "{trouble:?}");
        }
    }

    // spec: V3
    #[test]
    fn what_would_be_the_same_the_next_time_is_asked_once() {
        let hopeless = Trouble::Hopeless { why: "no key".to_string() };
        for trouble in
            [status(400, None), status(401, Some(1)), status(404, None), status(302, None), hopeless]
        {
            assert!(matches!(trouble.next(1, 60_000), Next::GiveUp { .. }), "{trouble:?}");
        }
        let Next::GiveUp { why } = status(401, None).next(1, 1) else { panic!() };
        assert_eq!(why, "it answered with status 401 (the key was not accepted): so it is");
    }

    // spec: V3
    #[test]
    fn a_server_says_how_long_to_wait_but_not_past_the_time_out() {
        assert_eq!(status(429, Some(7_000)).next(1, 7_001), Next::AskAgain { after_ms: 7_000 });
        assert_eq!(status(429, Some(0)).next(2, 1), Next::AskAgain { after_ms: 0 });
        let Next::GiveUp { why } = status(429, Some(7_000)).next(1, 7_000) else { panic!() };
        assert!(why.ends_with("another try in 7 s would be past its time-out"), "{why}");
        assert!(matches!(status(503, Some(u64::MAX)).next(1, u64::MAX), Next::GiveUp { .. }));
    }

    // spec: V3
    #[test]
    fn where_a_server_points_to_is_told() {
        let location = Some("https://elsewhere.example/".to_string());
        let trouble = Trouble::Status { code: 307, words: None, retry_after_ms: None, location };
        let Next::GiveUp { why } = trouble.next(1, 60_000) else { panic!() };
        assert_eq!(why, "it points to another address, which is not followed: https://elsewhere.example/");
    }
}
