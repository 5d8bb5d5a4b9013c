//! The fingerprint of a project's commands. It changes if any command changes.
use sha2::{Digest, Sha256};

use ralph_util::digest::finish_hex;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFingerprint(String);

impl CommandFingerprint {
    /// Computes the fingerprint of commands, each a key and a value. Their order does not matter.
    pub fn from_commands<'a>(commands: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut commands: Vec<_> = commands.into_iter().collect();
        commands.sort_unstable();
        let mut digest = Sha256::new();
        for (key, value) in commands {
            // The lengths separate keys and values unambiguously.
            for part in [key, value] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        Self(finish_hex(digest))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X6
    #[test]
    fn any_change_of_a_command_changes_the_fingerprint_and_order_does_not() {
        let fingerprint = CommandFingerprint::from_commands([("checks", "make test"), ("agents.a.cli", "./a")]);
        assert_eq!(fingerprint, CommandFingerprint::from_commands([("agents.a.cli", "./a"), ("checks", "make test")]));
        let others = [
            vec![("checks", "make  test"), ("agents.a.cli", "./a")],
            vec![("checks", "make test"), ("agents.b.cli", "./a")],
            vec![("checks", "make testagents.a.cli"), ("", "./a")],
            vec![("checks", "make test")],
            vec![("checks", "make test"), ("checks", "make test"), ("agents.a.cli", "./a")],
            vec![],
        ];
        for other in others {
            assert_ne!(fingerprint, CommandFingerprint::from_commands(other.iter().copied()), "{other:?}");
        }
    }
}
